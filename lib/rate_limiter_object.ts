/**
 * The strict mode of `RateLimiter`: one Durable Object a client counts exactly, wherever hits come in.
 *
 * Bind a namespace to {@linkcode RateLimiterObject}, with `new_sqlite_classes`, and ask it through
 * {@linkcode StrictRateLimiter}. Costs no KV operation; see there for what it does cost.
 *
 * @example In a Worker
 * ```ts ignore
 * import { StrictRateLimiter } from "@scrimp/kv/rate-limiter-object";
 * export { RateLimiterObject } from "@scrimp/kv/rate-limiter-object";
 *
 * const limiter = new StrictRateLimiter(env.LIMITS, { limit: 10, windowMs: 60_000 });
 * const { success } = await limiter.limit("192.0.2.7");
 * ```
 *
 * @example Namespace and object, without a runtime
 * ```ts
 * import { RateLimiterObject, StrictRateLimiter } from "@scrimp/kv/rate-limiter-object";
 * import { assertEquals } from "@std/assert";
 *
 * const stored = new Map<string, unknown>();
 * const object = new RateLimiterObject({
 *   storage: {
 *     get: (key) => Promise.resolve(stored.get(key)),
 *     put: (key, value) => Promise.resolve(void stored.set(key, value)),
 *     deleteAll: () => Promise.resolve(stored.clear()),
 *     setAlarm: () => Promise.resolve(),
 *   },
 * });
 * const namespace = {
 *   idFromName: (name: string) => name,
 *   get: () => ({ fetch: (url: string, init: RequestInit) => object.fetch(new Request(url, init)) }),
 * };
 * const limiter = new StrictRateLimiter(namespace, { limit: 1, windowMs: 60_000 });
 * assertEquals((await limiter.limit("ann")).success, true);
 * assertEquals((await limiter.limit("ann")).success, false);
 * ```
 *
 * @module
 */

import { addHits, type Hits, type Level, noHits, roll, type Rule } from "./_hits.ts";
import {
  answer,
  checkId,
  checkWhole,
  longestWait,
  parseHits,
  type RateLimit,
  type RateLimitResult,
  toRule,
} from "./_rate_limit.ts";
import { type Clock, systemClock } from "./clock.ts";
import { hashId, hashKey } from "./hash_id.ts";
import { buildKey } from "./kv/keys.ts";
import { type LimitOptions, RateLimiter } from "./rate_limiter.ts";

/** What the object needs of its storage. A Durable Object's is one as it is. */
export interface ObjectStorage {
  /** Reads a value. */
  get(key: string): Promise<unknown>;
  /** Stores a value. */
  put(key: string, value: unknown): Promise<void>;
  /** Removes everything. */
  deleteAll(): Promise<void>;
  /** Asks for a call of `alarm` at that time. */
  setAlarm(timeMs: number): Promise<void>;
}

/** What the limiter needs of a Durable Object namespace, which is one as it is. */
export interface ObjectNamespace {
  /** Derives an object's id from a name. */
  idFromName(name: string): unknown;
  /** The object with that id. */
  get(id: unknown): {
    /** Asks the object. */
    fetch(
      url: string,
      init: { method: string; body: string },
    ): Promise<{ readonly ok: boolean; json(): Promise<unknown> }>;
  };
}

/** Options of {@linkcode StrictRateLimiter}. */
export interface StrictRateLimiterOptions extends RateLimit {
  /**
   * What decides while the object cannot be reached: `memory` limits by this isolate's own count,
   * `open` admits everything, `closed` denies everything with the reason `store`.
   *
   * @default {"memory"}
   */
  readonly onStoreError?: "memory" | "open" | "closed";
  /**
   * First part of every object's name.
   *
   * @default {"rl"}
   */
  readonly prefix?: string;
  /** A secret: ids are hashed under a key that changes daily. See `hashId`. */
  readonly hashIds?: string | CryptoKey;
  /** Gets what the namespace threw. */
  readonly onError?: (error: unknown) => void;
  /** Time, for the isolate's own count; the object has a clock of its own. */
  readonly clock?: Pick<Clock, "now">;
}

