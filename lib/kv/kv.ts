/**
 * The smallest store interface that a Cloudflare `KVNamespace` satisfies unchanged.
 *
 * Every module of this package takes a {@linkcode Kv}, so the real binding, the in-memory fakes and
 * Deno KV are interchangeable.
 *
 * @example A function that works on any of them
 * ```ts
 * import type { Kv } from "@scrimp/kv/kv";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * async function greet(kv: Kv): Promise<string> {
 *   return await kv.get("greeting", { cacheTtl: 300 }) ?? "Hello";
 * }
 *
 * assertEquals(await greet(new MemoryKv()), "Hello");
 * ```
 *
 * @module
 */

/** Options of a read. */
export interface KvGetOptions {
  /** How long, in seconds, the location may answer from its cache. At least 30; KV's default is 60. */
  readonly cacheTtl?: number;
}

/** Options of a write. */
export interface KvPutOptions {
  /** Lifetime in seconds, at least 60. Wins over `expiration`. */
  readonly expirationTtl?: number;
  /** Absolute expiry in seconds since the Unix epoch, at least 60 s ahead. */
  readonly expiration?: number;
  /** A JSON value of at most 1,024 bytes, returned by `list` without reading the value. */
  readonly metadata?: unknown;
}

/** Options of a listing. */
export interface KvListOptions {
  /** Only keys that start with this. */
  readonly prefix?: string;
  /** Keys in a page: 1 to 1,000. */
  readonly limit?: number;
  /** Where the previous page ended. */
  readonly cursor?: string;
}

/** One key of a listing. */
export interface KvListKey {
  /** The key. */
  readonly name: string;
  /** Absolute expiry in seconds since the Unix epoch, where one was set. */
  readonly expiration?: number;
  /** The metadata, where some was set. */
  readonly metadata?: unknown;
}

/** One page of a listing. A page may be empty and yet not the last. */
export type KvListPage =
  | { readonly list_complete: false; readonly keys: KvListKey[]; readonly cursor: string }
  | { readonly list_complete: true; readonly keys: KvListKey[] };

/** A value and its metadata; both `null` where there is no such key. */
export interface KvEntry {
  /** The stored text. */
  readonly value: string | null;
  /** The stored metadata. */
  readonly metadata: unknown;
}

/** What Scrimp needs of a key-value store. A Cloudflare `KVNamespace` is one as it is. */
export interface Kv {
  /** Reads a value as text; `null` where there is none. One read. */
  get(key: string, options?: KvGetOptions): Promise<string | null>;
  /** Reads a value and its metadata. One read. */
  getWithMetadata(key: string, options?: KvGetOptions): Promise<KvEntry>;
  /** Stores a value; what was there is overwritten, its metadata and expiry included. One write. */
  put(key: string, value: string, options?: KvPutOptions): Promise<void>;
  /** Removes a key, which need not exist. One delete. */
  delete(key: string): Promise<void>;
  /** Lists keys in the order of their UTF-8 bytes. One list. */
  list(options?: KvListOptions): Promise<KvListPage>;
}

/** A store that also reads many keys in one operation. Each key still counts as one read. */
export interface BulkKv extends Kv {
  /** Reads up to 100 values; a `Map` with `null` where there is none. Bare array-index keys vanish. */
  get(key: string, options?: KvGetOptions): Promise<string | null>;
  /** Reads up to 100 values; a `Map` with `null` where there is none. Bare array-index keys vanish. */
  get(keys: string[], options?: KvGetOptions): Promise<Map<string, string | null>>;
}
