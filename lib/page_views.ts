/**
 * Counts page views truthfully inside a daily budget of KV writes.
 *
 * `record()` touches memory only. After the response, counts move on to the data center's cache and,
 * paced by what the whole network has used, to KV: one key a data center and day, written blindly with
 * counts that only grow, so that stale reads, repeats and races can delay a count but never double it.
 *
 * @example Usage
 * ```ts
 * import { PageViews } from "@scrimp/kv/page-views";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
 * const clock = { now: () => 0, sleep: () => Promise.resolve() };
 * const kv = new MemoryKv({ now: clock.now });
 * const views = new PageViews(kv, { clock, edgeCache: null });
 *
 * const request = new Request("https://example.com/about", { headers: { "user-agent": browser } });
 * const response = new Response("<h1>About</h1>", { headers: { "content-type": "text/html" } });
 * views.record(request, response);
 * await views.flush();
 *
 * const { keys } = await kv.list({ prefix: "views:1970-01-01:" });
 * assertEquals(keys.map(({ metadata }) => Object(metadata).total), [1]);
 * ```
 *
 * @module
 */

import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";
import type { Budget } from "./budget.ts";
import type { Kv } from "./kv/kv.ts";
import { type ClassifyOptions, createClassifier } from "./views/classify.ts";
import { Calendar } from "./views/day.ts";
import type { EdgeCache } from "./views/edge_cache.ts";
import { isCount, KEYS_MAX, tallyVerdict } from "./views/tally.ts";
import type { Verdict } from "./views/types.ts";
import { type Exchange, ShardWriter } from "./views/writer.ts";
import type { WaitUntil } from "./wait_until.ts";

export type { Clock, EdgeCache, Exchange, Kv, Random, Verdict };
export type { ClassifyOptions } from "./views/classify.ts";
export type { PathOptions } from "./views/paths.ts";
export type { ReferrerOptions } from "./views/referrers.ts";
export type { SkipReason, ViewKind } from "./views/types.ts";

/** What a request must have for a view to be told from it. */
type Classify = (request: Request, response: Response) => Verdict;

/** Settings of {@linkcode PageViews}. */
export interface PageViewsOptions extends ClassifyOptions {
  /** Time. @default {systemClock} */
  readonly clock?: Clock;
  /** Chance. @default {systemRandom} */
  readonly random?: Random;
  /** The data center's cache; `null` for none, at the price of more writes and more loss. @default {null} */
  readonly edgeCache?: EdgeCache | null;
  /** The data center's name, for example `request.cf.colo`. @default {"X"} */
  readonly colo?: string;
  /** The IANA zone whose days are counted. @default {"UTC"} */
  readonly timeZone?: string;
  /**
   * KV writes a day for page views over the whole network, at least 1. The daily roll-up takes up to
   * four of its own where there are fewer than 200.
   *
   * Data centers see each other in listings, which lag by up to a minute. What they write while the last
   * writes of the budget are hidden from them goes beyond it: below 250 writes a day at most one write
   * a data center and day that still has something to store. Where listings fail, each data center keeps
   * to a schedule of its own, of at most 48 writes.
   *
   * @default {400}
   */
  readonly writesPerDay?: number;
  /** How long views are gathered before they leave the isolate, in milliseconds. @default {2000} */
  readonly lingerMs?: number;
  /** Paths and referrers kept a day and writer, at least 1; the rest is `other`. @default {30} */
  readonly keysMax?: number;
  /** The ledger in which operations are booked. */
  readonly budget?: Budget;
  /** How ledgers of data centers reach each other. */
  readonly exchange?: Exchange;
  /** Told of everything that failed; must not throw. @default {does nothing} */
  readonly onError?: (error: unknown) => void;
}

/** How long a flush goes on gathering, in milliseconds: `waitUntil` gives 30 s after the response. */
const FLUSH_MS = 25_000;
/** When work that has not come back is given up, in milliseconds: its request has ended by then. */
const GONE_MS = 35_000;
/** How old a flush may be and still take on new views, in milliseconds: it must see to their end. */
const FLUSH_YOUNG_MS = 1_000;
/** The pause between two rounds of a flush once it has gone on for a while, in milliseconds. */
const ROUND_MS = 5_000;
/** Rounds of a flush: what keeps it within a request's 50 subrequests. */
const ROUNDS_MAX = 6;
/** The least time between rounds for requests that are not counted, in milliseconds. */
const SKIPPED_FLUSH_MS = 10_000;

/**
 * Page views of one isolate. Keep one for as long as the isolate lives.
 *
 * Counts are never too high. They are late by seconds while writes abound, by up to a day where a
 * busy network has to share them out, and incomplete by what dies with an isolate or is evicted from a
 * data center's cache before it could be stored.
 */
