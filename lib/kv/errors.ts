/**
 * What went wrong in KV, told from its message.
 *
 * The runtime throws bare `Error`s without a code. {@linkcode classifyKvError} reads the message;
 * {@linkcode toKvError} turns it into one of three named classes with the original as `cause`. Nothing
 * here touches a store.
 *
 * @example Telling a spent allowance from an outage
 * ```ts
 * import { classifyKvError } from "@scrimp/kv/errors";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(classifyKvError(new Error("KV put() limit exceeded for the day.")), "quota");
 * assertEquals(classifyKvError(new Error("KV PUT failed: 429 Too Many Requests")), "rate");
 * assertEquals(classifyKvError(new Error("Network connection lost.")), "transient");
 * ```
 *
 * @module
 */

import type { KvOperation } from "../budget.ts";
export type { KvOperation } from "../budget.ts";

import { msUntilReset, SAME_KEY_WRITE_INTERVAL_MS } from "./limits.ts";

/**
 * What a KV error means for the caller.
 *
 * - `limit`: a rule of KV would be broken (key, value, metadata, lifetime); repeating is useless
 * - `quota`: the day's allowance is spent; the same kind of operation works again after 00:00 UTC
 * - `rate`: one key is written too often; works again after a second
 * - `transient`: the store or the network failed; may work at once
 * - `invocation`: this invocation has done too many operations; works in the next one
 * - `unknown`: no error of KV
 */
export type KvErrorKind = "limit" | "quota" | "rate" | "transient" | "invocation" | "unknown";

/**
 * A rule of KV would be broken, so the operation can never succeed as it is.
 *
 * @example By how much
 * ```ts
 * import { KvLimitError } from "@scrimp/kv/errors";
 * import { joinKey } from "@scrimp/kv/keys";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const error = assertThrows(() => joinKey(["x".repeat(600)]), KvLimitError);
 * assertEquals([error.actual, error.limit], [600, 512]);
 * ```
 */
export class KvLimitError extends Error {
  /** The error's name. */
  override readonly name = "KvLimitError";
  /** The most that KV takes, in the unit of the message; undefined where it is no number. */
  readonly limit: number | undefined;
  /** What was asked for, in the same unit. */
  readonly actual: number | undefined;

  /** Makes an error that says which limit was passed, and by what. */
  constructor(
    message: string,
    options: ErrorOptions & { readonly limit?: number; readonly actual?: number } = {},
  ) {
    super(message, options);
    this.limit = options.limit;
    this.actual = options.actual;
  }
}

/**
 * The allowance of the day, of the second or of the invocation is spent.
 *
 * @example Until when
 * ```ts
 * import { KvQuotaError } from "@scrimp/kv/errors";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new KvQuotaError("Writes are spent", { operation: "write", retryAfterMs: 60_000 });
 * assertEquals(error.retryAfterMs, 60_000);
 * ```
 */
export class KvQuotaError extends Error {
  /** The error's name. */
  override readonly name = "KvQuotaError";
  /** The kind of operation that was refused. */
  readonly operation: KvOperation;
  /** Milliseconds until it makes sense to try again. */
  readonly retryAfterMs: number;

  /** Makes an error that says what is spent and when there is more. */
  constructor(
    message: string,
    options: ErrorOptions & { readonly operation: KvOperation; readonly retryAfterMs: number },
  ) {
    super(message, options);
    this.operation = options.operation;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * The store failed, or could not be reached; the operation may nevertheless have taken place.
 *
 * @example The original is the cause
 * ```ts
 * import { KvUnavailableError, toKvError } from "@scrimp/kv/errors";
 * import { assertEquals, assertInstanceOf } from "@std/assert";
 *
 * const lost = new Error("Network connection lost.");
 * const error = toKvError(lost, "read", 0);
 * assertInstanceOf(error, KvUnavailableError);
 * assertEquals(error.cause, lost);
 * ```
 */
export class KvUnavailableError extends Error {
  /** The error's name. */
  override readonly name = "KvUnavailableError";
}

const FAILED = /^KV (?:GET|PUT|DELETE|GET_BULK) failed: (\d{3})/;
const QUOTA = /^KV (?:get|put|list|delete)\(\) limit exceeded for the day/;
const INVOCATION = /^Too many (?:API requests|subrequests) by single worker invocation/i;
const TRANSIENT = /network connection lost|internal error/i;
const RULE =
  /^Key name cannot be empty|is not allowed as a key name|^KV put\(\) accepts only|^Value out of range/;

/**
 * Tells what kind of trouble an error of KV is.
 *
 * Reads nothing but the message, costs no KV operation and never throws.
 *
 * @param error What was caught.
 * @returns The kind; `unknown` for whatever is no error of KV.
 */
export function classifyKvError(error: unknown): KvErrorKind {
  // By name, so that telling errors apart does not need the classes.
  const name = error instanceof Error ? error.name : "";
  if (name === "KvLimitError") return "limit";
  if (name === "KvQuotaError") return "quota";
  if (name === "KvUnavailableError") return "transient";
  const message = messageOf(error);
  const status = Number(FAILED.exec(message)?.[1]);
  if (status === 429) return "rate";
  if (status === 400 || status === 413 || status === 414) return "limit";
  if (status > 0) return "transient";
  if (QUOTA.test(message)) return "quota";
  if (INVOCATION.test(message)) return "invocation";
  if (RULE.test(message)) return "limit";
  return TRANSIENT.test(message) ? "transient" : "unknown";
}

/**
 * Turns an error of KV into one of the three named classes, with the original as its `cause`.
 *
 * @example Waiting as long as it takes
 * ```ts
 * import { KvQuotaError, toKvError } from "@scrimp/kv/errors";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const noon = Date.UTC(2026, 0, 1, 12);
 * const spent = new Error("KV put() limit exceeded for the day.");
 * const error = toKvError(spent, "write", noon);
 * assert(error instanceof KvQuotaError);
 * assertEquals(error.retryAfterMs, 12 * 60 * 60 * 1000);
 * assertEquals(error.cause, spent);
 * ```
 *
 * @param error What was caught.
 * @param operation The kind of operation that threw it.
 * @param nowMs The current time, in milliseconds since the Unix epoch.
 * @returns An error of a named class. What is no error of KV comes back as it is, or, when it is no
 * `Error` at all, as the cause of a {@linkcode KvUnavailableError}.
 */
export function toKvError(error: unknown, operation: KvOperation, nowMs: number): Error {
  if (
    error instanceof KvLimitError || error instanceof KvQuotaError ||
    error instanceof KvUnavailableError
  ) return error;
  const message = messageOf(error);
  const kind = classifyKvError(error);
  if (kind === "limit") {
    const [, actual, limit] = /length of (\d+) exceeds \D*(\d+)/.exec(message) ?? [];
    return new KvLimitError(message, {
      cause: error,
      ...(limit === undefined ? {} : { limit: Number(limit), actual: Number(actual) }),
    });
  }
  if (kind === "transient") return new KvUnavailableError(message, { cause: error });
  if (kind === "unknown") {
    return error instanceof Error ? error : new KvUnavailableError(message, { cause: error });
  }
  const retryAfterMs = kind === "quota"
    ? msUntilReset(nowMs)
    : kind === "rate"
    ? SAME_KEY_WRITE_INTERVAL_MS
    : 0;
  return new KvQuotaError(message, { cause: error, operation, retryAfterMs });
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : "Value thrown that is no error";
}