interface StoredCount {
  readonly v: number;
  readonly index: number;
  readonly dueMs: number;
  readonly now: unknown;
  readonly before: unknown;
}

const STORAGE_KEY = "hits";
const VERSION = 1;

/**
 * The Durable Object that counts one client.
 *
 * An admitted hit writes one row, a denied one nothing. Once nothing has come for two windows an
 * alarm removes what is stored.
 */
export class RateLimiterObject {
  readonly #storage: ObjectStorage;
  readonly #clock: Pick<Clock, "now">;
  #level: Level | undefined;
  #alarmMs = 0;

  /**
   * Called by the runtime.
   *
   * @param state Where the object keeps its count.
   * @param _env Unused.
   * @param clock Time.
   */
  constructor(
    state: { readonly storage: ObjectStorage },
    _env?: unknown,
    clock: Pick<Clock, "now"> = systemClock,
  ) {
    this.#storage = state.storage;
    this.#clock = clock;
  }

  /**
   * Answers {@linkcode StrictRateLimiter}: takes a limit, a cost and whether to count as JSON.
   *
   * @param request A POST with `{ limit, windowMs, algorithm, cost }`; a cost of 0 counts nothing.
   * @returns The decision as JSON, or 400.
   */
  async fetch(request: Request): Promise<Response> {
    try {
      const asked = await request.json() as RateLimit & { readonly cost: number };
      const rule = toRule(asked);
      if (asked.cost !== 0) checkWhole("cost", asked.cost, rule.limit);
      const level = await this.#load(rule);
      const nowMs = Math.floor(this.#clock.now());
      roll(level, nowMs, noHits);
      const cost = asked.cost || 1;
      const denied = longestWait([level], nowMs, cost) > 0;
      if (!denied && asked.cost > 0) await this.#record(level, cost, nowMs);
      const { pending: _, ...result } = answer([level], nowMs, {
        cost,
        reason: denied ? "limit" : undefined,
      });
      return Response.json(result);
    } catch (error) {
      const message = error instanceof Error ? error.message : "Request is not valid";
      return Response.json({ error: { code: "badRequest", message } }, { status: 400 });
    }
  }

  /** Called by the runtime: removes the count once it says nothing any more. */
  async alarm(): Promise<void> {
    const { dueMs = 0 } = await this.#stored();
    if (dueMs > this.#clock.now()) return await this.#setAlarm(dueMs);
    this.#level = undefined;
    this.#alarmMs = 0;
    await this.#storage.deleteAll();
  }

  async #load(rule: Rule): Promise<Level> {
    if (this.#level === undefined) {
      const { index = 0, now, before } = await this.#stored();
      // Another request may have loaded it meanwhile, and counted.
      this.#level ??= {
        rule,
        index,
        now: parseHits(now, index, rule.windowMs) ?? noHits(),
        before: parseHits(before, index - 1, rule.windowMs) ?? noHits(),
      };
    }
    this.#level.rule = rule;
    return this.#level;
  }

  async #stored(): Promise<Partial<StoredCount>> {
    const stored = await this.#storage.get(STORAGE_KEY) as Partial<StoredCount> | undefined;
    return stored?.v === VERSION && Number.isSafeInteger(stored.index) ? stored : {};
  }

  async #record(level: Level, cost: number, nowMs: number): Promise<void> {
    addHits(level.now, cost, nowMs, nowMs);
    const { index, now, before, rule: { windowMs } } = level;
    const dueMs = (index + 2) * windowMs;
    const count: StoredCount = {
      v: VERSION,
      index,
      dueMs,
      now: triple(now),
      before: triple(before),
    };
    await this.#storage.put(STORAGE_KEY, count);
    if (this.#alarmMs === 0) await this.#setAlarm(dueMs);
  }

  async #setAlarm(timeMs: number): Promise<void> {
    this.#alarmMs = timeMs;
    await this.#storage.setAlarm(timeMs);
  }
}

