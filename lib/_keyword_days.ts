/** The days of a {@linkcode KeywordLog}: lists and merges their flushes, and remembers the result. */

import { ask, bound, parseRecord } from "./_common.ts";
import type { KeywordLogOptions } from "./_keyword_types.ts";
import {
  addCounts,
  emptyCounts,
  encodeCounts,
  parseCounts,
  type SearchCounts,
} from "./_search_terms.ts";
import { joinPrefix } from "./kv/keys.ts";
import type { Kv } from "./kv/kv.ts";
import { DAY_MS } from "./kv/limits.ts";
import { readMany } from "./kv/read_many.ts";

/** What the ledger calls the operations of the keyword log. */
export const PURPOSE = "keywords";
const PAST_CACHE_MS = 21_600_000;
/** Terms of one day that a cached result keeps. */
const CACHED_TERMS_MAX = 2_000;

/** One day's merged counts, and how they were come by. */
export interface DayCounts {
  readonly atMs: number;
  readonly counts: SearchCounts;
  readonly complete: boolean;
  readonly damaged: number;
}

/** What a call of `top` may still spend. */
export interface Spent {
  lists: number;
  gets: number;
  readonly listsMax: number;
  readonly getsMax: number;
}

/** Reads days, and remembers them. */
export interface KeywordDays {
  /** One day's counts, from memory, the data center's cache, or KV. */
  read(startMs: number, now: number, spent: Spent): Promise<DayCounts>;
  /** Remembers no longer what a write has made old. */
  changed(day: string, now: number): void;
}

/** Makes what reads the days of a log. */
export function keywordDays(
  kv: Kv,
  options: KeywordLogOptions,
  report: (error: unknown) => void,
): KeywordDays {
  const { edgeCache, budget, cacheMs = 0, prefix = "kw" } = options;
  const days = new Map<string, DayCounts>();
  let changedMs = -Infinity;

  return {
    changed(day, now) {
      days.delete(day);
      changedMs = now;
    },
    async read(startMs, now, spent) {
      const day = isoDay(startMs);
      const keepMs = now - startMs > DAY_MS + PAST_CACHE_MS ? PAST_CACHE_MS : cacheMs;
      const remembered = days.get(day);
      if (remembered && now - remembered.atMs < keepMs) return remembered;
      const cacheKey = `keywords:${prefix}:${day}`;
      const cached = parseDay(await edgeCache?.get(cacheKey).catch(report) ?? "");
      const fresh = cached && now - cached.atMs < keepMs && cached.atMs > changedMs;
      if (!fresh && (spent.lists >= spent.listsMax || !ask(budget, PURPOSE, "list").granted)) {
        return { ...(remembered ?? cached ?? nothing(now)), complete: false };
      }
      const found = fresh ? cached : await listDay(kv, options, day, now, spent, report);
      if (!found.complete) return found;
      days.set(day, found);
      bound(days, 90);
      if (!fresh && keepMs > 0) {
        const { counts, damaged } = found;
        const text = JSON.stringify({
          ...encodeCounts(counts, CACHED_TERMS_MAX),
          at: now,
          damaged,
        });
        await edgeCache?.set(cacheKey, text, Math.ceil(keepMs / 1_000)).catch(report);
      }
      return found;
    },
  };
}

/** Lists and merges one day's flushes. The first list is granted; further ones are noted. */
async function listDay(
  kv: Kv,
  { prefix = "kw", budget }: KeywordLogOptions,
  day: string,
  now: number,
  spent: Spent,
  report: (error: unknown) => void,
): Promise<DayCounts> {
  const found = { ...nothing(now), complete: false };
  const under = joinPrefix([prefix, day.replaceAll("-", "")]);
  let cursor = "";
  let all = true;
  try {
    do {
      if (cursor) budget?.note(PURPOSE, "list");
      spent.lists++;
      // deno-lint-ignore scrimp/no-await-in-loop
      const page = await kv.list({ prefix: under, ...(cursor ? { cursor } : {}) });
      const unread: string[] = [];
      for (const { name, metadata } of page.keys) {
        const counts = parseCounts(metadata);
        if (counts) addCounts(found.counts, counts);
        else unread.push(name);
      }
      const asked = unread.slice(0, Math.max(0, spent.getsMax - spent.gets));
      spent.gets += asked.length;
      if (asked.length > 0) budget?.note(PURPOSE, "read", asked.length);
      // deno-lint-ignore scrimp/no-await-in-loop
      const values = await readMany(kv, asked);
      for (const text of values.values()) {
        const counts = parseCounts(parseRecord(text));
        if (counts) addCounts(found.counts, counts);
        else if (text !== null) found.damaged++;
      }
      const next = "cursor" in page && page.cursor !== cursor ? page.cursor : "";
      all &&= asked.length === unread.length;
      found.complete = all && next === "";
      cursor = next;
    } while (cursor && spent.lists < spent.listsMax);
  } catch (error) {
    found.complete = false;
    report(error);
  }
  return found;
}

/** A UTC day, `YYYY-MM-DD`. */
export function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function nothing(atMs: number): DayCounts {
  return { atMs, counts: emptyCounts(), complete: true, damaged: 0 };
}

function parseDay(text: string): DayCounts | undefined {
  const record = parseRecord(text);
  const counts = parseCounts(record);
  if (!counts || typeof record?.at !== "number") return undefined;
  return { atMs: record.at, counts, complete: true, damaged: Number(record.damaged) || 0 };
}
