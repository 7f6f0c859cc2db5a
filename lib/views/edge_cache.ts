/**
 * The second tier: what one data centre remembers between isolates.
 *
 * @module
 */

/** One data centre's cache. Best effort: anything may be gone, or old, at any time. */
export interface EdgeCache {
  /** The text kept under a key, if it is still there. */
  get(key: string): Promise<string | undefined>;
  /** Keeps a text for at most `ttlSeconds`. */
  set(key: string, value: string, ttlSeconds: number): Promise<void>;
}
