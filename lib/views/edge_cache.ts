/**
 * The second tier: what one data center remembers between isolates.
 *
 * @module
 */

/** One data center's cache. Best effort: anything may be gone, or old, at any time. */
export interface EdgeCache {
  /** The text kept under a key, if it is still there. */
  get(key: string): Promise<string | undefined>;
  /** Keeps a text for at most `ttlSeconds`. */
  set(key: string, value: string, ttlSeconds: number): Promise<void>;
}

/** What {@linkcode WorkersEdgeCache} needs of the Cache API. */
export interface CacheLike {
  /** The kept response, if it is still there. */
  match(url: string): Promise<Response | undefined>;
  /** Keeps a response. */
  put(url: string, response: Response): Promise<void>;
}

/**
 * The Cache API as an {@linkcode EdgeCache}. No KV operation.
 *
 * Where the Cache API does nothing, as in some previews, each text is simply gone at once.
 */
export class WorkersEdgeCache implements EdgeCache {
  readonly #cache: CacheLike;
  readonly #origin: string;

  /**
   * @param cache `caches.default`.
   * @param host The host that the Worker serves; the texts are kept under addresses of its own.
   */
  constructor(cache: CacheLike, host: string) {
    this.#cache = cache;
    this.#origin = `https://${host}/.scrimp/`;
  }

  /** The text kept under a key, if it is still there. */
  async get(key: string): Promise<string | undefined> {
    const response = await this.#cache.match(this.#origin + encodeURIComponent(key));
    return await response?.text();
  }

  /** Keeps a text for at most `ttlSeconds`. */
  async set(key: string, value: string, ttlSeconds: number): Promise<void> {
    const headers = { "cache-control": `public, max-age=${ttlSeconds}` };
    await this.#cache.put(
      this.#origin + encodeURIComponent(key),
      new Response(value, { headers }),
    );
  }
}

/**
 * This data center's cache, where the runtime has one.
 *
 * @param host The host that the Worker serves.
 * @returns The cache, or `null` where there is none.
 */
export function defaultEdgeCache(host: string): EdgeCache | null {
  const { caches } = globalThis as { caches?: { default?: CacheLike } };
  return caches?.default ? new WorkersEdgeCache(caches.default, host) : null;
}
