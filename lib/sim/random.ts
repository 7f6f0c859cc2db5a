/**
 * Chance that repeats: the same seed gives the same numbers, on every machine.
 *
 * @example Two runs alike
 * ```ts
 * import { seededRandom } from "@scrimp/kv/sim";
 * import { assertEquals } from "@std/assert";
 *
 * const first = seededRandom(7);
 * const second = seededRandom(7);
 * assertEquals([first(), first()], [second(), second()]);
 * ```
 *
 * @module
 */

import type { Random } from "../clock.ts";

const WEYL = 0x9e3779b9;
const TWO_32 = 4_294_967_296;

/** Scrambles a 32-bit integer. */
export function scramble(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x7feb352d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * A number that depends on two integers and on nothing else: chance without a state.
 *
 * @param a A 32-bit integer.
 * @param b Another.
 * @returns From 0 (included) to 1 (excluded).
 */
export function hashChance(a: number, b: number): number {
  return scramble(scramble(a) + Math.imul(b, WEYL)) / TWO_32;
}

/** A 32-bit integer that depends on a text and on nothing else. */
export function hashText(text: string): number {
  let h = text.length;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return scramble(h);
}

/**
 * A source of chance that starts from a seed.
 *
 * @param seed Any finite number.
 * @returns A function with a state of its own; each call gives the next number.
 * @throws {RangeError} If the seed is not finite.
 */
export function seededRandom(seed: number): Random {
  if (!Number.isFinite(seed)) throw new RangeError(`Seed must be a finite number: got ${seed}`);
  const whole = Math.floor(seed);
  let state = scramble(whole | 0) ^ scramble((whole / TWO_32) | 0) ^
    scramble(((seed - whole) * TWO_32) | 0);
  return () => {
    state = (state + WEYL) | 0;
    return scramble(state) / TWO_32;
  };
}
