import type { KvOperation } from "../budget.ts";
import type { Random } from "../clock.ts";
import { type KvBackend, KvFailure, type KvFound, type KvListing } from "./_backend.ts";
import { checkCacheTtl, checkList, checkPut, isExpired } from "./_checks.ts";
import type { KvOutcome, WorldLedger } from "./_world_ledger.ts";
import type { KvFault, WorldSettings } from "./_world_options.ts";
import type { Version, WorldStore } from "./_world_store.ts";
import { CACHE_TTL_SECONDS_DEFAULT, SAME_KEY_WRITE_INTERVAL_MS } from "./limits.ts";

/** A failure that is going to happen. */
export interface PlannedFault {
  readonly fault: KvFault;
  readonly effect: "before" | "after";
}

/** What all locations of a world share. */
export interface World {
  readonly settings: WorldSettings;
  readonly store: WorldStore;
  readonly ledger: WorldLedger;
  readonly random: Random;
  now(): number;
  plan(operation: KvOperation, location: string, key: string): PlannedFault | undefined;
}

/** A copy of what a key held, a miss included. */
interface Copy {
  readonly version: Version | undefined;
  readonly fetchedMs: number;
  /** How long the copy may serve, in milliseconds. */
  readonly ttlMs: number;
  /** How long it serves beyond that nevertheless. */
  readonly overstayMs: number;
}

/** A cache of copies: a location's own, or one that a region shares. */
export class CopyCache {
  readonly #copies = new Map<string, Copy>();
  #sweepAt = 64;

  /** A copy that is fresh enough for a reader. */
  fresh(key: string, ttlMs: number, nowMs: number): Copy | undefined {
    const copy = this.#copies.get(key);
    if (copy === undefined) return undefined;
    const ageMs = nowMs - copy.fetchedMs;
    return ageMs < Math.min(ttlMs, copy.ttlMs) + copy.overstayMs ? copy : undefined;
  }

  keep(key: string, copy: Copy, nowMs: number): void {
    this.#copies.set(key, copy);
    if (this.#copies.size <= this.#sweepAt) return;
    for (const [name, { fetchedMs, ttlMs, overstayMs }] of this.#copies) {
      if (fetchedMs + ttlMs + overstayMs <= nowMs) this.#copies.delete(name);
    }
    this.#sweepAt = 64 + 2 * this.#copies.size;
  }
}

/** A location: its number, its name and what it has cached. */
export interface Place {
  readonly number: number;
  readonly name: string;
  readonly cache: CopyCache;
  readonly regional: CopyCache;
}

/** What an invocation may still do. */
export interface InvocationLeft {
  operations: number;
  subrequests: number;
}

const QUOTA_NAMES: Readonly<Record<KvOperation, string>> = {
  read: "get",
  write: "put",
  list: "list",
  delete: "delete",
};

/** The store as one location sees it, in one invocation or in any. */
export class LocationBackend implements KvBackend {
  readonly #world: World;
  readonly #place: Place;
  readonly #left: InvocationLeft | undefined;
  /** How many reads were answered with something old. */
  #stale = 0;

  constructor(world: World, place: Place, left: InvocationLeft | undefined) {
    this.#world = world;
    this.#place = place;
    this.#left = left;
  }

