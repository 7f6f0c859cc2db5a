/** What the two limiters have in common: limits, results and their checks. */

import { asArray } from "./_common.ts";
import { type Hits, type Level, type Rule, usedHits, waitMs } from "./_hits.ts";

/** A limit and its window. */
export interface RateLimit {
  /** Most hits in a window: a whole number of at least 1. */
  readonly limit: number;
  /** The window's length in milliseconds: a whole number of at least 1. */
  readonly windowMs: number;
  /**
   * `sliding` counts the hits of the last `windowMs` as two aligned windows know them; `fixed`
   * counts the hits since the last multiple of `windowMs`, so up to twice the limit can come at once
   * where two windows meet.
   *
   * @default {"sliding"}
   */
  readonly algorithm?: "fixed" | "sliding";
}

/** The answer to a hit. */
export interface RateLimitResult {
  /** Whether the hit is within the limit. */
  readonly success: boolean;
  /** The limit. */
  readonly limit: number;
  /** Hits left, as far as this isolate knows: a whole number of at least 0. */
  readonly remaining: number;
  /** The window's end, in milliseconds since the Unix epoch. */
  readonly resetMs: number;
  /** Whole seconds after which the hit would fit, at least 1; 0 when it did. */
  readonly retryAfterSeconds: number;
  /** Whole seconds until the window's end, at least 1. */
  readonly resetSeconds?: number;
  /** The window's length in milliseconds. */
  readonly windowMs?: number;
  /** Who denied it: the limit, the binding in front, or the store that could not be read. */
  readonly reason?: "limit" | "binding" | "store";
  /** Whether the store, or the limiter in front, could not be asked. */
  readonly degraded: boolean;
  /** The write behind the answer, for `waitUntil`. Never rejects. */
  readonly pending: Promise<void>;
}

/** Who denies, and what goes along with the answer. */
export interface AnswerParts {
  readonly cost: number;
  readonly reason?: "limit" | "binding" | "store" | undefined;
  readonly degraded?: boolean;
  readonly pending?: Promise<void>;
}

/** Throws unless a number is whole and at least 1. */
export function checkWhole(
  name: string,
  value: number,
  most: number = Number.MAX_SAFE_INTEGER,
): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw new RangeError(
    `Option "${name}" must be a whole number from 1 to ${most}: got ${String(value)}`,
  );
}

/** Throws unless a client's id is a string with something in it. */
export function checkId(id: string): void {
  if (typeof id === "string" && id !== "") return;
  throw new TypeError("Client id must be a string that is not empty");
}

/** Checks a limit and turns it into a rule. */
export function toRule({ limit, windowMs, algorithm }: RateLimit): Rule {
  checkWhole("limit", limit);
  checkWhole("windowMs", windowMs);
  return { limit, windowMs, sliding: algorithm !== "fixed" };
}

/** Builds the answer: the first level is what was asked for, further ones may only deny. */
export function answer(
  levels: readonly [Level, ...Level[]],
  nowMs: number,
  { cost, reason, degraded = false, pending = Promise.resolve() }: AnswerParts,
): RateLimitResult {
  const [{ rule: { limit, windowMs }, index }] = levels;
  const resetMs = (index + 1) * windowMs;
  const resetSeconds = seconds(resetMs - nowMs);
  const left = Math.min(...levels.map((level) => level.rule.limit - usedHits(level, nowMs)));
  const byLimit = reason === undefined || reason === "limit";
  return {
    success: reason === undefined,
    limit,
    remaining: byLimit ? Math.max(left, 0) : 0,
    resetMs,
    resetSeconds,
    windowMs,
    degraded,
    pending,
    retryAfterSeconds: reason === undefined
      ? 0
      : reason === "store"
      ? 1
      : reason === "binding"
      ? resetSeconds
      : seconds(longestWait(levels, nowMs, cost)),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Milliseconds until a hit fits on all levels. */
export function longestWait(levels: readonly Level[], nowMs: number, cost: number): number {
  return Math.max(...levels.map((level) => waitMs(level, nowMs, cost)));
}

/** Reads `[n, first, last]` of the window with that number, or `undefined` for anything else. */
export function parseHits(value: unknown, index: number, windowMs: number): Hits | undefined {
  const [n, first, last] = asArray(value);
  if (!whole(n) || !whole(first) || !whole(last) || n < 1 || last < first) return undefined;
  const start = index * windowMs;
  return first >= start && last < start + windowMs ? { n, first, last } : undefined;
}

function whole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
