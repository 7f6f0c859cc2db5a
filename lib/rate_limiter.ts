/**
 * Rate limits that decide from memory and share what they know through KV.
 *
 * KV cannot count: one write a second a key, reads up to a minute old, 1,000 writes a day. So each
 * isolate counts in memory, where a decision costs nothing, and KV carries batches and verdicts from
 * isolate to isolate.
 *
 * @example Ten a minute
 * ```ts
 * import { RateLimiter, rateLimitHeaders } from "@scrimp/kv/rate-limiter";
 * import { assertEquals } from "@std/assert";
 *
 * const limiter = new RateLimiter(undefined, { limit: 10, windowMs: 60_000 });
 * const result = await limiter.limit("192.0.2.7");
 * assertEquals(result.success, true);
 * assertEquals(result.remaining, 9);
 * assertEquals(rateLimitHeaders(result).get("ratelimit-policy"), '"default";q=10;w=60');
 * ```
 *
 * @module
 */

import {
  absorbText,
  type Client,
  formatClient,
  isWorthWriting,
  makeClient,
  recordHits,
  rollClient,
} from "./_limited_client.ts";
import { reporter } from "./_common.ts";
import type { Rule } from "./_hits.ts";
import {
  answer,
  type AnswerParts,
  checkId,
  checkWhole,
  longestWait,
  type RateLimit,
  type RateLimitResult,
  toRule,
} from "./_rate_limit.ts";
import type {
  LimitOptions,
  RateLimitBinding,
  RateLimiterOptions,
} from "./_rate_limiter_options.ts";
import { systemClock, systemRandom } from "./clock.ts";
import { hashId, hashKey } from "./hash_id.ts";
import { classifyKvError } from "./kv/errors.ts";
import { buildKey } from "./kv/keys.ts";
import type { Kv } from "./kv/kv.ts";
import { writerName } from "./writer_name.ts";
import {
  CACHE_TTL_SECONDS_MIN,
  msUntilReset,
  SAME_KEY_WRITE_INTERVAL_MS,
  ttlSecondsFor,
} from "./kv/limits.ts";

export type { LimitOptions, RateLimit, RateLimitBinding, RateLimiterOptions, RateLimitResult };
export { type Limiter, limitRequest, rateLimitHeaders } from "./limit_request.ts";

type ReadOutcome = "none" | "now" | "before" | "failed";

const PURPOSE = "limits";
const REREAD_MS = 30_000;
const RETRY_MS = 1000;
const RETRY_MS_MAX = 3_600_000;

/**
 * Limits hits by client.
 *
 * **Bounds.** An isolate admits at most `limit` in an aligned window, and all isolates together at
 * most `limit × isolates`, even with KV down. In any other stretch of a window's length an isolate
 * admits under `2 × limit`; for a burst or a steady beat it is exactly `limit`. Nobody who keeps to
 * the limit is ever denied.
 *
 * **What KV adds.** The count of the window, so that an isolate that hears of a spent limit denies at
 * once; and the sum of what all have admitted over ten minutes, so that what was admitted too much
 * is taken back: a client that hammers on twelve isolates in three data centers at twelve times the
 * limit gets about twice the limit on average (`scripts/simulate_limits.ts`). It may have to wait up
 * to twenty minutes for that, as `retryAfterSeconds` says. KV knows little that is younger than a
 * minute, so of a shorter window only the mean is shared.
 *
 * **Cost.** `limit()`: at most one read, before the answer, and at most one write, in `pending`.
 * A client costs an isolate a read a window, and at most two a minute, and no write while it stays
 * under half of the limit and a quarter of the mean (a tenth, for windows under a minute). Denied
 * hits change nothing. They write nothing, save that a write of admitted hits that had to wait, since
 * KV takes one a second, goes out with the next hit of any kind, once.
 *
 * No call rejects for trouble with the store: see `onStoreError`.
 */
export class RateLimiter {
  readonly #kv: Kv | undefined;
  readonly #options: RateLimiterOptions;
  readonly #rule: Rule;
  readonly #clients: Map<string, Client> = new Map();
  readonly #isolate: string;
  readonly #report: (error: unknown) => void;
  #hashKey: string | CryptoKey | undefined;
  #firstAtMs = -Infinity;
  #readAtMs = -Infinity;
  #writeAtMs = -Infinity;
  #retryMs = 0;

