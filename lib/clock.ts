/**
 * The one file that reads the ambient clock, timer and chance. Everything else gets them passed in.
 *
 * @module
 */

/** Time as Scrimp sees it. */
export interface Clock {
  /** The current time, in milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds. Only ever awaited inside `waitUntil`. */
  sleep(ms: number): Promise<void>;
}

/** A source of chance: a number from 0 (included) to 1 (excluded). */
export type Random = () => number;

/** The runtime's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The runtime's own source of chance. */
export function systemRandom(): number {
  return Math.random();
}
