/**
 * The stored form of a shard: key, value and metadata.
 *
 * @module
 */

import type { Budget } from "../budget.ts";
import type { Kv, KvListKey } from "../kv/kv.ts";
import { capTally, countsOf, isCount, parseJson, parseTally, type Tally } from "./tally.ts";

/** How long a shard is kept, in seconds. Roll-ups need it for three days after its day. */
export const SHARD_TTL_SECONDS = 8 * 86_400;
/** Pages of a listing that are read at most. */
const PAGES_MAX = 4;

/** Writes for page views of the whole network on one day, as far as known. */
export interface NetworkUse {
  /** For that day's shards. */
  readonly writes: number;
  /** For those of days before. */
  readonly late: number;
}

/** What a listing tells of a shard without reading it. At most 1,024 bytes as JSON. */
export interface ShardMetadata {
  /** The format's version. */
  readonly v: 1;
  /** Views. */
  readonly total: number;
  /** KV writes tried for this key. */
  readonly writes: number;
  /** Those of them that were tried after the shard's day was over. */
  readonly late: number;
  /** When it was written, in seconds since the Unix epoch. */
  readonly at: number;
  /** How it was paced: see `PaceMode`. */
  readonly mode: 0 | 1 | 2;
  /** Visits: views that came after a pause. */
  readonly visits: number;
  /** Hundredths of a view that each write had to save; 0 where that was not asked. */
  readonly price: number;
  /** What its writer knew of the network on the day it was written. */
  readonly seen: NetworkUse;
  /** Other KV writes of that data center on that day, by purpose. */
  readonly other?: Readonly<Record<string, number>>;
}

/** A shard as a listing shows it. */
export interface ListedShard {
  /** The whole key. */
  readonly key: string;
  /** The day, `YYYY-MM-DD`. */
  readonly day: string;
  /** The writer: the key's last segment. */
  readonly writer: string;
  /** Its metadata; `undefined` where it is damaged. */
  readonly metadata: ShardMetadata | undefined;
}

/**
 * The key of a shard.
 *
 * @param day The day, `YYYY-MM-DD`.
 * @param writer The writer, for example `LHR-k3j9ax`.
 * @returns `views:<day>:<writer>`.
 */
export function shardKey(day: string, writer: string): string {
  return `views:${day}:${writer}`;
}

/**
 * The data center of a writer.
 *
 * @param writer The writer, for example `LHR-k3j9ax`.
 * @returns The data center, for example `LHR`.
 */
export function coloOf(writer: string): string {
  const end = writer.lastIndexOf("-");
  return end < 0 ? writer : writer.slice(0, end);
}

/**
 * Writes a shard's value.
 *
 * @param tally What it counts.
 * @param keysMax Keys kept in each of paths and referrers.
 * @returns JSON.
 */
export function encodeShard(tally: Tally, keysMax?: number): string {
  return JSON.stringify({ v: 1, ...countsOf(capTally(tally, keysMax)) });
}

/**
 * Reads a shard's value. Never throws.
 *
 * @param text What was stored.
 * @returns The counts, or `undefined` where the value is damaged.
 */
export function decodeShard(text: string | null): Tally | undefined {
  return parseTally(parseJson(text));
}

function parseMetadata(value: unknown): ShardMetadata | undefined {
  const given: Partial<ShardMetadata> = Object(value);
  const { total, writes, late = 0, at, mode = 0, visits, price, other } = given;
  const use: NetworkUse = { writes: 0, late: 0, ...given.seen };
  const numbers = [total, writes, late, at, mode, use.writes, use.late];
  if (!numbers.every(isCount) || mode > 2) return undefined;
  const ledger = other && Object.values(other).every(isCount) ? { other } : {};
  return {
    v: 1,
    total,
    writes,
    late: Math.min(late, Number(writes)),
    at,
    mode,
    // Only lessons for tomorrow: without them the writes count all the same.
    visits: isCount(visits) ? visits : 0,
    price: isCount(price) ? price : 0,
    seen: use,
    ...ledger,
  } as ShardMetadata;
}

function listed({ name, metadata }: KvListKey): ListedShard | undefined {
  const [kind, day, writer, ...rest] = name.split(":");
  if (kind !== "views" || !day || !writer || rest.length > 0) return undefined;
  return { key: name, day, writer, metadata: parseMetadata(metadata) };
}

/**
 * Lists shards. One list for each 1,000 of them, at most four.
 *
 * @param kv The store.
 * @param day The day, or `undefined` for all days that still have shards.
 * @param budget Where the lists are booked.
 * @returns The shards, in the order of their keys, and whether these are all.
 */
export async function listShards(
  kv: Pick<Kv, "list">,
  day?: string,
  budget?: Budget,
): Promise<{ shards: ListedShard[]; complete: boolean }> {
  const prefix = day === undefined ? "views:" : `views:${day}:`;
  const shards: ListedShard[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    budget?.note("views", "list");
    // deno-lint-ignore scrimp/no-await-in-loop -- each page needs the cursor of the one before
    const answer = await kv.list(cursor === undefined ? { prefix } : { prefix, cursor });
    for (const key of answer.keys) {
      const shard = listed(key);
      if (shard) shards.push(shard);
    }
    if (answer.list_complete) return { shards, complete: true };
    // A blank or repeated cursor would lead nowhere.
    if (!answer.cursor || answer.cursor === cursor) break;
    cursor = answer.cursor;
  }
  return { shards, complete: false };
}