/**
 * Limits hits by client exactly, over all data centers: each client has a Durable Object.
 *
 * A hit costs one request to the object (100,000 a day on the free plan) and the round trip to where
 * the client was first seen; an admitted one writes a row as well.
 * No call rejects for trouble with the object: see `onStoreError`.
 */
export class StrictRateLimiter {
  readonly #namespace: ObjectNamespace;
  readonly #options: StrictRateLimiterOptions;
  readonly #memory: RateLimiter;
  #hashKey: string | CryptoKey | undefined;

  /**
   * Makes a limiter. Asks the namespace nothing yet.
   *
   * @param namespace A Durable Object namespace bound to {@linkcode RateLimiterObject}.
   * @param options The limit, its window, and {@linkcode StrictRateLimiterOptions}.
   * @throws {RangeError} If a number is not whole, or under 1.
   * @throws {TypeError} If the secret is empty.
   */
  constructor(namespace: ObjectNamespace, options: StrictRateLimiterOptions) {
    this.#namespace = namespace;
    this.#options = options;
    this.#memory = new RateLimiter(undefined, options);
    this.#hashKey = options.hashIds;
  }

  /**
   * Counts a hit of a client if it is within the limit, and says whether it is.
   *
   * @param id Who: any string that is not empty.
   * @param options See `LimitOptions`.
   * @returns The decision; its `pending` has settled already.
   * @throws {TypeError} If the id is empty or no string.
   * @throws {RangeError} If the cost is not a whole number from 1 to the limit.
   */
  async limit(id: string, options: LimitOptions = {}): Promise<RateLimitResult> {
    const { cost = 1 } = options;
    checkWhole("cost", cost, this.#options.limit);
    return await this.#ask(id, cost);
  }

  /**
   * Says how a hit of cost 1 would be answered, and counts nothing.
   *
   * @param id Who.
   * @returns The decision that `limit` would make.
   * @throws {TypeError} If the id is empty or no string.
   */
  async peek(id: string): Promise<RateLimitResult> {
    return await this.#ask(id, 0);
  }

  async #ask(id: string, cost: number): Promise<RateLimitResult> {
    checkId(id);
    const { limit, windowMs, algorithm = "sliding", prefix = "rl" } = this.#options;
    const { onStoreError = "memory", clock = systemClock } = this.#options;
    try {
      if (typeof this.#hashKey === "string") this.#hashKey = await hashKey(this.#hashKey);
      const who = this.#hashKey === undefined ? id : await hashId(this.#hashKey, id, clock.now());
      const name = await buildKey([prefix, `${limit}-${windowMs}`, who]);
      const object = this.#namespace.get(this.#namespace.idFromName(name));
      const response = await object.fetch("https://limits/", {
        method: "POST",
        body: JSON.stringify({ limit, windowMs, algorithm, cost }),
      });
      const result = await response.json();
      if (!response.ok) throw new Error(`Object refused: ${JSON.stringify(result)}`);
      return { ...result as RateLimitResult, pending: Promise.resolve() };
    } catch (error) {
      this.#options.onError?.(error);
      const own = cost === 0 ? await this.#memory.peek(id) : await this.#memory.limit(id, { cost });
      if (onStoreError === "memory") return { ...own, degraded: true };
      const { reason: _, ...rest } = { ...own, degraded: true };
      return onStoreError === "open"
        ? { ...rest, success: true, retryAfterSeconds: 0 }
        : { ...rest, success: false, retryAfterSeconds: 1, remaining: 0, reason: "store" };
    }
  }
}

function triple({ n, first, last }: Hits): number[] {
  return [n, first, last];
}
