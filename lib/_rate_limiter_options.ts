/** What a `RateLimiter` can be told. */

import type { RateLimit } from "./_rate_limit.ts";
import type { Budget } from "./budget.ts";
import type { Clock, Random } from "./clock.ts";
import type { WaitUntil } from "./wait_until.ts";

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
   * only between half and three quarters of the limit: what comes after goes with the verdict.
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
  /** Chance, for this isolate's name among those that count. */
  readonly random?: Random;
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
