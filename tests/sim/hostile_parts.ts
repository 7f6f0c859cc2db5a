/**
 * KV and a data center's cache as a hostile world has them: they fail until they are calmed, and tell
 * of anything private that they are given.
 *
 * @module
 */

import type { Random } from "../../lib/clock.ts";
import type { BulkKv } from "../../lib/kv/kv.ts";
import type { KvOperation, KvWorld } from "../../lib/kv/kv_world.ts";
import { EdgeCacheFake, type Simulation } from "../../lib/sim/mod.ts";
import { decodeDay } from "../../lib/views/day_codec.ts";
import { type DayState, sumShard } from "../../lib/views/day_state.ts";
import type { EdgeCache } from "../../lib/views/edge_cache.ts";
import type { HostileOptions } from "./hostile_options.ts";

/** In every header and query of a request, but in nothing that may be kept. */
export const PRIVATE = /secret|mozilla|203\.0\.113/i;

/** A write: when it took place, in milliseconds, and what for. */
export interface WriteNote {
  readonly at: number;
  readonly key: string;
}

/** A location's KV. Signups pass unharmed. */
export class HostileKv {
  /** What an isolate gets. */
  readonly kv: BulkKv;
  /** What was private and was to be stored. */
  readonly leaks: string[] = [];
  /** Writes for page views that took place, whatever was answered. */
  readonly writes: WriteNote[] = [];
  readonly #world: KvWorld;
  /** The data center, or `cron`. */
  readonly location: string;
  readonly #options: HostileOptions;
  readonly #random: Random;
  readonly #now: () => number;
  /** The most views that were ever stored under each key. */
  readonly #peaks = new Map<string, number>();
  #state: "hostile" | "calm" = "hostile";

  /** Makes the KV of a location. */
  constructor(
    world: KvWorld,
    location: string,
    options: HostileOptions,
    { random, now }: { readonly random: Random; readonly now: () => number },
  ) {
    this.#now = now;
    this.#world = world;
    this.location = location;
    this.#options = options;
    this.#random = random;
    const kv = world.location(location);
    const get = (key: string | string[], how?: object) => {
      this.#harm("read", String(key));
      return kv.get(key as string, how) as Promise<unknown>;
    };
    this.kv = {
      get: get as BulkKv["get"],
      getWithMetadata: (key, how) => {
        this.#harm("read", key);
        return kv.getWithMetadata(key, how);
      },
      put: (key, value, how) => {
        const text = JSON.stringify([key, value, how]);
        if (!key.startsWith("waitlist:") && PRIVATE.test(text)) this.leaks.push(text);
        const late = this.#harm("write", key);
        return kv.put(key, value, how).then(
          () => this.#watch(key, value),
          (error) => {
            if (late) this.#watch(key, value);
            throw error;
          },
        );
      },
      delete: (key) => kv.delete(key),
      list: (how) => {
        this.#harm("list", how?.prefix ?? "");
        return kv.list(how);
      },
    };
  }

  /** No more failures. */
  calm(): void {
    this.#state = "calm";
  }

  /**
   * Views of a day that were in KV and were overwritten by fewer: an isolate that a failing cache kept
   * in the dark wrote what it remembered.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns Views.
   */
  overwritten(day: string): number {
    let views = 0;
    for (const [key, peak] of this.#peaks) {
      if (key.startsWith(`views:${day}:`)) views += Math.max(0, peak - this.#total(key));
    }
    return views;
  }

  #total(key: string): number {
    const text = this.#world.central(key).get(key);
    return Number(JSON.parse(text ?? "{}").total ?? 0);
  }

  #watch(key: string, value: unknown): void {
    if (!key.startsWith("waitlist:")) this.writes.push({ at: this.#now(), key });
    if (!key.startsWith("views:")) return;
    const { total } = JSON.parse(String(value));
    this.#peaks.set(key, Math.max(this.#peaks.get(key) ?? 0, total));
  }

  /** Makes an operation fail, perhaps; tells whether it takes place all the same. */
  #harm(operation: KvOperation, key: string): boolean {
    const { faultRate, faults } = this.#options;
    if (this.#state === "calm" || faults.length === 0 || key.startsWith("waitlist:")) return false;
    if (this.#random() >= faultRate) return false;
    const fault = faults[Math.floor(this.#random() * faults.length)] ?? "500";
    const effect = this.#random() < 0.5 ? "before" : "after";
    const prefix = key.split(":")[0] ?? "";
    this.#world.fail({ fault, operation, location: this.location, effect, prefix });
    return effect === "after" && fault !== "429" && fault !== "quota";
  }
}

/** A data center's cache. */
export class HostileCache {
  /** What an isolate gets. */
  readonly cache: EdgeCache;
  /** What was private and was to be kept. */
  readonly leaks: string[] = [];
  readonly #fake: EdgeCacheFake;
  #kind: HostileOptions["cache"];

  /** Makes an empty cache. */
  constructor(sim: Simulation, kind: HostileOptions["cache"], random: Random) {
    this.#kind = kind;
    const { clock } = sim;
    const fake = this.#fake = new EdgeCacheFake({ clock, random, evictionRate: 0 });
    const pass = async () => {
      if (this.#kind === "slow") await clock.sleep(Math.floor(random() * 3_000));
      if (this.#kind === "failing" && random() < 0.4) throw new Error("Cache API failed");
    };
    this.cache = {
      get: async (key) => {
        await pass();
        if (this.#kind === "forgetful" && random() < 0.3) fake.evict(key);
        return await fake.get(key);
      },
      set: async (key, value, ttlSeconds) => {
        if (PRIVATE.test(key + value)) this.leaks.push(value);
        await pass();
        await fake.set(key, value, ttlSeconds);
      },
    };
  }

  /** No more failures. */
  calm(): void {
    if (this.#kind !== "none") this.#kind = "sound";
  }

  /**
   * Adds the views of a day that are in the cache, by page. For calm times.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @param pages Where to add them.
   */
  async count(day: string, pages: Map<string, number>): Promise<void> {
    let state: DayState | undefined;
    for (const key of [`views:${day}`, `views:${day}:copy`]) {
      // The second copy is for when the first is gone.
      state ??= decodeDay(await this.#fake.get(key), day);
    }
    for (const shard of state?.shards.values() ?? []) {
      for (const [page, count] of sumShard(shard).tally.paths) {
        pages.set(page, (pages.get(page) ?? 0) + count);
      }
    }
  }
}
