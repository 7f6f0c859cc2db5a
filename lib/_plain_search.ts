/** Searches in the shape that existing code stores: one key each, `search:<time>:<uuid>`. */

import { asRecord, isCount } from "./_common.ts";
import { foldQuery, redactQuery } from "./_search_terms.ts";
import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";
import type { Kv, KvListKey } from "./kv/kv.ts";

const PREFIX = "search:";
const TTL_SECONDS = 2_592_000;
/** Reads that go out together. */
const READS_AT_ONCE = 50;

/** One search in the plain shape. */
export interface PlainSearch {
  /** What was searched for. */
  readonly query: string;
  /** When, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** How many results there were, where that was stored. */
  readonly hits?: number;
}

/** Options of {@linkcode putPlainSearch}. */
export interface PutPlainSearchOptions {
  /** How many results there were. */
  readonly hits?: number;
  /** Time. @default {systemClock} */
  readonly clock?: Pick<Clock, "now">;
  /** Chance, for the key's UUID. @default {systemRandom} */
  readonly random?: Random;
}

/**
 * Stores one search as existing code does: key `search:<milliseconds>:<uuid>`, JSON, 30 days.
 *
 * One write a search, so a thousand searches use up a day's allowance: prefer {@linkcode KeywordLog}.
 * What looks like an address, phone or card number is not stored.
 *
 * @param kv The namespace.
 * @param query What was searched for.
 * @param options See {@linkcode PutPlainSearchOptions}.
 * @returns The key, or `undefined` when there was nothing to store.
 */
export async function putPlainSearch(
  kv: Kv,
  query: string,
  options: PutPlainSearchOptions = {},
): Promise<string | undefined> {
  const { hits, clock = systemClock, random = systemRandom } = options;
  const text = redactQuery(foldQuery(query));
  if (!text) return undefined;
  const time = clock.now();
  const key = `${PREFIX}${time}:${uuid(random)}`;
  const value = JSON.stringify({ query: text, timestamp: time, hits });
  const metadata = text.length <= 200 ? { metadata: { query: text, hits } } : {};
  await kv.put(key, value, { expirationTtl: TTL_SECONDS, ...metadata });
  return key;
}

/** Options of {@linkcode readPlainSearches}. */
export interface ReadPlainSearchesOptions {
  /** Leaves out what is older, in milliseconds since the Unix epoch. @default {0} */
  readonly sinceMs?: number;
  /** Listings that may be made, each of 1,000 searches. @default {30} */
  readonly listsMax?: number;
  /** Values that may be read; newest first. @default {200} */
  readonly getsMax?: number;
}

/** What {@linkcode readPlainSearches} found. */
export interface PlainSearches {
  /** The searches, oldest first. */
  readonly searches: PlainSearch[];
  /** Whether these are all. */
  readonly complete: boolean;
  /** Values that could not be read as a search. */
  readonly damaged: number;
  /** Listings made. */
  readonly lists: number;
  /** Values read. */
  readonly gets: number;
}

/**
 * Reads searches in the plain shape: times in milliseconds, seconds or ISO 8601; the query under
 * `query`, `q`, `term`, `keyword`, `search` or `text`.
 *
 * One list for each thousand searches kept, one read for each one in range that has no metadata.
 *
 * @param kv The namespace.
 * @param options See {@linkcode ReadPlainSearchesOptions}.
 * @returns What was found.
 */
export async function readPlainSearches(
  kv: Kv,
  options: ReadPlainSearchesOptions = {},
): Promise<PlainSearches> {
  const { sinceMs = 0, listsMax = 30, getsMax = 200 } = options;
  const found: { key: KvListKey; atMs: number; search?: PlainSearch | undefined }[] = [];
  let cursor: string | undefined;
  let lists = 0;
  let complete = false;
  while (!complete && lists < listsMax) {
    // deno-lint-ignore scrimp/no-await-in-loop
    const page = await kv.list({ prefix: PREFIX, ...(cursor ? { cursor } : {}) });
    lists++;
    for (const key of page.keys) {
      const atMs = timeOf(key.name);
      if (atMs === undefined || atMs < sinceMs) continue;
      found.push({ key, atMs, search: searchOf(key.metadata, atMs) });
    }
    const next = "cursor" in page ? page.cursor : "";
    complete = next === "" || next === cursor;
    cursor = next;
  }
  const unread = found.filter(({ search }) => !search);
  const asked = unread.reverse().slice(0, getsMax);
  for (let from = 0; from < asked.length; from += READS_AT_ONCE) {
    // deno-lint-ignore scrimp/no-await-in-loop
    await Promise.all(
      asked.slice(from, from + READS_AT_ONCE).map(async (entry) => {
        entry.search = searchOf(parse(await kv.get(entry.key.name)), entry.atMs);
      }),
    );
  }
  return {
    searches: found.flatMap(({ search }) => search ?? []).sort((a, b) => a.atMs - b.atMs),
    complete: complete && unread.length <= getsMax,
    damaged: asked.filter(({ search }) => !search).length,
    lists,
    gets: asked.length,
  };
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

/** The time in a key, in milliseconds; it may hold colons itself. */
function timeOf(name: string): number | undefined {
  const text = name.slice(PREFIX.length, name.lastIndexOf(":"));
  const number = /^\d{9,14}$/.test(text) ? Number(text) : NaN;
  const time = Number.isNaN(number) ? Date.parse(text) : number < 1e11 ? number * 1000 : number;
  return Number.isNaN(time) ? undefined : time;
}

function searchOf(value: unknown, atMs: number): PlainSearch | undefined {
  const record = asRecord(value) ?? { query: value };
  const text = (names: readonly string[], is: (value: unknown) => boolean): unknown =>
    names.map((name) => Object.hasOwn(record, name) ? record[name] : undefined).find(is);
  const query = text(
    ["query", "q", "term", "keyword", "search", "text"],
    (value) => typeof value === "string",
  );
  if (typeof query !== "string") return undefined;
  const hits = text(["hits", "results", "resultCount", "count"], isCount);
  return { query, atMs, ...(isCount(hits) ? { hits } : {}) };
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16));
  hex[12] = "4";
  hex[16] = (8 + Math.floor(random() * 4)).toString(16);
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
