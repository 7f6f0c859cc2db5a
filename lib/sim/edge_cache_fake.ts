import type { Clock, Random } from "../clock.ts";
import type { EdgeCache } from "../views/edge_cache.ts";

/** Options of an {@linkcode EdgeCacheFake}. */
export interface EdgeCacheFakeOptions {
  /** Virtual time; also waited for when there is a latency. */
  readonly clock: Clock;
  /** Seeded chance. */
  readonly random: Random;
  /**
   * Most entries; the one used longest ago makes room.
   *
   * @default {1000}
   */
  readonly entriesMax?: number;
  /**
   * The chance that an entry turns out to be gone when it is read. The real cache keeps nothing for
   * certain.
   *
   * @default {0.001}
   */
  readonly evictionRate?: number;
  /**
   * The chance that a call rejects. The real cache hardly ever does.
   *
   * @default {0}
   */
  readonly failureRate?: number;
  /**
   * How long a call takes, in milliseconds of virtual time. 0 answers without waiting.
   *
   * @default {0}
   */
  readonly latencyMs?: number;
}

/**
 * One data center's cache, as the Cache API gives it to a Worker: shared by the isolates of one
 * location, not replicated, and free to forget.
 *
 * Sources: https://developers.cloudflare.com/workers/runtime-apis/cache/ (contents stay in one data
 * center; `put` resolves even when nothing was stored). How often entries go is not documented; the
 * rate is a guess to be varied. Several machines of one data center, each with a copy of its own, are
 * not modelled.
 */
export class EdgeCacheFake implements EdgeCache {
  /** How many calls there were. */
  readonly operations: { get: number; set: number } = { get: 0, set: 0 };
  readonly #entries = new Map<string, { readonly value: string; readonly expiresMs: number }>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #entriesMax: number;
  readonly #evictionRate: number;
  readonly #failureRate: number;
  readonly #latencyMs: number;

  /**
   * Makes an empty cache.
   *
   * @throws {RangeError} If an option is out of range.
   */
  constructor(options: EdgeCacheFakeOptions) {
    const {
      clock,
      random,
      entriesMax = 1000,
      evictionRate = 0.001,
      failureRate = 0,
      latencyMs = 0,
    } = options;
    for (const [name, rate] of [["evictionRate", evictionRate], ["failureRate", failureRate]]) {
      if (!(Number(rate) >= 0 && Number(rate) <= 1)) {
        throw new RangeError(`Option "${name}" must be from 0 to 1: got ${rate}`);
      }
    }
    if (!(entriesMax >= 1)) {
      throw new RangeError(`Option "entriesMax" must be at least 1: got ${entriesMax}`);
    }
    this.#clock = clock;
    this.#random = random;
    this.#entriesMax = entriesMax;
    this.#evictionRate = evictionRate;
    this.#failureRate = failureRate;
    this.#latencyMs = latencyMs;
  }

  /** How many entries there are, expired ones included. */
  get size(): number {
    return this.#entries.size;
  }

  /** The text kept under a key, if it is still there. */
  async get(key: string): Promise<string | undefined> {
    this.operations.get++;
    await this.#pass();
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.expiresMs <= this.#clock.now() || this.#hits(this.#evictionRate)) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a text for at most `ttlSeconds`. */
  async set(key: string, value: string, ttlSeconds: number): Promise<void> {
    this.operations.set++;
    await this.#pass();
    this.#entries.delete(key);
    if (!(ttlSeconds > 0)) return;
    this.#entries.set(key, { value, expiresMs: this.#clock.now() + ttlSeconds * 1000 });
    if (this.#entries.size <= this.#entriesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  /** Forgets one entry, or all. */
  evict(key?: string): void {
    if (key === undefined) this.#entries.clear();
    else this.#entries.delete(key);
  }

  async #pass(): Promise<void> {
    if (this.#latencyMs > 0) await this.#clock.sleep(this.#latencyMs);
    if (this.#hits(this.#failureRate)) throw new Error("Cache API failed: internal error");
  }

  #hits(rate: number): boolean {
    return rate > 0 && this.#random() < rate;
  }
}
