/**
 * A day's state as text, for the edge cache.
 *
 * @module
 */

import { type Census, parseCensus } from "./census.ts";
import type { DayState, Part, Shard } from "./day_state.ts";
import { parseNetwork } from "./network.ts";
import { countsOf, isAmount, parseJson, parseTally } from "./tally.ts";

/** A part as JSON: `[at, writes, late, counts]`. */
type PartJson = [number, number, number, unknown];

function partJson(part: Part): PartJson {
  return [part.at, part.writes, part.late, countsOf(part.tally)];
}

function parsePart(value: unknown): Part | undefined {
  if (!Array.isArray(value)) return undefined;
  const [at, writes, late, counts] = value;
  const tally = parseTally(counts);
  if (!tally || ![at, writes, late].every(isAmount)) return undefined;
  return { at, writes, late, tally };
}

/**
 * Writes a day as text for the edge cache.
 *
 * @param state The day.
 * @returns JSON.
 */
export function encodeDay(state: DayState): string {
  return JSON.stringify({
    v: 1,
    ...state,
    shards: [...state.shards.values()].map((shard) => ({
      ...shard,
      base: partJson(shard.base),
      folded: [...shard.folded],
      parts: [...shard.parts].map(([name, part]) => [name, partJson(part)]),
    })),
  });
}

// deno-lint-ignore no-explicit-any -- foreign data; every field is checked below
function parseShard(value: any): Shard | undefined {
  const base = parsePart(value?.base);
  if (!base || typeof value.id !== "string") return undefined;
  if (!Array.isArray(value.parts) || !Array.isArray(value.folded)) return undefined;
  const { born, stored } = value;
  const numbers = [born, stored?.at, stored?.total, stored?.events, stored?.writes];
  if (!numbers.every(isAmount)) return undefined;
  const parts = new Map<string, Part>();
  for (const entry of value.parts) {
    const part = parsePart(entry?.[1]);
    if (!part) return undefined;
    parts.set(String(entry[0]), part);
  }
  return { ...value, base, parts, folded: new Set<string>(value.folded.map(String)) };
}

/**
 * Reads a day from the edge cache. Never throws.
 *
 * @param text What the cache gave.
 * @param day The day that is wanted.
 * @returns The day, or `undefined` where the text is none, or another day's.
 */
export function decodeDay(text: string | undefined, day: string): DayState | undefined {
  // deno-lint-ignore no-explicit-any -- foreign data; every field is checked
  const value = parseJson(text) as any;
  if (value?.v !== 1 || value.day !== day || !Array.isArray(value.shards)) return undefined;
  const shards = new Map<string, Shard>();
  for (const entry of value.shards) {
    const shard = parseShard(entry);
    if (!shard) return undefined;
    shards.set(shard.id, shard);
  }
  const { lesson, visits = 0, leaseUntil, restUntil, refusals } = value;
  const numbers = [lesson?.at, visits, leaseUntil, restUntil, refusals];
  return numbers.every(isAmount)
    ? {
      ...value,
      shards,
      visits,
      network: parseNetwork(value.network),
      lesson: { ...lesson, census: parseCensus<Census>(lesson.census) },
      leaseBy: String(value.leaseBy),
    }
    : undefined;
}
