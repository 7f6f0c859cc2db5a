import { hashChance } from "../sim/random.ts";
import type { KvFound, KvListing } from "./_backend.ts";
import { isExpired } from "./_checks.ts";
import { decodeCursor, encodeCursor } from "./_cursor.ts";
import { compareNames, lowerBound, SortedNames } from "./_sorted_names.ts";
import type { WorldSettings } from "./_world_options.ts";

/** What one write, or delete, left under a key. */
export interface Version {
  readonly id: number;
  readonly writtenMs: number;
  /** The number of the location that wrote it. */
  readonly writer: number;
  /** `undefined` for a delete. */
  readonly found: KvFound | undefined;
  /** What was there before, as long as some location may still see it. */
  previous: Version | undefined;
  /** How many versions there are from here on, at most, and from how many on it pays to prune. */
  depth: number;
  pruneAt: number;
}

const PROPAGATION = 0x51ed270b;
const LISTING = 0x2545f491;
const SPARE_TOMBSTONES = 256;
const PRUNE_FROM = 8;

/** The central store: the versions of every key, and which of them a location sees. */
export class WorldStore {
  readonly #settings: WorldSettings;
  readonly #heads = new Map<string, Version>();
  readonly #names = new SortedNames();
  readonly #lagMs: number;
  readonly #keepMs: number;
  #versions = 0;
  #sweepAt = 64;

  constructor(settings: WorldSettings) {
    this.#settings = settings;
    this.#lagMs = Math.max(settings.propagationMsMax, settings.listLagMsMax);
    this.#keepMs = Math.max(this.#lagMs, settings.tombstoneMs);
  }

  /** How many keys are held, tombstones included. */
  get size(): number {
    return this.#heads.size;
  }

  /** The newest version of a key. */
  head(key: string): Version | undefined {
    return this.#heads.get(key);
  }

  /** What is there, whoever may see it: keys with a prefix, in no particular order. */
  *live(prefix: string, nowMs: number): Iterable<[key: string, found: KvFound]> {
    for (const [key, { found }] of this.#heads) {
      if (found !== undefined && key.startsWith(prefix) && !isExpired(found, nowMs)) {
        yield [key, found];
      }
    }
  }

  /** Puts a version on top. */
  write(key: string, found: KvFound | undefined, writer: number, nowMs: number): Version {
    let previous = this.#heads.get(key);
    if (previous === undefined) this.#names.add(key);
    else if (this.#lagMs === 0) previous = undefined;
    else if (previous.depth >= previous.pruneAt) this.#prune(previous, nowMs);
    const { depth = 0, pruneAt = PRUNE_FROM } = previous ?? {};
    const id = this.#versions++;
    const version = { id, writtenMs: nowMs, writer, found, previous, depth: depth + 1, pruneAt };
    this.#heads.set(key, version);
    if (this.#heads.size > this.#sweepAt) this.#sweep(nowMs);
    return version;
  }

  /** The version that a location reads through to. */
  read(key: string, reader: number, nowMs: number): Version | undefined {
    const head = this.#heads.get(key);
    if (head === undefined || this.#lagMs === 0) return head;
    let version: Version | undefined = head;
    while (version !== undefined && this.#readableMs(version, reader) > nowMs) {
      version = version.previous;
    }
    return version;
  }

  /** Lists what a location sees. Deleted keys take up room in a page for a while. */
  list(
    prefix: string,
    count: number,
    cursor: string | undefined,
    reader: number,
    nowMs: number,
  ): KvListing {
    const after = cursor ? decodeCursor(cursor) : undefined;
    const names = this.#names.all((name) => this.#heads.has(name));
    let at = lowerBound(names, prefix);
    if (after !== undefined && compareNames(after, prefix) >= 0) {
      at = lowerBound(names, after);
      if (names[at] === after) at++;
    }
    const keys = [];
    let last = "";
    for (let walked = 0; walked < count && names[at]?.startsWith(prefix); at++) {
      const name = names[at] ?? "";
      const version = this.#listed(name, reader, nowMs);
      if (version === undefined) continue;
      last = name;
      walked++;
      const { found } = version;
      if (found === undefined || isExpired(found, nowMs)) continue;
      keys.push({ name, expiration: found.expiration, metadata: found.metadata });
    }
    const complete = !this.#more(names, at, prefix, reader, nowMs);
    return complete ? { keys, complete } : { keys, complete, cursor: encodeCursor(last) };
  }

  #more(
    names: readonly string[],
    from: number,
    prefix: string,
    reader: number,
    nowMs: number,
  ): boolean {
    for (let at = from; names[at]?.startsWith(prefix); at++) {
      if (this.#listed(names[at] ?? "", reader, nowMs) !== undefined) return true;
    }
    return false;
  }

  /** The version that a listing shows or walks; `undefined` when it knows nothing of the key. */
  #listed(name: string, reader: number, nowMs: number): Version | undefined {
    let version = this.#heads.get(name);
    while (version !== undefined && this.#listedMs(version, reader) > nowMs) {
      version = version.previous;
    }
    if (version === undefined) return undefined;
    const goneMs = version.found === undefined
      ? version.writtenMs
      : (version.found.expiration ?? Infinity) * 1000;
    return goneMs + this.#settings.tombstoneMs <= nowMs ? undefined : version;
  }

  #readableMs(version: Version, reader: number): number {
    if (version.writer === reader) return version.writtenMs;
    const chance = hashChance(version.id ^ this.#settings.seed ^ PROPAGATION, reader);
    // Most writes get there fast: half of them within a sixteenth of the longest time.
    return version.writtenMs + this.#settings.propagationMsMax * chance ** 4;
  }

  #listedMs(version: Version, reader: number): number {
    const chance = hashChance(version.id ^ this.#settings.seed ^ LISTING, reader);
    const { ownWriteRate, listLagMsMax } = this.#settings;
    if (version.writer === reader && chance < ownWriteRate) return version.writtenMs;
    return version.writtenMs + listLagMsMax * chance;
  }

  /** Forgets versions that no location can see any more. */
  #prune(head: Version, nowMs: number): void {
    let depth = 0;
    for (let version: Version | undefined = head; version; version = version.previous) {
      depth++;
      if (version.writtenMs + this.#lagMs > nowMs) continue;
      version.previous = undefined;
    }
    head.depth = depth;
    head.pruneAt = PRUNE_FROM + 2 * depth;
  }

  /** Drops tombstones that are old, and the oldest when they outnumber the live keys. */
  #sweep(nowMs: number): void {
    const tombstones: string[] = [];
    for (const [key, head] of this.#heads) {
      this.#prune(head, nowMs);
      const goneMs = head.found === undefined
        ? head.writtenMs
        : (head.found.expiration ?? Infinity) * 1000;
      if (goneMs + this.#keepMs <= nowMs) this.#remove(key);
      else if (goneMs + this.#lagMs <= nowMs) tombstones.push(key);
    }
    const spare = this.#heads.size - tombstones.length + SPARE_TOMBSTONES;
    const surplus = Math.max(tombstones.length - spare, 0);
    for (const key of tombstones.slice(0, surplus)) this.#remove(key);
    this.#sweepAt = 64 + 2 * this.#heads.size;
  }

  #remove(key: string): void {
    if (this.#heads.delete(key)) this.#names.removed();
  }
}
