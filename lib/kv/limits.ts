/**
 * Workers KV's limits and the free plan's daily allowances, each with its unit in its name.
 *
 * All from Cloudflare's documentation as of November 2026:
 * https://developers.cloudflare.com/kv/platform/limits/ and
 * https://developers.cloudflare.com/kv/platform/pricing/
 *
 * @example Lifetimes
 * ```ts
 * import { EXPIRATION_TTL_SECONDS_MIN, ttlSecondsFor } from "@scrimp/kv/limits";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(ttlSecondsFor(59_900), EXPIRATION_TTL_SECONDS_MIN);
 * assertEquals(ttlSecondsFor(90_001), 91);
 * ```
 *
 * @module
 */

/** Longest key, in bytes of UTF-8. */
export const KEY_BYTES_MAX = 512;
/** Longest value, in bytes. */
export const VALUE_BYTES_MAX = 26_214_400;
/** Longest metadata, in bytes of its JSON. */
export const METADATA_BYTES_MAX = 1024;
/** Shortest `expirationTtl`, and least distance of an `expiration`, in seconds. */
export const EXPIRATION_TTL_SECONDS_MIN = 60;
/** Shortest `cacheTtl` of a read, in seconds. */
export const CACHE_TTL_SECONDS_MIN = 30;
/** The `cacheTtl` of a read that names none, in seconds. */
export const CACHE_TTL_SECONDS_DEFAULT = 60;
/** Most keys in a page of a listing, and how many there are when no limit is named. */
export const LIST_KEYS_MAX = 1000;
/** Most keys in one bulk read. */
export const BULK_KEYS_MAX = 100;
/** Largest number the binding takes for any option; absolute expirations end in January 2038. */
export const OPTION_MAX = 2_147_483_647;
/** Least time between two writes to one key, in milliseconds, above which KV may answer 429. */
export const SAME_KEY_WRITE_INTERVAL_MS = 1000;
/** Most KV operations in one invocation of a Worker; a bulk read is one. */
export const INVOCATION_OPERATIONS_MAX = 1000;
/** Most subrequests in one invocation of a Worker on the free plan. */
export const INVOCATION_SUBREQUESTS_MAX = 50;

/** Keys read a day on the free plan, over the whole account. Every key of a bulk read counts. */
export const READS_PER_DAY = 100_000;
/** Keys written a day on the free plan, over the whole account. */
export const WRITES_PER_DAY = 1000;
/** Keys deleted a day on the free plan, over the whole account. */
export const DELETES_PER_DAY = 1000;
/** Listings a day on the free plan, over the whole account. */
export const LISTS_PER_DAY = 1000;

/** A day, in milliseconds. Allowances start anew at 00:00 UTC. */
export const DAY_MS = 86_400_000;

/**
 * The milliseconds until the daily allowances start anew, at 00:00 UTC.
 *
 * @param nowMs The current time, in milliseconds since the Unix epoch.
 * @returns More than 0, at most a day.
 */
export function msUntilReset(nowMs: number): number {
  return DAY_MS - ((nowMs % DAY_MS) + DAY_MS) % DAY_MS;
}

/**
 * The `expirationTtl` for a lifetime: whole seconds, rounded up, never below KV's least.
 *
 * KV's expiry then only collects garbage: what must end earlier needs an expiry inside the value.
 *
 * @param lifetimeMs How long the value has to live, in milliseconds.
 * @returns Seconds, at least {@linkcode EXPIRATION_TTL_SECONDS_MIN}.
 * @throws {RangeError} If the lifetime is not a finite number.
 */
export function ttlSecondsFor(lifetimeMs: number): number {
  if (!Number.isFinite(lifetimeMs)) {
    throw new RangeError(`Lifetime must be a finite number of milliseconds: got ${lifetimeMs}`);
  }
  const seconds = Math.max(EXPIRATION_TTL_SECONDS_MIN, Math.ceil(lifetimeMs / 1000));
  return Math.min(seconds, OPTION_MAX);
}

/**
 * Checks an absolute expiry before KV is asked.
 *
 * @param expirationSeconds Seconds since the Unix epoch.
 * @param nowMs The current time, in milliseconds since the Unix epoch.
 * @returns The same number.
 * @throws {RangeError} If it is no whole number of seconds, too near, or too far: a number of
 * milliseconds is always too far.
 */
export function checkExpiration(expirationSeconds: number, nowMs: number): number {
  const least = Math.floor(nowMs / 1000) + EXPIRATION_TTL_SECONDS_MIN;
  if (
    Number.isInteger(expirationSeconds) && expirationSeconds >= least &&
    expirationSeconds <= OPTION_MAX
  ) return expirationSeconds;
  throw new RangeError(
    `Expiration must be whole seconds since the Unix epoch, from ${least} to ${OPTION_MAX}: ` +
      `got ${expirationSeconds}`,
  );
}
