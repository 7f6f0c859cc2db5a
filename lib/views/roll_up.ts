/**
 * Merges a day's shards, and keeps the result under one key for 90 days.
 *
 * @module
 */

import { readMany } from "../kv/read_many.ts";
import type { Kv } from "../kv/kv.ts";
import type { Budget } from "../budget.ts";
import { addDays } from "./day.ts";
import { censusOf, type NetworkCensus, parseCensus, rollUpKey } from "./census.ts";
import { decodeShard, type ListedShard, listShards } from "./shard.ts";
import {
  addTally,
  capTally,
  countsOf,
  emptyTally,
  isCount,
  parseJson,
  parseTally,
  type Tally,
} from "./tally.ts";
import type { DayCounts } from "./types.ts";

/** How long a roll-up is kept, in seconds. */
export const ROLL_UP_TTL_SECONDS = 90 * 86_400;

/** A stored roll-up. What the article's counter stored has no `v` and only the first four fields. */
export interface RollUp extends DayCounts {
  /** The format's version. */
  readonly v: 2;
  /** The day, `YYYY-MM-DD`. */
  readonly date: string;
  /** Views by shard, as merged: tells whether a shard has grown since. */
  readonly writers: Readonly<Record<string, number>>;
  /** KV writes that the day's shards took. */
  readonly writes: number;
  /** What the next day's writers should expect. */
  readonly census?: NetworkCensus;
  /** What the key held before the first roll-up, or what was imported: added to the shards. */
  readonly base?: DayCounts;
}

/** A day put together from what is stored. */
export interface StoredDay {
  /** The counts. */
  readonly tally: Tally;
  /** Where they come from. */
  readonly source: "none" | "shards" | "rollup" | "rollup+shards";
  /** The shards that were listed. */
  readonly shards: readonly ListedShard[];
  /** Values that could not be read. */
  readonly damaged: number;
  /** Views by shard, as far as they are in the counts. */
  readonly writers: ReadonlyMap<string, number>;
  /** KV writes that the day's shards took. */
  readonly writes: number;
  /** What a roll-up of this would store; `undefined` where there is nothing to store. */
  readonly rollUp: RollUp | undefined;
}

interface ParsedRollUp {
  tally: Tally;
  base: Tally | undefined;
  writers: ReadonlyMap<string, number>;
  writes: number;
}

/** Reads a roll-up or an article's bucket. Never throws. */
function parseRollUp(text: string | null | undefined): ParsedRollUp | undefined {
  const value = parseJson(text) as Partial<RollUp> | undefined;
  const tally = parseTally(value);
  if (!value || !tally) return undefined;
  // What a later version stored holds its shards, as this one's does: added to them it would count twice.
  if (value.v === undefined) return { tally, base: tally, writers: new Map(), writes: 0 };
  const writers = new Map(
    Object.entries(value.writers ?? {}).filter(([, total]) => isCount(total)),
  );
  const writes = isCount(value.writes) ? value.writes : 0;
  return { tally, base: parseTally(value.base), writers, writes };
}

/**
 * Puts a day together from its shards and its roll-up. One read for each shard, unless the roll-up
 * already holds all of them.
 *
 * A shard that a stale listing hides, or that has expired, cannot lower a day: of the roll-up and the
 * merged shards the one with more views counts.
 *
 * @param kv The store.
 * @param day The day, `YYYY-MM-DD`.
 * @param shards The day's shards, as listed.
 * @param stored What is stored under {@linkcode rollUpKey}.
 * @param budget Where the reads are booked.
 * @returns The day.
 */
