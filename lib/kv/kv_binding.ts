/**
 * The client half of a KV binding: what the runtime does with arguments and answers before and after
 * a store is asked. {@linkcode MemoryKv} and the locations of a {@linkcode KvWorld} are bindings over
 * different stores, so both behave as the real binding does, error text for error text.
 *
 * @module
 */

import {
  keyArgument,
  type KvReadOptions,
  listOptions,
  putArguments,
  readArguments,
  type ReadSettings,
} from "./_binding_arguments.ts";
import {
  bulkKeys,
  checkName,
  decodeBulk,
  decodeValue,
  encodeMetadata,
  encodeValue,
  nameOf,
  translate,
} from "./_binding_values.ts";
import type { KvBackend, KvFound } from "./_backend.ts";
import type { BulkKv, KvGetOptions, KvListOptions, KvListPage, KvPutOptions } from "./kv.ts";

export { type KvBackend, KvFailure, type KvFound, type KvListing } from "./_backend.ts";
export type { KvReadOptions, KvReadType } from "./_binding_arguments.ts";

/** A value of any type and its metadata; all `null` where there is no such key. */
export interface KvTypedEntry<T> {
  /** The stored value, as the type that was asked for. */
  readonly value: T | null;
  /** The stored metadata. */
  readonly metadata: unknown;
  /** Where the answer came from: `"HIT"`, `"MISS"`, or `null` when the store does not say. */
  readonly cacheStatus: string | null;
}

/** A page of a listing, with where it came from. */
export type KvCachedPage = KvListPage & {
  /** `"HIT"`, `"MISS"`, or `null` when the store does not say. */
  readonly cacheStatus: string | null;
};

/** A bulk read's entry: `null` where there is no such key. */
export interface KvBulkEntry<T> {
  /** The stored value. */
  readonly value: T;
  /** The stored metadata. */
  readonly metadata: unknown;
}

/** What `put` takes as a value. Other primitives are stringified, objects refused. */
export type KvPutValue = string | ArrayBuffer | ArrayBufferView | ReadableStream;

/**
 * A KV binding over a store of one's own. Arguments are checked, coerced and copied when a method is
 * called, as the runtime does; errors carry the runtime's class and text.
 *
 * One quirk is kept on purpose: {@linkcode KvBinding.getWithMetadata} throws at once, instead of
 * rejecting, when a single key is invalid.
 *
 * @example A binding over a store that has nothing
 * ```ts
 * import { type KvBackend, KvBinding } from "@scrimp/kv/memory-kv";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const nothing: KvBackend = {
 *   get: () => null,
 *   getBulk: (keys) => keys.map(() => null),
 *   put() {},
 *   delete() {},
 *   list: () => ({ keys: [], complete: true }),
 * };
 * const kv = new KvBinding(nothing);
 * assertEquals(await kv.get("a"), null);
 * await assertRejects(() => kv.get(""), TypeError, "Key name cannot be empty.");
 * ```
 */
export class KvBinding implements BulkKv {
  readonly #backend: KvBackend;

  /** Makes a binding over a store. */
  constructor(backend: KvBackend) {
    this.#backend = backend;
  }

  /** The store behind the binding, for serving it over another protocol. */
  get backend(): KvBackend {
    return this.#backend;
  }

  /**
   * Reads a value; `null` where there is none, whatever the type. One read.
   *
   * @param key The key, coerced to a string.
   * @param options `cacheTtl` in whole seconds, at least 30, and the type, `"text"` by default.
   */
  get(key: string, options?: KvGetOptions & { readonly type?: "text" }): Promise<string | null>;
  /** Reads a value as text. One read. */
  get(key: string, type: "text"): Promise<string | null>;
  /** Reads a value and parses it as JSON. One read. */
  get<T = unknown>(key: string, options: "json" | KvReadOptions<"json">): Promise<T | null>;
  /** Reads a value's bytes. One read. */
  get(
    key: string,
    options: "arrayBuffer" | KvReadOptions<"arrayBuffer">,
  ): Promise<ArrayBuffer | null>;
  /** Reads a value as a stream of bytes. One read. */
  get(key: string, options: "stream" | KvReadOptions<"stream">): Promise<ReadableStream | null>;
  /** Reads up to 100 values as text. As many reads as keys; array-index keys vanish. */
  get(
    keys: string[],
    options?: "text" | (KvGetOptions & { readonly type?: "text" }),
  ): Promise<Map<string, string | null>>;
  /** Reads up to 100 values as JSON. As many reads as keys; array-index keys vanish. */
  get<T = unknown>(
    keys: string[],
    options: "json" | KvReadOptions<"json">,
  ): Promise<Map<string, T | null>>;
  get(...args: [key: string | string[], options?: unknown]): Promise<unknown> {
    KvBinding.#own(this);
    const { name, many, options } = readArguments("get", args);
    return many === undefined ? this.#get(name, options) : this.#bulk(many, options, "values");
  }

