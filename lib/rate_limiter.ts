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
  absorbHits,
  type Client,
  formatHits,
  makeClient,
  recordHits,
  rollClient,
  type SharedHits,
} from "./_limited_client.ts";
import { type Rule, usedHits, waitMs } from "./_hits.ts";
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
import type { Budget } from "./budget.ts";
import { type Clock, systemClock } from "./clock.ts";
import { hashId, hashKey } from "./hash_id.ts";
import { classifyKvError } from "./kv/errors.ts";
import { buildKey } from "./kv/keys.ts";
import type { Kv } from "./kv/kv.ts";
import {
  CACHE_TTL_SECONDS_MIN,
  msUntilReset,
  SAME_KEY_WRITE_INTERVAL_MS,
  ttlSecondsFor,
} from "./kv/limits.ts";
import type { WaitUntil } from "./wait_until.ts";

export type { RateLimit, RateLimitResult };
export { type Limiter, limitRequest, rateLimitHeaders } from "./limit_request.ts";

/** A limiter in front of this one. Cloudflare's rate-limiting binding is one as it is. */
export interface RateLimitBinding {
  /** Counts a hit and says whether it is within the limit. */
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Options of {@linkcode RateLimiter}. */
export interface RateLimiterOptions extends RateLimit {
  /**
   * What decides while the store cannot be read: `memory` goes on limiting by this isolate's own
   * count, `open` admits everything, `closed` denies everything with the reason `store`.
   *
   * @default {"memory"}
   */
  readonly onStoreError?: "memory" | "open" | "closed";
  /**
   * Whether the answer waits for the read. If not, the read goes into `pending` as well: an answer
   * then never waits for KV, and each isolate admits a client's first hit of a window unasked. Only
   * with `onStoreError` at `memory`.
   *
   * @default {true}
   */
  readonly waitForStore?: boolean;
  /** Stage one, asked before KV: Cloudflare's rate-limiting binding. If it fails it is left out. */
  readonly first?: RateLimitBinding;
  /**
   * First part of every key. Limiters with the same prefix, limit and window share their counts.
   *
   * @default {"rl"}
   */
  readonly prefix?: string;
  /** Asked before each read and write, as purpose `limits`. What it refuses stays in memory. */
  readonly budget?: Budget;
  /**
   * Admitted hits of a client that are worth a write. By default a quarter of the limit, and then
   * only once over half of the limit is used and the client has been there for a second.
   */
  readonly flushEvery?: number;
  /**
   * Most clients kept in memory; beyond it the one that was not seen for longest is forgotten.
   *
   * @default {10000}
   */
  readonly keysMax?: number;
  /** A secret: ids are hashed under a key that changes daily, and never stored. See `hashId`. */
  readonly hashIds?: string | CryptoKey;
  /** Gets what the store or the binding threw, and stored text that could not be read. */
  readonly onError?: (error: unknown) => void;
  /** Time. Only `now` is used. */
  readonly clock?: Pick<Clock, "now">;
}

/** Options of one hit. */
export interface LimitOptions {
  /**
   * Hits it counts as: a whole number from 1 to the limit.
   *
   * @default {1}
   */
  readonly cost?: number;
  /** Keeps the write behind the answer alive: a Worker's `ctx`. */
  readonly ctx?: WaitUntil;
}

type KnownWindow = [number, number, SharedHits, SharedHits?];
type ReadOutcome = "none" | "now" | "before" | "failed";

const PURPOSE = "limits";
const RETRY_MS = 1000;
const RETRY_MS_MAX = 3_600_000;

/**
 * Limits hits by client.
 *
 * **Bounds.** An isolate admits at most `limit` in an aligned window, and all isolates together at
 * most `limit × isolates`, even with KV down. What they learn of each other through KV counts from
 * then on, and in the next window, so a client that goes on is held near the limit. In any other
 * stretch of a window's length an isolate admits under `2 × limit`; for a burst or a steady beat it
 * is exactly `limit`. KV carries little that is younger than a minute, so a window under 60 s is kept
 * by each isolate alone and KV carries the mean over a minute.
 *
 * **Cost.** `limit()`: at most one read, before the answer, and at most one write, in `pending`.
 * A client takes one or two reads a window and isolate, and no write while under half of the limit.
 * Denied hits change nothing. They write nothing, save that a write of admitted hits which had to
 * wait, since KV takes one a second, goes out with the next hit of any kind, once.
 *
 * No call rejects for trouble with the store: see `onStoreError`.
 */
export class RateLimiter {
  readonly #kv: Kv | undefined;
  readonly #options: RateLimiterOptions;
  readonly #rule: Rule;
  readonly #clients: Map<string, Client> = new Map();
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
   * @throws {TypeError} If `algorithm` or `onStoreError` is none of the names, or the secret empty.
   */
  constructor(kv: Kv | undefined, options: RateLimiterOptions) {
    const { onStoreError = "memory", flushEvery = 1, keysMax = 1, hashIds } = options;
    this.#rule = toRule(options);
    checkWhole("flushEvery", flushEvery);
    checkWhole("keysMax", keysMax);
    if (!["memory", "open", "closed"].includes(onStoreError)) {
      throw new TypeError(
        `Option "onStoreError" must be "memory", "open" or "closed": got "${onStoreError}"`,
      );
    }
    if (hashIds === "") throw new TypeError('Option "hashIds" must not be empty');
    this.#kv = kv;
    this.#options = options;
    this.#hashKey = hashIds;
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
    recordHits(client, cost, nowMs);
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
      client.shared.now.reads === 0;
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

  /** Reads what others have counted: the window under way, and with the next hit the one before. */
  async #read(key: string, client: Client, nowMs: number, cost: number): Promise<ReadOutcome> {
    const { onStoreError = "memory", budget } = this.#options;
    const { index, now, before, rule: { limit, sliding, windowMs } } = client.shared;
    const earlier = now.reads > 0;
    if (this.#kv === undefined || now.reads === 2) return "none";
    if (earlier) {
      const known = before.reads > 0 && before.n * 4 < limit;
      if (!sliding || known || this.#isDue(client, nowMs, cost)) return "none";
    }
    if (nowMs < this.#readAtMs && onStoreError === "memory") return "failed";
    if (budget?.take(PURPOSE, "read").granted === false) return "none";
    const step = earlier ? 2 : 1;
    if (onStoreError === "memory") now.reads = step;
    try {
      if (earlier) await this.#absorb(this.#kv, key, [windowMs, index - 1, before]);
      else await this.#absorb(this.#kv, key, [windowMs, index, now, before]);
      if (now.reads < step) now.reads = step;
      return earlier ? "before" : "now";
    } catch (error) {
      if (now.reads === step) now.reads = earlier ? 1 : 0;
      this.#report(error);
      this.#readAtMs = nowMs + pauseMs(error, nowMs, RETRY_MS);
      return "failed";
    }
  }

  async #absorb(kv: Kv, key: string, window: KnownWindow): Promise<void> {
    const text = await kv.get(`${key}:${window[1]}`, { cacheTtl: CACHE_TTL_SECONDS_MIN });
    if (text === null || absorbHits(text, ...window)) return;
    this.#report(new Error(`Stored count cannot be read: "${text.slice(0, 80)}"`));
  }

  /** Whether a write is worth while once `more` hits have been recorded. */
  #isDue({ shared }: Client, nowMs: number, more: number): boolean {
    const { now, rule: { limit } } = shared;
    const { flushEvery } = this.#options;
    if (waitMs(shared, nowMs, more + 1) > 0) return true;
    if (flushEvery !== undefined) return now.pending + more >= flushEvery;
    return now.pending + more >= limit / 4 && usedHits(shared, nowMs) + more > limit / 2 &&
      nowMs - now.first >= SAME_KEY_WRITE_INTERVAL_MS;
  }

  async #flush(
    key: string,
    client: Client,
    nowMs: number,
    read: ReadOutcome = "none",
  ): Promise<void> {
    const { shared } = client;
    const { index, now, before, rule: { windowMs } } = shared;
    client.held = waitMs(shared, nowMs, 1) > 0;
    if (this.#kv === undefined || client.busy || now.pending === 0) return;
    if (nowMs < Math.max(this.#writeAtMs, client.writtenMs + SAME_KEY_WRITE_INTERVAL_MS)) return;
    const grant = this.#options.budget?.take(PURPOSE);
    if (grant?.granted === false) {
      this.#writeAtMs = nowMs + Math.max(grant.retryAfterMs, RETRY_MS);
      return;
    }
    client.writtenMs = nowMs;
    client.busy = true;
    try {
      if (read !== "now") await this.#absorb(this.#kv, key, [windowMs, index, now]);
      const sent = now.pending;
      const expirationTtl = ttlSecondsFor(windowMs * 2);
      await this.#kv.put(`${key}:${index}`, formatHits(now, before), { expirationTtl });
      now.pending -= sent;
      if (shared.now === now) client.held = false;
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

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // A reporter that fails must not deny or admit anybody.
    }
  }
}

function pauseMs(error: unknown, nowMs: number, otherwiseMs: number): number {
  return classifyKvError(error) === "quota" ? msUntilReset(nowMs) : otherwiseMs;
}