export class PageViews {
  readonly #clock: Clock;
  readonly #calendar: Calendar;
  readonly #classify: Classify;
  readonly #writer: ShardWriter;
  readonly #lingerMs: number;
  readonly #keysMax: number;
  readonly #onError: (error: unknown) => void;
  #flushes = 0;
  #flushedAt = -Infinity;
  /** Until when the flush under way, or the round under way, is waited for; 0 for none. */
  #flushUntil = 0;
  #roundUntil = 0;
  /** When the next round is planned. */
  #plannedAt = 0;
  #viewsWait = false;
  #skipsWait = false;
  #cycledAt = -Infinity;

  /**
   * Makes a counter. Reads and stores nothing.
   *
   * @param kv The store; `undefined` counts in memory until {@linkcode PageViews.kv} is set.
   * @param options Settings.
   * @throws {RangeError} If a setting is out of range or the time zone unknown.
   */
  constructor(kv?: Kv, options: PageViewsOptions = {}) {
    const { clock = systemClock, random = systemRandom, edgeCache = null, colo = "X" } = options;
    const { writesPerDay = 400, lingerMs = 2_000, keysMax = KEYS_MAX, onError = ignore } = options;
    for (const [name, value] of Object.entries({ writesPerDay, keysMax })) {
      if (!isCount(value) || value < 1) {
        throw new RangeError(`Cannot use ${name} ${value}: expected an integer of at least 1`);
      }
    }
    if (!(lingerMs >= 0 && lingerMs <= FLUSH_MS)) {
      throw new RangeError(`Cannot use lingerMs ${lingerMs}: expected 0 to ${FLUSH_MS}`);
    }
    this.#clock = clock;
    this.#calendar = new Calendar(options.timeZone);
    this.#classify = createClassifier(options);
    this.#lingerMs = lingerMs;
    this.#keysMax = keysMax;
    this.#onError = onError;
    this.#writer = new ShardWriter({
      colo: /^[\w-]{1,16}$/.test(colo) ? colo : "X",
      clock,
      random,
      calendar: this.#calendar,
      edgeCache,
      writesPerDay,
      keysMax,
      budget: options.budget,
      onError,
      exchange: options.exchange,
    });
    this.#writer.kv = kv;
  }

  /** The store. May be set anew with each request; `undefined` keeps counting in memory. */
  get kv(): Kv | undefined {
    return this.#writer.kv;
  }

  set kv(kv: Kv | undefined) {
    this.#writer.kv = kv;
  }

  /** The time zone whose days are counted. */
  get timeZone(): string {
    return this.#calendar.timeZone;
  }

  /**
   * Counts a request that has been answered, or notes why not. Memory only; never throws.
   *
   * @param request The request.
   * @param response Its answer; only status and headers are looked at.
   * @returns What was decided.
   */
  record(request: Request, response: Response): Verdict {
    const verdict = this.#classify(request, response);
    const { name } = this.#calendar.dayAt(this.#clock.now());
    tallyVerdict(this.#writer.keeper.pendingOf(name), verdict, this.#keysMax);
    if (verdict.counted) this.#viewsWait = true;
    else this.#skipsWait = true;
    return verdict;
  }

  /**
   * Counts a request and flushes after the response. Never throws.
   *
   * @param request The request.
   * @param response Its answer.
   * @param ctx The execution context.
   * @returns What was decided.
   */
  count(request: Request, response: Response, ctx: WaitUntil): Verdict {
    const verdict = this.record(request, response);
    try {
      if (this.isFlushDue()) ctx.waitUntil(this.flush());
    } catch (error) {
      this.#onError(error);
    }
    return verdict;
  }

  /**
   * Whether a flush would do anything: something has been counted, and no flush is under way that
   * lasts long enough to see to it.
   *
   * @returns Whether to call {@linkcode PageViews.flush} now.
   */
  isFlushDue(): boolean {
    const now = this.#clock.now();
    // A clock that was set back does not make a flush last for hours.
    if (now >= this.#flushUntil || now < this.#flushedAt) return this.#viewsWait || this.#skipsWait;
    return this.#viewsWait && now - this.#flushedAt > FLUSH_YOUNG_MS;
  }

  /**
   * Moves counts on, for up to 25 seconds: to the data center's cache, and to KV as far as the day's
   * writes allow. Await it in `waitUntil` only. Never rejects.
   *
   * Each of its rounds, at most six, costs at most one read, one list, and one write for each day that
   * has something to store; without the cache at most one read and, rarely, one write more. Where a
   * budget is below 250 writes a day, or late writes are many, it costs up to two lists more. No operation
   * is waited for for more than five seconds.
   */
  async flush(): Promise<void> {
    if (!this.isFlushDue()) return;
    const start = this.#clock.now();
    this.#flushedAt = start;
    this.#flushUntil = start + GONE_MS;
    // A flush that a later one has taken over from ends at its next round.
    const flush = ++this.#flushes;
    try {
      await this.#rounds(start, flush);
    } catch (error) {
      this.#onError(error);
    } finally {
      if (flush === this.#flushes) this.#flushUntil = 0;
    }
  }

  async #rounds(start: number, flush: number): Promise<void> {
    const end = start + FLUSH_MS;
    // Requests that are not counted can wait: a crawler must not keep the cache busy.
    const soonest = this.#viewsWait ? 0 : this.#cycledAt + SKIPPED_FLUSH_MS - start;
    let pause = Math.max(this.#lingerMs, soonest);
    // What the flush before had planned is kept: views that follow each other must not put it off.
    if (this.#plannedAt > start) pause = Math.min(pause, this.#plannedAt - start);
    for (let round = 0; round < ROUNDS_MAX;) {
      this.#plannedAt = this.#clock.now() + pause;
      // deno-lint-ignore scrimp/no-await-in-loop -- rounds follow each other
      await this.#clock.sleep(pause);
      if (flush !== this.#flushes) return;
      // A round that only waits for another to end is none.
      if (this.#clock.now() >= this.#roundUntil || this.#clock.now() >= end) round++;
      // deno-lint-ignore scrimp/no-await-in-loop -- as above
      const next = await this.#round();
      const now = this.#clock.now();
      const wanted = this.#viewsWait
        ? now + ROUND_MS
        : Math.min(next, this.#skipsWait ? now + SKIPPED_FLUSH_MS : Infinity);
      if (wanted > end && !(this.#viewsWait && now < end)) return;
      pause = Math.max(1_000, Math.min(wanted, end) - now);
    }
  }

  /** One round at a time; gives the time at which the next one makes sense. */
  async #round(): Promise<number> {
    const now = this.#clock.now();
    if (now < this.#roundUntil) return now + 1_000;
    this.#roundUntil = now + GONE_MS;
    this.#viewsWait = false;
    this.#skipsWait = false;
    this.#cycledAt = now;
    try {
      return await this.#writer.cycle();
    } finally {
      this.#roundUntil = 0;
    }
  }

  /**
   * Views of a day that this data center has counted and not stored. Asks the cache; no KV operation.
   *
   * Where there are some, the next flush sees to them: whoever asks keeps a quiet site's last views from
   * waiting for the next visitor.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @param stored Views by shard, as a report has them: a write that failed, or whose answer is on its
   *   way, may be in it all the same, and a later one is not. By default what is known to be stored.
   * @returns Views.
   */
  async pending(day: string, stored?: ReadonlyMap<string, number>): Promise<number> {
    const { keeper } = this.#writer;
    await keeper.refresh(day);
    const isIdle = this.#clock.now() >= this.#flushUntil;
    if (isIdle && keeper.waiting(day) > 0) this.#viewsWait = true;
    return keeper.waiting(day, stored);
  }

  /**
   * How this data center stands today, as far as this isolate knows. Memory only.
   *
   * @returns Views waiting, views lost, and what the last listing told of the network.
   */
  status(): PageViewsStatus {
    const { name } = this.#calendar.dayAt(this.#clock.now());
    const { keeper } = this.#writer;
    const network = keeper.peek(name)?.network;
    return {
      day: name,
      pending: keeper.waiting(name),
      lost: keeper.lost,
      edgeCache: !keeper.isVolatile,
      networkWrites: network ? network.used.writes + network.used.late : null,
      dataCenters: network?.writers ?? null,
      listedAt: network?.at ?? null,
    };
  }
}

/** How a data center stands. */
export interface PageViewsStatus {
  /** Today. */
  readonly day: string;
  /** Views counted and not stored. */
  readonly pending: number;
  /** Views that this isolate had to drop because they were too old to be stored. */
  readonly lost: number;
  /** Whether the data center's cache works. */
  readonly edgeCache: boolean;
  /** Writes for page views today over the whole network, as last listed; `null` before that. */
  readonly networkWrites: number | null;
  /** Data centers that have stored something today, as last listed; `null` before that. */
  readonly dataCenters: number | null;
  /** When that was, in milliseconds; `null` for never. */
  readonly listedAt: number | null;
}

function ignore(): void {}
