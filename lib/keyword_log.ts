/**
 * What visitors search for: counted in memory, stored in one write a flush.
 *
 * **Cost.** `log` costs nothing but, when a flush is due, one write inside `waitUntil`. An isolate
 * makes at most {@linkcode KeywordLog.writesPerDay} writes a day. `top` makes one list a day of its range
 * (more beyond 1,000 flushes a day), no reads for flushes of up to 1,024 bytes and one read for each
 * larger one; its result is cached.
 *
 * **Consistency.** Every flush has a key of its own and a failed one is repeated under the same key,
 * so nothing is counted twice and concurrent isolates lose nothing of each other. What an isolate has
 * not flushed is lost when it ends: at most `flushMs` of its searches. KV's list lags a minute or more.
 * Keystrokes collapse as long as the earlier ones are still in memory.
 *
 * **Bounds.** When no write is granted, or KV fails, the counts stay in memory, the pause doubles up
 * to eight times `flushMs`, and terms over `termsMax` are counted as `other`. Of four flushes that
 * wait, the oldest gives way; the result says how many searches that were.
 *
 * @example Usage
 * ```ts
 * import { KeywordLog } from "@scrimp/kv/keyword-log";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const clock = { now: () => Date.UTC(2026, 0, 1) };
 * const kv = new MemoryKv(clock);
 * const keywords = new KeywordLog(kv, { clock, random: () => 0.5 });
 * const ctx = { waitUntil: () => {} };
 * for (const query of ["f", "fi", "Fire"]) keywords.log(query, ctx, { session: "a", hits: 3 });
 * keywords.log("someone@example.com", ctx);
 * await keywords.flush();
 * const { terms } = await keywords.top();
 * assertEquals(terms, [{ term: "fire", count: 1, zeroHits: 0 }]);
 * assertEquals(kv.operations, { read: 0, write: 1, list: 7, delete: 0 });
 * ```
 *
 * @module
 */

import { ask, bound, checkOptions, reporter } from "./_common.ts";
import { isoDay, type KeywordDays, keywordDays, PURPOSE, type Spent } from "./_keyword_days.ts";
import type {
  FlushResult,
  KeywordLogOptions,
  LogOptions,
  TopOptions,
  TopTerms,
} from "./_keyword_types.ts";
import {
  addCounts,
  addTerm,
  clipTerm,
  emptyCounts,
  encodeCounts,
  eventsOf,
  foldQuery,
  normalizeQuery,
  redactQuery,
  type SearchCounts,
  type TermCount,
} from "./_search_terms.ts";
import { type Clock, systemClock, systemRandom } from "./clock.ts";
import { joinKey } from "./kv/keys.ts";
import type { Kv } from "./kv/kv.ts";
import { DAY_MS, METADATA_BYTES_MAX, ttlSecondsFor } from "./kv/limits.ts";
import { jsonBytes } from "./trim_turns.ts";
import type { WaitUntil } from "./wait_until.ts";

export type {
  FlushResult,
  KeywordLogOptions,
  LogOptions,
  TopOptions,
  TopTerm,
  TopTerms,
} from "./_keyword_types.ts";
export {
  type PlainSearch,
  type PlainSearches,
  putPlainSearch,
  type PutPlainSearchOptions,
  readPlainSearches,
  type ReadPlainSearchesOptions,
} from "./_plain_search.ts";
export { normalizeQuery, redactQuery } from "./_search_terms.ts";

const BATCHES_MAX = 4;
const SESSIONS_MAX = 1_000;
const BUSY_MS = 60_000;

/** What will be one key. */
interface Batch {
  readonly day: string;
  readonly key: string;
  readonly openedMs: number;
  readonly counts: SearchCounts;
  busyUntilMs: number;
}

/** What a session typed last, and what of it is counted. */
interface Typing {
  typed: string;
  atMs: number;
  readonly batch: Batch;
  readonly term: string;
  readonly count: TermCount;
}

/** A log of search terms in KV. One instance an isolate. */
export class KeywordLog {
  readonly #kv: Kv;
  readonly #options: KeywordLogOptions;
  readonly #clock: Pick<Clock, "now"> & Partial<Clock>;
  readonly #flushMs: number;
  readonly #termsMax: number;
  readonly #report: (error: unknown) => void;
  #batches: Batch[] = [];
  readonly #sessions = new Map<string, Typing>();
  readonly #days: KeywordDays;
  #flushedMs = -Infinity;
  #notBeforeMs = -Infinity;
  #pauseMs: number;
  #dropped = 0;

