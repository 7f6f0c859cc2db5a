import type { KvOperation } from "../budget.ts";
import { Trace } from "../sim/trace.ts";
import { DAY_MS } from "./limits.ts";
import type { KvFault, KvQuotas } from "./_world_options.ts";

/** How an operation ended: `ok`, `stale` (an old answer), or what it was refused with. */
export type KvOutcome = "ok" | "stale" | "refused" | "rate" | "quota" | "invocation" | "fault";

/** One operation of a `KvWorld`'s log. */
export interface KvLogEntry {
  /** When, in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  /** The location that did it. */
  readonly location: string;
  /** The kind of operation. */
  readonly operation: KvOperation;
  /** The key; the prefix of a listing; the first key of a bulk read. */
  readonly key: string;
  /** How it ended. */
  readonly outcome: KvOutcome;
}

/** Operations by kind, and how many of them ended badly. */
export interface KvWorldCounts {
  /** Keys read. */
  read: number;
  /** Keys written. */
  write: number;
  /** Listings. */
  list: number;
  /** Keys deleted. */
  delete: number;
  /** Reads that were answered with something old, a miss included. */
  stale: number;
  /** Operations that were refused or failed. */
  failed: number;
}

/** Which operations a cue makes fail, and how. */
export interface KvCue {
  /** The failure. */
  readonly fault: KvFault;
  /**
   * Only operations of this kind.
   *
   * @default {all}
   */
  readonly operation?: KvOperation;
  /**
   * Only this location.
   *
   * @default {all}
   */
  readonly location?: string;
  /**
   * Only keys that start with this.
   *
   * @default {all}
   */
  readonly prefix?: string;
  /**
   * How many matching operations fail; `Infinity` for an outage that lasts until it is canceled.
   *
   * @default {1}
   */
  readonly times?: number;
  /**
   * How many matching operations pass first.
   *
   * @default {0}
   */
  readonly skip?: number;
  /**
   * Whether the operation fails before it takes effect, or after: then it was stored, and fails
   * nevertheless. A `429` or `quota` is always before.
   *
   * @default {"before"}
   */
  readonly effect?: "before" | "after";
}

const PREFIXES_MAX = 100;

/** Counters, log, trace and daily allowances of a world. */
export class WorldLedger {
  readonly trace: Trace = new Trace();
  readonly operations: Record<KvOperation, number> = { read: 0, write: 0, list: 0, delete: 0 };
  readonly #quotas: KvQuotas;
  readonly #logMax: number;
  readonly #log: KvLogEntry[] = [];
  readonly #counts = new Map<string, Map<string, KvWorldCounts>>();
  #logged = 0;
  #day = NaN;
  #spent: Record<KvOperation, number> = { read: 0, write: 0, list: 0, delete: 0 };

  constructor(quotas: KvQuotas, logMax: number) {
    this.#quotas = quotas;
    this.#logMax = logMax;
  }

  /** Takes from the day's allowance; tells whether it was enough. */
  spend(operation: KvOperation, count: number, nowMs: number): "granted" | "refused" {
    const spent = this.#today(nowMs);
    if (spent[operation] + count > this.#quotas[operation]) return "refused";
    spent[operation] += count;
    return "granted";
  }

  /** What is left of the day's allowances. */
  left(nowMs: number): KvQuotas {
    const spent = this.#today(nowMs);
    return {
      read: Math.max(this.#quotas.read - spent.read, 0),
      write: Math.max(this.#quotas.write - spent.write, 0),
      list: Math.max(this.#quotas.list - spent.list, 0),
      delete: Math.max(this.#quotas.delete - spent.delete, 0),
    };
  }

  /** Notes an operation. */
  note(
    location: string,
    operation: KvOperation,
    key: string,
    count: number,
    outcome: KvOutcome,
    timeMs: number,
  ): void {
    this.operations[operation] += count;
    const counts = this.#countsOf(location, key);
    counts[operation] += count;
    if (outcome === "stale") counts.stale += count;
    else if (outcome !== "ok") counts.failed += count;
    this.trace.note(`${timeMs} ${location} ${operation} ${key} ${count} ${outcome}`);
    if (this.#logMax === 0) return;
    this.#log[this.#logged++ % this.#logMax] = { timeMs, location, operation, key, outcome };
  }

  /** The latest operations, oldest first. */
  log(): KvLogEntry[] {
    const start = this.#logged % this.#logMax;
    return this.#logged <= this.#logMax
      ? [...this.#log]
      : [...this.#log.slice(start), ...this.#log.slice(0, start)];
  }

  /** Sums up the counters. */
  counts(location: string | undefined, prefix: string | undefined): KvWorldCounts {
    const sum = emptyCounts();
    for (const [name, byPrefix] of this.#counts) {
      if (location !== undefined && name !== location) continue;
      for (const [head, counts] of byPrefix) {
        if (prefix !== undefined && head !== prefix) continue;
        for (const kind of Object.keys(sum) as (keyof KvWorldCounts)[]) sum[kind] += counts[kind];
      }
    }
    return sum;
  }

  #today(nowMs: number): Record<KvOperation, number> {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#spent = { read: 0, write: 0, list: 0, delete: 0 };
    }
    return this.#spent;
  }

  #countsOf(location: string, key: string): KvWorldCounts {
    let byPrefix = this.#counts.get(location);
    if (byPrefix === undefined) {
      byPrefix = new Map();
      this.#counts.set(location, byPrefix);
    }
    const end = key.indexOf(":");
    const prefix = end < 0 ? "" : key.slice(0, end);
    const known = byPrefix.get(prefix);
    if (known !== undefined) return known;
    const name = byPrefix.size < PREFIXES_MAX ? prefix : "other";
    const counts = byPrefix.get(name) ?? emptyCounts();
    byPrefix.set(name, counts);
    return counts;
  }
}

function emptyCounts(): KvWorldCounts {
  return { read: 0, write: 0, list: 0, delete: 0, stale: 0, failed: 0 };
}
