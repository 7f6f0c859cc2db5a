/**
 * The same interface over Deno KV, for Deno Deploy.
 *
 * @example A namespace in Deno KV
 * ```ts ignore
 * import { DenoKv } from "@scrimp/kv/deno-kv";
 *
 * const kv = new DenoKv(await Deno.openKv());
 * await kv.put("greeting", "hello", { expirationTtl: 3600 });
 * ```
 *
 * @example What it asks of a store
 * ```ts
 * import { DenoKv, type DenoKvStore } from "@scrimp/kv/deno-kv";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const empty: DenoKvStore = {
 *   getMany: (keys) => Promise.resolve(keys.map((key) => ({ key, value: null }))),
 *   async *list() {},
 *   atomic: () => {
 *     throw new Error("read-only");
 *   },
 * };
 * const kv = new DenoKv(empty);
 * assertEquals(await kv.get("greeting"), null);
 * await assertRejects(() => kv.put("greeting", "hello"), Error, "read-only");
 * ```
 *
 * @module
 */

import { systemClock } from "../clock.ts";
import type { KvBackend, KvFound, KvListing } from "./_backend.ts";
import { checkCacheTtl, checkList, checkPut, isExpired } from "./_checks.ts";
import { decodeCursor, encodeCursor } from "./_cursor.ts";
import { KvBinding } from "./kv_binding.ts";

export * from "./kv_binding.ts";

/** A key of Deno KV, as this module uses it. */
export type DenoKvKey = readonly string[];

/** An entry of Deno KV. */
export interface DenoKvEntry {
  /** The key. */
  readonly key: readonly unknown[];
  /** The value; `null` where there is none. */
  readonly value: unknown;
}

/** Writes of Deno KV that take place together, or not at all. */
export interface DenoKvAtomic {
  /** Adds a write. */
  set(key: DenoKvKey, value: unknown, options?: { expireIn?: number }): DenoKvAtomic;
  /** Adds a delete. */
  delete(key: DenoKvKey): DenoKvAtomic;
  /** Does all. */
  commit(): Promise<unknown>;
}

/** What is needed of a `Deno.Kv`. */
export interface DenoKvStore {
  /** Reads several keys. */
  getMany(keys: DenoKvKey[]): Promise<DenoKvEntry[]>;
  /** Goes through keys in order. */
  list(
    selector: { prefix: DenoKvKey; start: DenoKvKey } | { prefix: DenoKvKey },
    options?: { limit?: number },
  ): AsyncIterable<DenoKvEntry>;
  /** Starts writes that take place together. */
  atomic(): DenoKvAtomic;
}

/** Options of a {@linkcode DenoKv}. */
export interface DenoKvOptions {
  /**
   * The namespace: several can share one Deno KV.
   *
   * @default {"kv"}
   */
  readonly namespace?: string;
  /**
   * The current time, in milliseconds since the Unix epoch.
   *
   * @default {systemClock.now}
   */
  readonly now?: () => number;
}

/** Deno KV takes 64 KiB; its envelope around a value needs some of it. */
const VALUE_BYTES_MAX = 65_000;

/**
 * A KV namespace in a Deno KV: the same methods, checks and error texts as a binding of Workers.
 *
 * Differs from Workers KV where Deno KV does: it is strongly consistent, `cacheTtl` is checked and has no
 * effect, a value has at most 65,000 bytes, and a listing reads the metadata of each key from the store.
 * A value and its metadata are two entries of Deno KV: a read takes both, `put` and `delete` write both at
 * once, `list` reads the metadata only, in the store's batches. Failures of the store are passed on as
 * they are.
 */
export class DenoKv extends KvBinding {
  /**
   * Makes a namespace in a Deno KV.
   *
   * @param store What `Deno.openKv()` gives.
   * @param options See {@linkcode DenoKvOptions}.
   */
  constructor(store: DenoKvStore, options: DenoKvOptions = {}) {
    const { namespace = "kv", now = systemClock.now } = options;
    super(new DenoKvBackend(store, namespace, now));
  }
}

