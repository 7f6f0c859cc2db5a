/**
 * A faithful fake of one location's KV, in memory: validation, expiry by an injected clock, metadata,
 * order and paging of listings, and the runtime's own error texts. Strongly consistent; for stale
 * reads, quotas and faults see `KvWorld`.
 *
 * @example A test without a runtime
 * ```ts
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * let now = Date.UTC(2026, 0, 1);
 * const kv = new MemoryKv({ now: () => now });
 * await kv.put("greeting", "hello", { expirationTtl: 60, metadata: { lang: "en" } });
 * assertEquals(await kv.get("greeting"), "hello");
 * now += 60_000;
 * assertEquals(await kv.get("greeting"), null);
 * assertEquals(kv.operations, { read: 2, write: 1, list: 0, delete: 0 });
 * ```
 *
 * @module
 */

import { systemClock } from "../clock.ts";
import type { KvBackend, KvFound, KvListing } from "./_backend.ts";
import { checkCacheTtl, checkList, checkPut, isExpired } from "./_checks.ts";
import { decodeCursor, encodeCursor } from "./_cursor.ts";
import { compareNames, lowerBound, SortedNames } from "./_sorted_names.ts";
import { KvBinding } from "./kv_binding.ts";
import { VALUE_BYTES_MAX } from "./limits.ts";

export * from "./kv_binding.ts";

/** Options of a {@linkcode MemoryKv}. */
export interface MemoryKvOptions {
  /**
   * The current time, in milliseconds since the Unix epoch.
   *
   * @default {systemClock.now}
   */
  readonly now?: () => number;
  /**
   * Longest value, in bytes.
   *
   * @default {26_214_400}
   */
  readonly valueBytesMax?: number;
}

/** How many operations a fake has seen, by kind. A bulk read counts every key. */
export interface KvOperationCounts {
  /** Keys read. */
  read: number;
  /** Keys written. */
  write: number;
  /** Listings. */
  list: number;
  /** Keys deleted. */
  delete: number;
}

/**
 * The faithful fake of a KV namespace, seen from one location.
 *
 * Strongly consistent and without quotas. Values are copied in and out, so nothing that was put or
 * got can be changed from outside. Memory is proportional to the live keys.
 */
export class MemoryKv extends KvBinding {
  /** How many operations reached the store; those that the binding itself refuses do not count. */
  readonly operations: KvOperationCounts;

  /**
   * Makes an empty namespace.
   *
   * @param options See {@linkcode MemoryKvOptions}.
   * @throws {RangeError} If `valueBytesMax` is no whole number of at least 0.
   */
  constructor(options: MemoryKvOptions = {}) {
    const { now = systemClock.now, valueBytesMax = VALUE_BYTES_MAX } = options;
    if (!Number.isInteger(valueBytesMax) || valueBytesMax < 0) {
      throw new RangeError(
        `Option "valueBytesMax" must be a whole number of at least 0: got ${valueBytesMax}`,
      );
    }
    const store = new MemoryStore(now, valueBytesMax);
    super(store);
    this.operations = store.operations;
  }
}

class MemoryStore implements KvBackend {
  readonly operations: KvOperationCounts = { read: 0, write: 0, list: 0, delete: 0 };
  readonly #now: () => number;
  readonly #valueBytesMax: number;
  readonly #entries = new Map<string, KvFound>();
  readonly #names = new SortedNames();
  #sweepAt = 64;

  constructor(now: () => number, valueBytesMax: number) {
    this.#now = now;
    this.#valueBytesMax = valueBytesMax;
  }

  get(key: string, cacheTtl?: number): KvFound | null {
    this.operations.read++;
    checkCacheTtl(cacheTtl);
    return this.#live(key, this.#now());
  }

  getBulk(keys: readonly string[], cacheTtl?: number): (KvFound | null)[] {
    this.operations.read += keys.length;
    checkCacheTtl(cacheTtl);
    const now = this.#now();
    return keys.map((key) => this.#live(key, now));
  }

  put(
    key: string,
    value: string | Uint8Array<ArrayBuffer>,
    expiration?: number,
    expirationTtl?: number,
    metadata?: string,
  ): void {
    this.operations.write++;
    const now = this.#now();
    const expires = checkPut(
      value,
      expiration,
      expirationTtl,
      metadata,
      now,
      this.#valueBytesMax,
    );
    if (!this.#entries.has(key)) this.#names.add(key);
    this.#entries.set(key, { value, expiration: expires, metadata });
    if (this.#entries.size > this.#sweepAt) this.#sweep(now);
  }

  delete(key: string): void {
    this.operations.delete++;
    this.#remove(key);
  }

  list(prefix: string, limit?: number, cursor?: string): KvListing {
    this.operations.list++;
    const count = checkList(prefix, limit);
    const after = cursor ? decodeCursor(cursor) : undefined;
    const now = this.#now();
    const names = this.#names.all((name) => this.#entries.has(name));
    let at = lowerBound(names, prefix);
    if (after !== undefined && compareNames(after, prefix) >= 0) {
      at = lowerBound(names, after);
      if (names[at] === after) at++;
    }
    const keys = [];
    for (; names[at]?.startsWith(prefix); at++) {
      const name = names[at] ?? "";
      const entry = this.#live(name, now);
      if (entry === null) continue;
      if (keys.length === count) {
        return { keys, complete: false, cursor: encodeCursor(keys.at(-1)?.name ?? "") };
      }
      keys.push({ name, expiration: entry.expiration, metadata: entry.metadata });
    }
    return { keys, complete: true };
  }

  #live(key: string, now: number): KvFound | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    if (!isExpired(entry, now)) return entry;
    this.#remove(key);
    return null;
  }

  #remove(key: string): void {
    if (this.#entries.delete(key)) this.#names.removed();
  }

  #sweep(now: number): void {
    for (const [key, entry] of this.#entries) if (isExpired(entry, now)) this.#remove(key);
    this.#sweepAt = 64 + 2 * this.#entries.size;
  }
}