  /**
   * Reads a value and its metadata. One read.
   *
   * @param key The key. An invalid one makes this throw at once, instead of rejecting.
   * @param options As for {@linkcode KvBinding.get}.
   */
  getWithMetadata(
    key: string,
    options?: KvGetOptions & { readonly type?: "text" },
  ): Promise<KvTypedEntry<string>>;
  /** Reads a value as text, and its metadata. One read. */
  getWithMetadata(key: string, type: "text"): Promise<KvTypedEntry<string>>;
  /** Reads a value as JSON, and its metadata. One read. */
  getWithMetadata<T = unknown>(
    key: string,
    options: "json" | KvReadOptions<"json">,
  ): Promise<KvTypedEntry<T>>;
  /** Reads a value's bytes, and its metadata. One read. */
  getWithMetadata(
    key: string,
    options: "arrayBuffer" | KvReadOptions<"arrayBuffer">,
  ): Promise<KvTypedEntry<ArrayBuffer>>;
  /** Reads a value as a stream, and its metadata. One read. */
  getWithMetadata(
    key: string,
    options: "stream" | KvReadOptions<"stream">,
  ): Promise<KvTypedEntry<ReadableStream>>;
  /** Reads up to 100 values and their metadata. As many reads as keys. */
  getWithMetadata(
    keys: string[],
    options?: "text" | (KvGetOptions & { readonly type?: "text" }),
  ): Promise<Map<string, KvBulkEntry<string> | null>>;
  /** Reads up to 100 values as JSON, and their metadata. As many reads as keys. */
  getWithMetadata<T = unknown>(
    keys: string[],
    options: "json" | KvReadOptions<"json">,
  ): Promise<Map<string, KvBulkEntry<T> | null>>;
  getWithMetadata(...args: [key: string | string[], options?: unknown]): Promise<unknown> {
    KvBinding.#own(this);
    const { name, many, options } = readArguments("getWithMetadata", args);
    if (many !== undefined) return this.#bulk(many, options, "entries");
    return this.#entry(nameOf(name, "GET"), options);
  }

  /**
   * Stores a value; what was there is overwritten, its metadata and expiry included. One write.
   *
   * @param key The key.
   * @param value Text, bytes (copied at once) or a stream of bytes.
   * @param options Lifetime or expiry in whole seconds, at least 60 away, and metadata.
   */
  put(key: string, value: KvPutValue, options?: KvPutOptions): Promise<void>;
  put(...args: [key: string, value: KvPutValue, options?: KvPutOptions]): Promise<void> {
    KvBinding.#own(this);
    return this.#put(args);
  }

  /** Removes a key, which need not exist. One delete. */
  delete(key: string): Promise<void>;
  delete(...args: [key: string]): Promise<void> {
    KvBinding.#own(this);
    return this.#delete(args);
  }

  /**
   * Lists keys in the order of their UTF-8 bytes. One list. A page may be empty and not be the last;
   * the last has no `cursor` property.
   */
  list(options?: KvListOptions): Promise<KvCachedPage> {
    KvBinding.#own(this);
    return this.#list(options);
  }

  /** Refuses a method that was taken off its object, as the runtime does. */
  static #own(binding: unknown): void {
    if (typeof binding === "object" && binding !== null && #backend in binding) return;
    throw new TypeError(
      "Illegal invocation: function called with incorrect `this` reference. See https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details.",
    );
  }

  async #put(args: readonly unknown[]): Promise<void> {
    const { key, value, options } = putArguments(args);
    const name = nameOf(key, "PUT");
    const { expiration, expirationTtl, metadata } = options;
    const json = encodeMetadata(metadata);
    const encoded = encodeValue(value);
    try {
      const bytes = encoded instanceof Promise ? await encoded : encoded;
      checkName(name);
      await this.#backend.put(name, bytes, expiration, expirationTtl, json);
    } catch (error) {
      throw translate(error, "PUT");
    }
  }

  async #delete(args: readonly unknown[]): Promise<void> {
    const name = nameOf(keyArgument("delete", args), "DELETE");
    try {
      checkName(name);
      await this.#backend.delete(name);
    } catch (error) {
      throw translate(error, "DELETE");
    }
  }

  async #list(options: unknown): Promise<KvCachedPage> {
    const { prefix, limit, cursor } = listOptions(options);
    let listing;
    try {
      listing = this.#backend.list(prefix, limit, cursor);
      if (listing instanceof Promise) listing = await listing;
    } catch (error) {
      throw translate(error, "GET");
    }
    const keys = listing.keys.map(({ name, expiration, metadata }) => ({
      name,
      ...(expiration === undefined ? {} : { expiration }),
      ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) }),
    }));
    const cacheStatus = listing.cacheStatus ?? null;
    // deno-lint-ignore camelcase
    const list_complete = listing.complete;
    return list_complete
      ? { keys, list_complete, cacheStatus }
      : { keys, list_complete, cursor: listing.cursor ?? "", cacheStatus };
  }

  async #get(key: string, { type, cacheTtl }: ReadSettings): Promise<unknown> {
    const found = await this.#find(nameOf(key, "GET"), cacheTtl);
    return found === null ? null : decodeValue(found.value, type);
  }

  async #entry(
    name: string,
    { type, cacheTtl }: ReadSettings,
  ): Promise<KvTypedEntry<unknown>> {
    const found = await this.#find(name, cacheTtl);
    const cacheStatus = found?.cacheStatus ?? null;
    if (found === null) return { value: null, metadata: null, cacheStatus };
    const metadata = found.metadata === undefined ? null : JSON.parse(found.metadata);
    return { value: decodeValue(found.value, type), metadata, cacheStatus };
  }

  async #find(name: string, cacheTtl: number | undefined): Promise<KvFound | null> {
    try {
      checkName(name);
      return await this.#backend.get(name, cacheTtl);
    } catch (error) {
      throw translate(error, "GET");
    }
  }

  async #bulk(
    keys: readonly string[],
    { type: asked, cacheTtl }: ReadSettings,
    shape: "values" | "entries",
  ): Promise<Map<string, unknown>> {
    const type = asked === "" ? "text" : asked;
    const { names, failure } = bulkKeys(keys, type);
    try {
      if (failure) throw failure;
      const found = await this.#backend.getBulk(names, cacheTtl);
      return decodeBulk(names, found, type, shape);
    } catch (error) {
      throw translate(error, "GET_BULK");
    }
  }
}