  /**
   * Makes a limiter. Keep it for as long as the isolate lives: its memory is what counts.
   *
   * @param kv Where isolates meet; `undefined` for memory alone.
   * @param options The limit, its window, and {@linkcode RateLimiterOptions}.
   * @throws {RangeError} If a number is not whole, or under 1.
   * @throws {TypeError} If the secret is empty.
   */
  constructor(kv: Kv | undefined, options: RateLimiterOptions) {
    const { flushEvery = 1, keysMax = 1, hashIds } = options;
    this.#rule = toRule(options);
    checkWhole("flushEvery", flushEvery);
    checkWhole("keysMax", keysMax);
    if (hashIds === "") throw new TypeError('Option "hashIds" must not be empty');
    this.#kv = kv;
    this.#options = options;
    this.#hashKey = hashIds;
    this.#report = reporter(options.onError);
    this.#isolate = writerName(options.random ?? systemRandom, this.#now());
  }

  /**
   * Counts a hit of a client if it is within the limit, and says whether it is.
   *
   * @param id Who: any string that is not empty, for example the result of `ipKey`.
   * @param options See {@linkcode LimitOptions}.
   * @returns The decision. A denied hit is a result, not an error.
   * @throws {TypeError} If the id is empty or no string.
   * @throws {RangeError} If the cost is not a whole number from 1 to the limit.
   */
  async limit(id: string, options: LimitOptions = {}): Promise<RateLimitResult> {
    const { cost = 1, ctx } = options;
    checkWhole("cost", cost, this.#rule.limit);
    const key = await this.#keyOf(id);
    const client = this.#remember(key);
    const result = await this.#decide(key, client, cost);
    ctx?.waitUntil(result.pending);
    return result;
  }

  /**
   * Says how a hit of cost 1 would be answered, and counts nothing. At most one read, no write.
   *
   * @param id Who.
   * @returns The decision that `limit` would make.
   * @throws {TypeError} If the id is empty or no string.
   */
  async peek(id: string): Promise<RateLimitResult> {
    const key = await this.#keyOf(id);
    const client = this.#clients.get(key) ?? makeClient(this.#rule);
    const read = await this.#read(key, client, this.#roll(client), 1);
    const nowMs = this.#roll(client);
    return this.#answer(client, nowMs, {
      cost: 1,
      reason: this.#denial(client, nowMs, 1, read),
    });
  }

  async #decide(key: string, client: Client, cost: number): Promise<RateLimitResult> {
    let nowMs = this.#roll(client);
    if (this.#denial(client, nowMs, cost, "none") === "limit" && !this.#mayOpen(client)) {
      const pending = client.held ? this.#flush(key, client, nowMs) : Promise.resolve();
      return this.#answer(client, nowMs, { cost, reason: "limit", pending });
    }
    try {
      const verdict = await this.#options.first?.limit({ key });
      if (verdict?.success === false) {
        return this.#answer(client, nowMs, { cost, reason: "binding" });
      }
    } catch (error) {
      this.#report(error);
      this.#firstAtMs = nowMs + RETRY_MS;
    }
    const { onStoreError = "memory", waitForStore = true } = this.#options;
    const reading = this.#read(key, client, nowMs, cost);
    const waits = waitForStore || onStoreError !== "memory";
    const read = waits ? await reading : "none";
    nowMs = this.#roll(client);
    const reason = this.#denial(client, nowMs, cost, read);
    if (reason !== undefined) {
      return this.#answer(client, nowMs, { cost, reason, pending: reading.then(() => {}) });
    }
    recordHits(client, this.#isolate, cost, nowMs);
    const pending = waits
      ? this.#share(key, client, nowMs, read)
      : reading.then((late) => this.#share(key, client, nowMs, late));
    return this.#answer(client, nowMs, { cost, pending });
  }

  /** Writes if it is worth while; after a read of the window before only with the next hit. */
  async #share(key: string, client: Client, nowMs: number, read: ReadOutcome): Promise<void> {
    if (read !== "before" && this.#isDue(client, nowMs, 0)) {
      await this.#flush(key, client, nowMs, read);
    }
  }

  #denial(
    client: Client,
    nowMs: number,
    cost: number,
    read: ReadOutcome,
  ): "limit" | "store" | undefined {
    const { onStoreError = "memory" } = this.#options;
    if (read === "failed" && onStoreError === "closed") return "store";
    if (read === "failed" && onStoreError === "open") return undefined;
    return longestWait(client.levels, nowMs, cost) > 0 ? "limit" : undefined;
  }

  /** Whether the store, when it fails, would admit what memory denies. */
  #mayOpen(client: Client): boolean {
    return this.#options.onStoreError === "open" && this.#kv !== undefined &&
      client.readIndex !== client.levels[0].index;
  }

  #answer(client: Client, nowMs: number, parts: AnswerParts): RateLimitResult {
    const degraded = nowMs < Math.max(this.#readAtMs, this.#writeAtMs, this.#firstAtMs);
    return answer(client.levels, nowMs, { ...parts, degraded });
  }

  async #keyOf(id: string): Promise<string> {
    checkId(id);
    const { limit, windowMs, prefix = "rl" } = this.#options;
    if (typeof this.#hashKey === "string") this.#hashKey = await hashKey(this.#hashKey);
    const who = this.#hashKey === undefined ? id : await hashId(this.#hashKey, id, this.#now());
    return await buildKey([prefix, `${limit}-${windowMs}`, who]);
  }

  #now(): number {
    return Math.floor((this.#options.clock ?? systemClock).now());
  }

  #roll(client: Client): number {
    const nowMs = this.#now();
    rollClient(client, nowMs);
    return nowMs;
  }

  #remember(key: string): Client {
    const clients = this.#clients;
    const client = clients.get(key) ?? makeClient(this.#rule);
    clients.delete(key);
    clients.set(key, client);
    const [oldest = ""] = clients.size > (this.#options.keysMax ?? 10_000) ? clients.keys() : [];
    clients.delete(oldest);
    return client;
  }

  /** Reads what others have counted: in the longest window under way, later in the one before. */
  async #read(key: string, client: Client, nowMs: number, cost: number): Promise<ReadOutcome> {
    const { onStoreError = "memory", budget } = this.#options;
    const { levels: [{ index }], longest, readIndex, readMs, knownIndex } = client;
    const now = readIndex !== index && nowMs - readMs >= REREAD_MS;
    const before = !now && knownIndex !== longest.index && longest.rule.sliding &&
      !this.#isDue(client, nowMs, cost);
    if (this.#kv === undefined || !(now || before)) return "none";
    if (nowMs < this.#readAtMs && onStoreError === "memory") return "failed";
    if (budget?.take(PURPOSE, "read").granted === false) return "none";
    const mark = () => {
      if (before) client.knownIndex = longest.index;
      else Object.assign(client, { readIndex: index, readMs: nowMs });
    };
    if (onStoreError === "memory") mark();
    try {
      await this.#absorb(this.#kv, key, client, before ? longest.index - 1 : longest.index);
      mark();
      return before ? "before" : "now";
    } catch (error) {
      Object.assign(client, { readIndex, readMs, knownIndex });
      this.#report(error);
      this.#readAtMs = nowMs + pauseMs(error, nowMs, RETRY_MS);
      return "failed";
    }
  }

  async #absorb(kv: Kv, key: string, client: Client, index: number): Promise<void> {
    const text = await kv.get(`${key}:${index}`, { cacheTtl: CACHE_TTL_SECONDS_MIN });
    if (text === null || absorbText(text, client)) return;
    this.#report(new Error(`Stored count cannot be read: "${text.slice(0, 80)}"`));
  }

  #isDue(client: Client, nowMs: number, more: number): boolean {
    return isWorthWriting(client, this.#isolate, nowMs, {
      more,
      flushEvery: this.#options.flushEvery,
    });
  }

  async #flush(
    key: string,
    client: Client,
    nowMs: number,
    read: ReadOutcome = "none",
  ): Promise<void> {
    const { carried, longest: { index, now: { pending }, rule: { windowMs } } } = client;
    client.held = longestWait(carried, nowMs, 1) > 0;
    if (this.#kv === undefined || client.busy || pending === 0) return;
    if (nowMs < Math.max(this.#writeAtMs, client.writtenMs + SAME_KEY_WRITE_INTERVAL_MS)) return;
    const grant = this.#options.budget?.take(PURPOSE);
    if (grant?.granted === false) {
      this.#writeAtMs = nowMs + Math.max(grant.retryAfterMs, RETRY_MS);
      return;
    }
    client.writtenMs = nowMs;
    client.busy = true;
    try {
      if (read !== "now") await this.#absorb(this.#kv, key, client, index);
      const sent = carried.flatMap(({ now, before }) => [now, before])
        .map((hits) => ({ hits, pending: hits.pending }));
      const expirationTtl = ttlSecondsFor(windowMs * 2);
      await this.#kv.put(`${key}:${index}`, formatClient(client), { expirationTtl });
      for (const { hits, pending } of sent) hits.pending -= pending;
      client.held = false;
      this.#retryMs = 0;
    } catch (error) {
      this.#report(error);
      if (classifyKvError(error) === "rate") return;
      this.#retryMs = Math.min(this.#retryMs * 2 || RETRY_MS, RETRY_MS_MAX);
      this.#writeAtMs = nowMs + pauseMs(error, nowMs, this.#retryMs);
    } finally {
      client.busy = false;
    }
  }
}

function pauseMs(error: unknown, nowMs: number, otherwiseMs: number): number {
  return classifyKvError(error) === "quota" ? msUntilReset(nowMs) : otherwiseMs;
}
