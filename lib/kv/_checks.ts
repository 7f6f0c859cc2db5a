import { KvFailure, type KvFound } from "./_backend.ts";
import { tooLong } from "./_binding_values.ts";
import { utf8Length } from "./keys.ts";
import {
  CACHE_TTL_SECONDS_MIN,
  EXPIRATION_TTL_SECONDS_MIN,
  KEY_BYTES_MAX,
  LIST_KEYS_MAX,
  METADATA_BYTES_MAX,
} from "./limits.ts";

/** Checks a write's expiry, metadata and value; gives the absolute expiry in seconds. */
export function checkPut(
  value: string | Uint8Array,
  expiration: number | undefined,
  expirationTtl: number | undefined,
  metadata: string | undefined,
  nowMs: number,
  valueBytesMax: number,
): number | undefined {
  const expires = expiryOf(expiration, expirationTtl, Math.floor(nowMs / 1000));
  if (metadata === "undefined") throw new KvFailure(500, "Internal Server Error");
  if (metadata !== undefined && metadata.length * 3 > METADATA_BYTES_MAX) {
    const bytes = utf8Length(metadata);
    if (bytes > METADATA_BYTES_MAX) {
      throw new KvFailure(
        413,
        `Metadata length of ${bytes} exceeds limit of ${METADATA_BYTES_MAX}.`,
      );
    }
  }
  if (value.length * 3 > valueBytesMax) {
    const bytes = typeof value === "string" ? utf8Length(value) : value.length;
    if (bytes > valueBytesMax) {
      throw new KvFailure(413, `Value length of ${bytes} exceeds limit of ${valueBytesMax}.`);
    }
  }
  return expires;
}

/** Checks a read's `cacheTtl`. */
export function checkCacheTtl(cacheTtl: number | undefined): void {
  if (cacheTtl !== undefined && cacheTtl < CACHE_TTL_SECONDS_MIN) {
    throw new KvFailure(
      400,
      `Invalid cache_ttl of ${cacheTtl}. Cache TTL must be at least ${CACHE_TTL_SECONDS_MIN}.`,
    );
  }
}

/** Checks a listing's page size and prefix; gives the page size. */
export function checkList(prefix: string, limit: number | undefined): number {
  if (limit !== undefined && limit > LIST_KEYS_MAX) {
    throw new KvFailure(
      400,
      `Invalid key_count_limit of ${limit}. Please specify an integer less than ${LIST_KEYS_MAX}.`,
    );
  }
  const bytes = prefix.length * 3 > KEY_BYTES_MAX ? utf8Length(prefix) : 0;
  if (bytes > KEY_BYTES_MAX) throw tooLong(bytes);
  return limit ?? LIST_KEYS_MAX;
}

function expiryOf(
  expiration: number | undefined,
  expirationTtl: number | undefined,
  nowSeconds: number,
): number | undefined {
  if (expirationTtl !== undefined) {
    const what = `Invalid expiration_ttl of ${expirationTtl}.`;
    if (expirationTtl <= 0) {
      throw new KvFailure(400, `${what} Please specify integer greater than 0.`);
    }
    if (expirationTtl < EXPIRATION_TTL_SECONDS_MIN) {
      throw new KvFailure(
        400,
        `${what} Expiration TTL must be at least ${EXPIRATION_TTL_SECONDS_MIN}.`,
      );
    }
    return nowSeconds + expirationTtl;
  }
  if (expiration === undefined) return undefined;
  const what = `Invalid expiration of ${expiration}.`;
  if (expiration <= nowSeconds) {
    throw new KvFailure(
      400,
      `${what} Please specify integer greater than the current number of seconds since the UNIX epoch.`,
    );
  }
  if (expiration < nowSeconds + EXPIRATION_TTL_SECONDS_MIN) {
    throw new KvFailure(
      400,
      `${what} Expiration times must be at least ${EXPIRATION_TTL_SECONDS_MIN} seconds in the future.`,
    );
  }
  return expiration;
}

/** Whether something with this expiry is gone at a moment. */
export function isExpired(entry: Pick<KvFound, "expiration">, nowMs: number): boolean {
  return entry.expiration !== undefined && entry.expiration * 1000 <= nowMs;
}