  get(key: string, cacheTtl?: number): KvFound | null | Promise<KvFound | null> {
    return this.#run("read", key, 1, () => {
      checkCacheTtl(cacheTtl);
      return this.#read(key, cacheTtl, this.#world.now());
    });
  }

  getBulk(
    keys: readonly string[],
    cacheTtl?: number,
  ): (KvFound | null)[] | Promise<(KvFound | null)[]> {
    return this.#run("read", keys[0] ?? "", keys.length, () => {
      checkCacheTtl(cacheTtl);
      const now = this.#world.now();
      return keys.map((key) => this.#read(key, cacheTtl, now));
    });
  }

  put(
    key: string,
    value: string | Uint8Array<ArrayBuffer>,
    expiration?: number,
    expirationTtl?: number,
    metadata?: string,
  ): void | Promise<void> {
    return this.#run("write", key, 1, () => {
      const now = this.#world.now();
      const { valueBytesMax } = this.#world.settings;
      const expires = checkPut(value, expiration, expirationTtl, metadata, now, valueBytesMax);
      this.#checkRate(key, now);
      this.#write(key, { value, expiration: expires, metadata }, now);
    });
  }

  delete(key: string): void | Promise<void> {
    return this.#run("delete", key, 1, () => {
      const now = this.#world.now();
      if (this.#world.store.head(key) !== undefined) this.#write(key, undefined, now);
    });
  }

  list(prefix: string, limit?: number, cursor?: string): KvListing | Promise<KvListing> {
    return this.#run("list", prefix, 1, () => {
      const count = checkList(prefix, limit);
      const { store } = this.#world;
      return store.list(prefix, count, cursor, this.#place.number, this.#world.now());
    });
  }

  #run<T>(operation: KvOperation, key: string, count: number, effect: () => T): T | Promise<T> {
    this.#admit(operation, key, count);
    const planned = this.#world.plan(operation, this.#place.name, key);
    if (this.#world.settings.sleep !== undefined) {
      return this.#slowly(operation, key, count, planned, effect);
    }
    return this.#act(operation, key, count, planned, effect);
  }

  async #slowly<T>(
    operation: KvOperation,
    key: string,
    count: number,
    planned: PlannedFault | undefined,
    effect: () => T,
  ): Promise<T> {
    const { latency, sleep = () => Promise.resolve() } = this.#world.settings;
    const range = operation === "read"
      ? latency.hot
      : operation === "list"
      ? latency.list
      : latency.write;
    await sleep(this.#chosen(range) / 2);
    try {
      const answer = await this.#act(operation, key, count, planned, effect);
      const cold = operation === "read" && (answer as KvFound | null)?.cacheStatus !== "HIT";
      await sleep(cold ? this.#chosen(latency.cold) : this.#chosen(range) / 2);
      return answer;
    } catch (error) {
      await sleep(this.#chosen(range) / 2);
      throw error;
    }
  }

  #act<T>(
    operation: KvOperation,
    key: string,
    count: number,
    planned: PlannedFault | undefined,
    effect: () => T,
  ): T | Promise<T> {
    if (planned === undefined) {
      try {
        const staleBefore = this.#stale;
        const answer = effect();
        this.#note(operation, key, count, this.#stale > staleBefore ? "stale" : "ok");
        return answer;
      } catch (error) {
        const rate = error instanceof KvFailure && error.status === 429;
        this.#note(operation, key, count, rate ? "rate" : "refused");
        throw error;
      }
    }
    if (planned.effect === "after") effect();
    this.#note(operation, key, count, "fault");
    if (planned.fault === "hang") return new Promise(() => {});
    throw errorOf(planned.fault, operation);
  }

  #admit(operation: KvOperation, key: string, count: number): void {
    const left = this.#left;
    if (left !== undefined && (left.operations < 1 || left.subrequests < 1)) {
      this.#note(operation, key, count, "invocation");
      throw new Error(
        left.operations < 1
          ? "Too many API requests by single Worker invocation. To configure this limit, refer to https://developers.cloudflare.com/workers/wrangler/configuration/#limits"
          : "Too many subrequests by single Worker invocation.",
      );
    }
    if (left !== undefined) {
      left.operations--;
      left.subrequests--;
    }
    if (this.#world.ledger.spend(operation, count, this.#world.now()) === "granted") return;
    this.#note(operation, key, count, "quota");
    throw errorOf("quota", operation);
  }

  #read(key: string, cacheTtl: number | undefined, now: number): KvFound | null {
    const { store, settings } = this.#world;
    if (settings.staleness === 0) return liveOf(store.head(key), now, undefined);
    const ttlMs = (cacheTtl ?? CACHE_TTL_SECONDS_DEFAULT) * 1000 * settings.staleness;
    const { cache, regional, number } = this.#place;
    let copy = cache.fresh(key, ttlMs, now);
    const status = copy === undefined && regional.fresh(key, ttlMs, now) === undefined
      ? "MISS"
      : "HIT";
    if (copy === undefined) {
      copy = regional.fresh(key, ttlMs, now) ??
        this.#copyOf(store.read(key, number, now), ttlMs, now);
      if (status === "MISS") regional.keep(key, copy, now);
      cache.keep(key, copy, now);
    }
    const head = store.head(key);
    if (copy.version !== head && !bothGone(copy.version, head, now)) this.#stale++;
    return liveOf(copy.version, now, status);
  }

  #copyOf(version: Version | undefined, ttlMs: number, now: number): Copy {
    const { overstayRate, overstayMsMax } = this.#world.settings;
    const overstays = overstayMsMax > 0 && this.#world.random() < overstayRate;
    const overstayMs = overstays ? this.#world.random() * overstayMsMax : 0;
    return { version, fetchedMs: now, ttlMs, overstayMs };
  }

  #write(key: string, found: KvFound | undefined, now: number): void {
    const { store, settings, random } = this.#world;
    const version = store.write(key, found, this.#place.number, now);
    if (settings.staleness === 0 || random() >= settings.ownWriteRate) return;
    const ttlMs = CACHE_TTL_SECONDS_DEFAULT * 1000 * settings.staleness;
    this.#place.cache.keep(key, { version, fetchedMs: now, ttlMs, overstayMs: 0 }, now);
  }

  #checkRate(key: string, now: number): void {
    const { sameKeyWrites } = this.#world.settings;
    if (sameKeyWrites === "overwrite") return;
    const head = this.#world.store.head(key);
    if (head === undefined || now - head.writtenMs >= SAME_KEY_WRITE_INTERVAL_MS) return;
    if (sameKeyWrites === "throw" || this.#world.random() < 0.5) throw errorOf("429", "write");
  }

  #chosen([least, most]: readonly [number, number]): number {
    return least + (most - least) * this.#world.random();
  }

  #note(operation: KvOperation, key: string, count: number, outcome: KvOutcome): void {
    const { ledger } = this.#world;
    ledger.note(this.#place.name, operation, key, count, outcome, this.#world.now());
  }
}

function liveOf(
  version: Version | undefined,
  now: number,
  cacheStatus: string | undefined,
): KvFound | null {
  const found = version?.found;
  if (found === undefined || isExpired(found, now)) return null;
  return cacheStatus === undefined ? found : { ...found, cacheStatus };
}

function bothGone(a: Version | undefined, b: Version | undefined, now: number): boolean {
  return liveOf(a, now, undefined) === null && liveOf(b, now, undefined) === null;
}

function errorOf(fault: KvFault, operation: KvOperation): Error {
  if (fault === "500") return new KvFailure(500, "Internal Server Error");
  if (fault === "503") return new KvFailure(503, "Service Temporarily Unavailable");
  if (fault === "429") return new KvFailure(429, "Too Many Requests");
  if (fault === "quota") {
    return new Error(`KV ${QUOTA_NAMES[operation]}() limit exceeded for the day.`);
  }
  return new Error("Network connection lost.");
}
