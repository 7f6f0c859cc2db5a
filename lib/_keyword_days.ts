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
import type { Kv, KvListKey } from "./kv/kv.ts";
import { DAY_MS } from "./kv/limits.ts";

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

/** Reads days. One instance a log. */
export class KeywordDays {
  readonly #kv: Kv;
  readonly #options: KeywordLogOptions;
  readonly #report: (error: unknown) => void;
  readonly #days = new Map<string, DayCounts>();
  #changedMs = -Infinity;

  constructor(kv: Kv, options: KeywordLogOptions, report: (error: unknown) => void) {
    this.#kv = kv;
    this.#options = options;
    this.#report = report;
  }

  /** Remembers no longer what a write has made old. */
  changed(day: string, now: number): void {
    this.#days.delete(day);
    this.#changedMs = now;
  }

  /** One day's counts, from memory, the data centre's cache, or KV. */
  async read(startMs: number, now: number, spent: Spent): Promise<DayCounts> {
    const { edgeCache, cacheMs = 0, prefix = "kw" } = this.#options;
    const day = isoDay(startMs);
    const keepMs = now - startMs > DAY_MS + PAST_CACHE_MS ? PAST_CACHE_MS : cacheMs;
    const remembered = this.#days.get(day);
    if (remembered && now - remembered.atMs < keepMs) return remembered;
    const cacheKey = `keywords:${prefix}:${day}`;
    const cached = parseDay(await edgeCache?.get(cacheKey).catch(this.#report));
    const fresh = cached && now - cached.atMs < keepMs && cached.atMs > this.#changedMs;
    if (
      !fresh &&
      (spent.lists >= spent.listsMax || !ask(this.#options.budget, PURPOSE, "list").granted)
    ) {
      return { ...(remembered ?? cached ?? nothing(now)), complete: false };
    }
    const found = fresh ? cached : await this.#list(day, now, spent);
    if (!found.complete) return found;
    this.#days.set(day, found);
    bound(this.#days, 90);
    if (!fresh && keepMs > 0) {
      const { counts, damaged } = found;
      const text = JSON.stringify({ ...encodeCounts(counts, CACHED_TERMS_MAX), at: now, damaged });
      await edgeCache?.set(cacheKey, text, Math.ceil(keepMs / 1_000)).catch(this.#report);
    }
    return found;
  }

  /** Lists and merges one day's flushes. The first list is granted; further ones are noted. */
  async #list(day: string, now: number, spent: Spent): Promise<DayCounts> {
    const found = { ...nothing(now), complete: false, damaged: 0 };
    const prefix = joinPrefix([this.#options.prefix ?? "kw", day.replaceAll("-", "")]);
    let cursor = "";
    try {
      do {
        if (cursor) this.#options.budget?.note(PURPOSE, "list");
        spent.lists++;
        // deno-lint-ignore scrimp/no-await-in-loop
        const page = await this.#kv.list({ prefix, ...(cursor ? { cursor } : {}) });
        // deno-lint-ignore scrimp/no-await-in-loop
        const read = await Promise.all(page.keys.map((key) => this.#counts(key, spent)));
        for (const counts of read) {
          if (typeof counts === "object") addCounts(found.counts, counts);
          else if (counts === "damaged") found.damaged++;
        }
        const next = "cursor" in page ? page.cursor : "";
        found.complete = next === "" && !read.includes("skipped");
        cursor = next === cursor ? "" : next;
      } while (cursor && spent.lists < spent.listsMax);
    } catch (error) {
      found.complete = false;
      this.#report(error);
    }
    return found;
  }

  async #counts(
    key: KvListKey,
    spent: Spent,
  ): Promise<SearchCounts | "damaged" | "gone" | "skipped"> {
    const inline = parseCounts(key.metadata);
    if (inline) return inline;
    if (spent.gets >= spent.getsMax) return "skipped";
    spent.gets++;
    this.#options.budget?.note(PURPOSE, "read");
    const text = await this.#kv.get(key.name);
    return text === null ? "gone" : parseCounts(parseRecord(text)) ?? "damaged";
  }
}

/** A UTC day, `YYYY-MM-DD`. */
export function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function nothing(atMs: number): DayCounts {
  return { atMs, counts: emptyCounts(), complete: true, damaged: 0 };
}

function parseDay(text: string | undefined | void): DayCounts | undefined {
  const record = parseRecord(text ?? "");
  const counts = parseCounts(record);
  if (!counts || typeof record?.at !== "number") return undefined;
  return { atMs: record.at, counts, complete: true, damaged: Number(record.damaged) || 0 };
}
