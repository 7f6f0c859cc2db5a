/**
 * How long to leave KV alone after a failure.
 *
 * @module
 */

import type { Random } from "../clock.ts";
import { classifyKvError } from "../kv/errors.ts";

const DAY_MS = 86_400_000;
/** The first and the longest pause after a failure, in milliseconds. */
const PAUSE_MS = { first: 15_000, most: 30 * 60_000 } as const;

/**
 * The pause after a failed operation.
 *
 * @param error What it was refused with.
 * @param refusals Refusals in a row before this one.
 * @param now The time, in milliseconds.
 * @param random Chance, so that a whole network does not come back at once.
 * @returns Milliseconds.
 */
export function delayAfter(error: unknown, refusals: number, now: number, random: Random): number {
  const kind = classifyKvError(error);
  // KV's allowances begin anew at midnight, UTC, whatever the site's own zone.
  if (kind === "quota") return DAY_MS - now % DAY_MS + Math.floor(random() * 60_000);
  if (kind === "rate" || kind === "invocation") return 2_000 * 2 ** Math.min(10, refusals);
  return Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** Math.min(10, refusals));
}
