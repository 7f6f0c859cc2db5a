/**
 * How long to leave KV alone after a failure.
 *
 * @module
 */

import type { Random } from "../clock.ts";

/** All that matters here of what `classifyKvError` tells apart: that weighs more than this file. */
const QUOTA = /limit exceeded for the day/;
const SOON = /failed: 429|worker invocation/;
const DAY_MS = 86_400_000;
/** The first pause where KV is only in a hurry, any other first one, and the longest, in milliseconds. */
const PAUSE_MS = { soon: 2_000, first: 15_000, most: 30 * 60_000 } as const;

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
  const text = String(error);
  // KV's allowances begin anew at midnight, UTC, whatever the site's own zone.
  if (QUOTA.test(text)) return DAY_MS - now % DAY_MS + random() * 60_000;
  return Math.min(PAUSE_MS.most, PAUSE_MS[SOON.test(text) ? "soon" : "first"] * 2 ** refusals);
}