  /**
   * Makes a log. Costs nothing.
   *
   * @param kv The namespace.
   * @param options See {@linkcode KeywordLogOptions}.
   * @throws {RangeError} If a number among the options is out of bounds.
   */
  constructor(kv: Kv, options: KeywordLogOptions = {}) {
    const { flushMs = 600_000, termsMax = 500, ttlSeconds = 2_592_000 } = options;
    const { collapseMs = 4_000, cacheMs = 300_000, lingerMs = 0 } = options;
    checkOptions({
      ttlSeconds: [ttlSeconds, 60, 1e9],
      flushMs: [flushMs, 1_000],
      termsMax: [termsMax, 1, 10_000],
      collapseMs: [collapseMs, 0],
      cacheMs: [cacheMs, 0],
      lingerMs: [lingerMs, 0],
    });
    this.#kv = kv;
    this.#options = { ...options, ttlSeconds, collapseMs, cacheMs, lingerMs };
    this.#clock = options.clock ?? systemClock;
    this.#flushMs = this.#pauseMs = flushMs;
    this.#termsMax = termsMax;
    this.#report = reporter(options.onError);
    this.#days = keywordDays(kv, this.#options, this.#report);
  }

  /** The most writes that one isolate makes in a day; without a flood of distinct terms, a quarter. */
  get writesPerDay(): number {
    return Math.ceil(4 * DAY_MS / this.#flushMs);
  }

  /**
   * Counts a search. Synchronous, in memory, never throws; a flush that is due runs in `waitUntil`.
   *
   * @param query What was searched for.
   * @param ctx What keeps the flush alive.
   * @param options See {@linkcode LogOptions}.
   */
  log(query: string, ctx: WaitUntil, options: LogOptions = {}): void {
    try {
      const now = this.#clock.now();
      const text = foldQuery(query);
      if (text === "") return;
      const session = options.session ?? "";
      const last = session ? this.#sessions.get(session) : undefined;
      const recent = last && now - last.atMs <= (this.#options.collapseMs ?? 0) ? last : undefined;
      if (recent?.typed.startsWith(text)) {
        recent.typed = text;
        recent.atMs = now;
        return;
      }
      const before = recent && text.startsWith(recent.typed) ? recent : undefined;
      if (before) this.#takeBack(before);
      else if (this.#due(now)) ctx.waitUntil(this.flush());
      const batch = this.#batch(now, ctx);
      const redact = this.#options.redact ?? redactQuery;
      const safe = redact(text);
      const term = clipTerm((this.#options.normalize ?? normalizeQuery)(safe ?? ""));
      const count: TermCount = [1, options.hits === 0 ? 1 : 0];
      if (term) addTerm(batch.counts, term, count, this.#termsMax);
      else batch.counts.redacted++;
      if (session === "") return;
      this.#sessions.delete(session);
      this.#sessions.set(session, { typed: text, atMs: now, batch, term, count });
      bound(this.#sessions, SESSIONS_MAX);
    } catch (error) {
      this.#report(error);
    }
  }

  /**
   * Writes what was counted: one key, one write, or none. Never rejects.
   *
   * @returns What was written and what waits.
   */
  async flush(): Promise<FlushResult> {
    const now = this.#clock.now();
    const batch = this.#batches.find((batch) => ready(batch, now));
    if (!batch) return this.#result({ reason: "empty" });
    const { granted, retryAfterMs } = ask(this.#options.budget, PURPOSE);
    if (!granted) {
      this.#backOff(now);
      return this.#result({ reason: "budget", retryAfterMs });
    }
    batch.busyUntilMs = now + BUSY_MS;
    this.#flushedMs = now;
    const { key, counts } = batch;
    const events = eventsOf(counts);
    try {
      const stored = encodeCounts(counts);
      const metadata = jsonBytes(stored) <= METADATA_BYTES_MAX ? { metadata: stored } : {};
      const expirationTtl = ttlSecondsFor((this.#options.ttlSeconds ?? 0) * 1_000);
      await this.#kv.put(key, JSON.stringify(stored), { expirationTtl, ...metadata });
      this.#batches = this.#batches.filter((other) => other !== batch);
      this.#pauseMs = this.#flushMs;
      this.#days.changed(batch.day, now);
      return this.#result({ key, events });
    } catch (error) {
      batch.busyUntilMs = 0;
      this.#backOff(now);
      this.#report(error);
      return this.#result({ reason: "store", retryAfterMs: this.#notBeforeMs - now });
    }
  }

  /**
   * The most frequent terms of the last days. One list a day that is not cached; bounded.
   *
   * @param options See {@linkcode TopOptions}.
   * @returns The terms, and how complete they are. Never rejects for trouble with the store.
   * @throws {RangeError} If a number among the options is out of bounds.
   */
  async top(options: TopOptions = {}): Promise<TopTerms> {
    const { days = 7, n = 10, countMin = 1, zeroHits = false, searches = [] } = options;
    const { listsMax = 40, getsMax = 200 } = options;
    checkOptions({
      days: [days, 1, 90],
      n: [n, 1, 1_000],
      countMin: [countMin, 1],
      listsMax: [listsMax, 1],
      getsMax: [getsMax, 0],
    });
    const now = this.#clock.now();
    const today = now - now % DAY_MS;
    const spent: Spent = { lists: 0, gets: 0, listsMax, getsMax };
    const sum = emptyCounts();
    let complete = true;
    let damaged = 0;
    const starts = Array.from({ length: days }, (_, back) => today - back * DAY_MS);
    const read = await Promise.all(starts.map((start) => this.#days.read(start, now, spent)));
    for (const day of read) {
      addCounts(sum, day.counts);
      complete &&= day.complete;
      damaged += day.damaged;
    }
    for (const { query, atMs, hits } of searches) {
      if (atMs < today - (days - 1) * DAY_MS) continue;
      const safe = redactQuery(foldQuery(query));
      if (safe) addTerm(sum, clipTerm(safe), [1, hits === 0 ? 1 : 0]);
      else sum.redacted++;
    }
    const terms = [...sum.terms]
      .map(([term, [count, zero]]) => ({ term, count, zeroHits: zero }))
      .filter((entry) => (zeroHits ? entry.zeroHits : entry.count) >= countMin)
      .sort((a, b) =>
        (zeroHits ? b.zeroHits - a.zeroHits : b.count - a.count) || (a.term < b.term ? -1 : 1)
      )
      .slice(0, n);
    return {
      terms,
      total: eventsOf(sum),
      other: sum.other,
      redacted: sum.redacted,
      from: isoDay(today - (days - 1) * DAY_MS),
      to: isoDay(today),
      complete,
      damaged,
      lists: spent.lists,
      gets: spent.gets,
    };
  }

  #due(now: number): boolean {
    if (now < this.#notBeforeMs) return false;
    return this.#batches.some((batch) =>
      ready(batch, now) && (
        now - batch.openedMs >= this.#flushMs || batch.day !== isoDay(now) ||
        batch.counts.terms.size >= this.#termsMax && now - this.#flushedMs >= this.#flushMs / 4
      )
    );
  }

  /** The batch that takes a search now. */
  #batch(now: number, ctx: WaitUntil): Batch {
    const day = isoDay(now);
    const open = this.#batches.find((batch) => batch.day === day && batch.busyUntilMs === 0);
    if (open) return open;
    const random = this.#options.random ?? systemRandom;
    const id = [now, random() * 1e9, random() * 1e9].map((x) => Math.floor(x).toString(36)).join(
      "",
    );
    const key = joinKey([this.#options.prefix ?? "kw", day.replaceAll("-", ""), id]);
    const batch = { day, key, openedMs: now, counts: emptyCounts(), busyUntilMs: 0 };
    this.#batches.push(batch);
    if (this.#batches.length > BATCHES_MAX) {
      this.#dropped += eventsOf(this.#batches.shift()?.counts ?? emptyCounts());
    }
    const { lingerMs } = this.#options;
    if (lingerMs && this.#clock.sleep && now - this.#flushedMs >= this.#flushMs) {
      const work = this.#clock.sleep(lingerMs).then(async () => {
        // A clock that stands still gives nobody time to type on.
        const waited = this.#clock.now() - now >= lingerMs;
        if (waited && this.#batches.includes(batch) && batch.busyUntilMs === 0) await this.flush();
      });
      ctx.waitUntil(work.catch(this.#report));
    }
    return batch;
  }

  /** Uncounts the term that a longer one follows, unless it is on its way. */
  #takeBack({ batch, term, count: [count, zero] }: Typing): void {
    if (!this.#batches.includes(batch) || batch.busyUntilMs !== 0) return;
    if (!term) batch.counts.redacted--;
    else if (batch.counts.terms.has(term)) addTerm(batch.counts, term, [-count, -zero]);
    else batch.counts.other -= count;
  }

  #backOff(now: number): void {
    this.#notBeforeMs = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#flushMs * 8);
  }

  #result(part: Partial<FlushResult>): FlushResult {
    return {
      written: part.key !== undefined,
      events: 0,
      waiting: this.#batches.reduce((sum, { counts }) => sum + eventsOf(counts), 0),
      dropped: this.#dropped,
      retryAfterMs: 0,
      ...part,
    };
  }
}

/** Whether a batch holds searches and is not on its way. */
function ready({ busyUntilMs, counts }: Batch, now: number): boolean {
  return busyUntilMs <= now && counts.terms.size + counts.other > 0;
}