/** What is stored beside a value. */
interface Facts {
  readonly v: 1;
  readonly expiration?: number | undefined;
  readonly metadata?: string | undefined;
}

class DenoKvBackend implements KvBackend {
  readonly #store: DenoKvStore;
  readonly #namespace: string;
  readonly #now: () => number;

  constructor(store: DenoKvStore, namespace: string, now: () => number) {
    this.#store = store;
    this.#namespace = namespace;
    this.#now = now;
  }

  async get(key: string, cacheTtl?: number): Promise<KvFound | null> {
    const [found = null] = await this.getBulk([key], cacheTtl);
    return found;
  }

  async getBulk(keys: readonly string[], cacheTtl?: number): Promise<(KvFound | null)[]> {
    checkCacheTtl(cacheTtl);
    const now = this.#now();
    const entries: DenoKvEntry[] = [];
    // Deno KV reads at most ten keys at a time.
    for (let at = 0; at < keys.length; at += 5) {
      const some = keys.slice(at, at + 5).flatMap((key) => [this.#value(key), this.#facts(key)]);
      // deno-lint-ignore scrimp/no-await-in-loop
      entries.push(...await this.#store.getMany(some));
    }
    return keys.map((_, i) => foundOf(entries[2 * i]?.value, entries[2 * i + 1]?.value, now));
  }

  async put(
    key: string,
    value: string | Uint8Array<ArrayBuffer>,
    expiration?: number,
    expirationTtl?: number,
    metadata?: string,
  ): Promise<void> {
    const now = this.#now();
    const expires = checkPut(value, expiration, expirationTtl, metadata, now, VALUE_BYTES_MAX);
    const facts: Facts = { v: 1, expiration: expires, metadata };
    const options = expires === undefined ? {} : { expireIn: expires * 1000 - now };
    await this.#store.atomic()
      .set(this.#value(key), value, options)
      .set(this.#facts(key), facts, options)
      .commit();
  }

  async delete(key: string): Promise<void> {
    await this.#store.atomic().delete(this.#value(key)).delete(this.#facts(key)).commit();
  }

  async list(prefix: string, limit?: number, cursor?: string): Promise<KvListing> {
    const count = checkList(prefix, limit);
    const after = cursor ? decodeCursor(cursor) : undefined;
    const now = this.#now();
    const all = [this.#namespace, "facts"];
    // The least key above another is that key and NUL.
    const from = after === undefined || after < prefix ? prefix : `${after}\0`;
    const selector = from === "" ? { prefix: all } : { prefix: all, start: [...all, from] };
    const keys = [];
    // A store may do without the key that only tells whether there are more.
    for await (const entry of this.#store.list(selector)) {
      const name = String(entry.key[2]);
      if (!name.startsWith(prefix)) break;
      const facts = factsOf(entry.value);
      if (facts === undefined || isExpired(facts, now)) continue;
      if (keys.length === count) {
        return { keys, complete: false, cursor: encodeCursor(keys.at(-1)?.name ?? "") };
      }
      keys.push({ name, expiration: facts.expiration, metadata: facts.metadata });
    }
    return { keys, complete: true };
  }

  #value(key: string): DenoKvKey {
    return [this.#namespace, "value", key];
  }

  #facts(key: string): DenoKvKey {
    return [this.#namespace, "facts", key];
  }
}

function foundOf(value: unknown, stored: unknown, now: number): KvFound | null {
  const facts = factsOf(stored);
  if (facts === undefined || isExpired(facts, now)) return null;
  const { expiration, metadata } = facts;
  if (typeof value === "string") return { value, expiration, metadata };
  return value instanceof Uint8Array
    ? { value: new Uint8Array(value), expiration, metadata }
    : null;
}

/** Reads what is stored beside a value; `undefined` for what another program wrote. */
function factsOf(stored: unknown): Facts | undefined {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { v, expiration, metadata } = stored as Record<string, unknown>;
  const valid = v === 1 && (expiration === undefined || typeof expiration === "number") &&
    (metadata === undefined || typeof metadata === "string");
  return valid ? stored as Facts : undefined;
}
