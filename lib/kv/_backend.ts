/** What a store behind a binding found under a key. */
export interface KvFound {
  /** The value: well-formed text, or bytes that nobody else holds. */
  readonly value: string | Uint8Array<ArrayBuffer>;
  /** The metadata's JSON, where there is some. */
  readonly metadata?: string | undefined;
  /** Absolute expiry in seconds since the Unix epoch, where one was set. */
  readonly expiration?: number | undefined;
  /** Where it came from: `"HIT"` or `"MISS"`, where the store says. */
  readonly cacheStatus?: string | undefined;
}

/** A page of a store's keys. */
export interface KvListing {
  /** The keys, in the order of their UTF-8 bytes. */
  readonly keys: readonly {
    readonly name: string;
    readonly expiration?: number | undefined;
    readonly metadata?: string | undefined;
  }[];
  /** Whether this is the last page. */
  readonly complete: boolean;
  /** Where the next page begins, unless this is the last. */
  readonly cursor?: string | undefined;
  /** Where it came from, where the store says. */
  readonly cacheStatus?: string | undefined;
}

/**
 * A store behind a {@linkcode KvBinding}. Keys come checked, options as 32-bit integers, each
 * `undefined` when it was not given. A {@linkcode KvFailure} that it throws becomes the binding's
 * `KV … failed: …` error; anything else is passed on as it is.
 */
export interface KvBackend {
  /** Reads one key. */
  get(key: string, cacheTtl?: number): KvFound | null | Promise<KvFound | null>;
  /** Reads several keys, answered in their order. */
  getBulk(
    keys: readonly string[],
    cacheTtl?: number,
  ): (KvFound | null)[] | Promise<(KvFound | null)[]>;
  /** Stores a value, with its expiry or lifetime in seconds and the metadata's JSON. */
  put(
    key: string,
    value: string | Uint8Array<ArrayBuffer>,
    expiration?: number,
    expirationTtl?: number,
    metadata?: string,
  ): void | Promise<void>;
  /** Removes a key. */
  delete(key: string): void | Promise<void>;
  /** Lists keys. */
  list(prefix: string, limit?: number, cursor?: string): KvListing | Promise<KvListing>;
}

/** An answer of the store other than success: an HTTP status and its text. */
export class KvFailure extends Error {
  /** The error's name. */
  override readonly name = "KvFailure";
  /** The HTTP status, for example 429. */
  readonly status: number;
  /** The text after the status. */
  readonly statusText: string;

  /** Makes an answer of a status and its text. */
  constructor(status: number, statusText: string) {
    super(`${status} ${statusText}`);
    this.status = status;
    this.statusText = statusText;
  }
}