export async function mergeStored(
  kv: Kv,
  day: string,
  shards: readonly ListedShard[],
  stored: string | null,
  budget?: Budget,
): Promise<StoredDay> {
  const rolled = parseRollUp(stored);
  let damaged = stored !== null && !rolled ? 1 : 0;
  const written = writesOf(shards);
  // A shard that was written again without a view more has counted what was not counted as one.
  const isNews = written > (rolled?.writes ?? 0) ||
    shards.some(({ writer, metadata }) =>
      !metadata || !rolled || metadata.total > (rolled.writers.get(writer) ?? -1)
    );
  const rest = { shards, writes: Math.max(written, rolled?.writes ?? 0) };
  const nothing = {
    tally: rolled?.tally ?? emptyTally(),
    writers: rolled?.writers ?? new Map(),
    damaged,
    rollUp: undefined,
  };
  if (!isNews) return { ...nothing, ...rest, source: rolled ? "rollup" : "none" };

  budget?.note("views", "read", shards.length);
  const values = await readMany(kv, shards.map(({ key }) => key));
  const tally = emptyTally();
  if (rolled?.base) addTally(tally, rolled.base);
  const writers = new Map<string, number>();
  for (const { key, writer } of shards) {
    const text = values.get(key) ?? null;
    const shard = decodeShard(text);
    // A listed key without a value has just expired, or is a cached miss: the next roll-up sees it.
    if (!shard) damaged += text === null ? 0 : 1;
    else {
      addTally(tally, shard);
      writers.set(writer, shard.total);
    }
  }
  if (rolled && rolled.tally.total > tally.total) {
    return { ...nothing, damaged, ...rest, source: "rollup+shards" };
  }
  const capped = capTally(tally);
  const rollUp: RollUp = {
    v: 2,
    date: day,
    ...countsOf(capped),
    writes: rest.writes,
    writers: Object.fromEntries(writers),
    ...(rolled?.base ? { base: countsOf(rolled.base) } : {}),
  };
  const source = rolled ? "rollup+shards" : "shards";
  return { tally: capped, writers, damaged, ...rest, source, rollUp };
}

function writesOf(shards: readonly ListedShard[]): number {
  return shards.reduce((sum, { metadata }) => sum + (metadata?.writes ?? 0), 0);
}

/** A day that has been rolled up. */
interface RolledDay {
  readonly shards: readonly ListedShard[];
  readonly census: NetworkCensus | undefined;
}

/**
 * Rolls a day up into its key. Idempotent; writes only when something has changed.
 *
 * One list (for each 1,000 shards), one read and one more for each shard, at most one write.
 *
 * @param kv The store.
 * @param day The day, `YYYY-MM-DD`.
 * @param options Where the operations are booked, and what the day's census says.
 * @returns The day's shards, as listed, and what the day teaches.
 */
export async function rollUpDay(
  kv: Kv,
  day: string,
  options: {
    budget?: Budget | undefined;
    census?: (shards: readonly ListedShard[]) => NetworkCensus;
  } = {},
): Promise<RolledDay> {
  const { budget, census } = options;
  const { shards } = await listShards(kv, day, budget);
  if (shards.length === 0) return { shards, census: undefined };
  budget?.note("views", "read");
  const stored = await kv.get(rollUpKey(day));
  const { rollUp } = await mergeStored(kv, day, shards, stored, budget);
  const previous = parseJson(stored) as Partial<RollUp> | undefined;
  const kept = rollUp ?? (previous?.v === 2 ? previous : undefined);
  const taught = census?.(shards) ?? parseCensus<NetworkCensus>(previous?.census);
  const rolled = { shards, census: taught };
  if (!kept) return rolled;
  const text = JSON.stringify({ ...kept, census: taught });
  if (text === stored) return rolled;
  budget?.note("views", "write");
  await kv.put(rollUpKey(day), text, { expirationTtl: ROLL_UP_TTL_SECONDS });
  return rolled;
}

/** Days that are rolled up: as long as their shards may still grow, and once after. */
const DAYS_ROLLED = 4;

/**
 * Rolls the last days up, today included. Never rejects: a day that fails does not keep the others
 * from it.
 *
 * @param kv The store.
 * @param today Today, `YYYY-MM-DD`.
 * @param options Where operations are booked, writes a day for page views over the whole network (400
 *   by default), and who is told of what failed.
 */
export async function rollUpDays(
  kv: Kv,
  today: string,
  options: { budget?: Budget; writesPerDay?: number; onError?: (error: unknown) => void } = {},
): Promise<void> {
  const { budget, writesPerDay = 400, onError } = options;
  const yesterday = addDays(today, -1);
  let before: RolledDay = { shards: [], census: undefined };
  for (let age = DAYS_ROLLED - 1; age >= 0; age--) {
    const day = addDays(today, -age);
    const census = (shards: readonly ListedShard[]) =>
      censusOf({ before: before.shards, shards, previous: before.census, writesPerDay });
    try {
      // deno-lint-ignore scrimp/no-await-in-loop -- each census needs the day before
      const rolled = await rollUpDay(kv, day, { budget, ...(day === yesterday ? { census } : {}) });
      // A day without a roll-up, or without a visitor, does not end what was learnt.
      before = { ...rolled, census: rolled.census ?? before.census };
    } catch (error) {
      onError?.(error);
    }
  }
}
