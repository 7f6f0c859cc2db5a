/**
 * Names that tell isolates apart.
 *
 * @module
 */

import type { Random } from "./clock.ts";

/** Multiples of it are spread evenly over the numbers from 0 to 1. */
const GOLDEN = 0.618_033_988_749_894_9;
/**
 * Six characters that tell writers apart: one clash in two thousand million. The moment is mixed in, and
 * cannot be told from them, so that a poor source of chance still makes names that differ.
 *
 * @param random Chance.
 * @param now The time, in milliseconds.
 * @returns The name.
 */
export function writerName(random: Random, now: number): string {
  const mixed = (random() + now * GOLDEN % 1) % 1;
  return Math.floor(mixed * 36 ** 6).toString(36).padStart(6, "0");
}
