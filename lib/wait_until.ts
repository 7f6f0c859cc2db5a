/**
 * The one thing that modules need of an execution context.
 *
 * @module
 */

/** What runs work after the response: a Worker's `ctx`. Always called as a method. */
export interface WaitUntil {
  /** Keeps the invocation alive until the promise settles. */
  waitUntil(promise: Promise<unknown>): void;
}
