/**
 * Shares out a day's KV writes between purposes, and keeps a reserve for the site's own.
 *
 * The free plan's allowances are the account's, so no isolate can see what is left of them. A ledger
 * adds up what it is told: this isolate's operations, its data center's (through the edge cache) and the
 * network's (along with page-view shards). It asks no store and costs no KV operation.
 *
 * @example Usage
 * ```ts
 * import { WriteBudget } from "@scrimp/kv/write-budget";
 * import { assertEquals } from "@std/assert";
 *
 * const budget = new WriteBudget({ now: () => 0, shares: { search: 10 }, headStart: 0.2 });
 * assertEquals(budget.take("search", "write", 2).granted, true);
 * const { granted, retryAfterMs } = budget.take("search");
 * assertEquals(granted, false);
 * assertEquals(retryAfterMs, 10_800_000);
 * ```
 *
 * @module
 */

import type { Budget, BudgetGrant, KvOperation } from "./budget.ts";
import { asArray, isCount, parseRecord } from "./_common.ts";
import { writerName } from "./writer_name.ts";
import { type Random, systemClock, systemRandom } from "./clock.ts";
import type { EdgeCache } from "./views/edge_cache.ts";

export type { Budget, BudgetGrant, EdgeCache, KvOperation, Random };

const DAY_MS = 86_400_000;
/** Isolates of a data center whose use is kept apart. */
const PARTS_MAX = 50;
/** How long an isolate keeps changes of the ledger to itself, in milliseconds. */
const SYNC_MS = 2_000;

/** Writes a day by purpose. Their sum leaves 260 of the free plan's 1,000 to the site's own. */
export const DEFAULT_SHARES: Readonly<Record<string, number>> = {
  views: 400,
  chat: 150,
  keywords: 80,
  limits: 70,
  feed: 40,
};

/** Settings of {@linkcode WriteBudget}. */
export interface WriteBudgetOptions {
  /** The time in milliseconds. @default {systemClock.now} */
  readonly now?: () => number;
  /** Chance, for this isolate's name. @default {systemRandom} */
  readonly random?: Random;
  /** All writes a day, a positive integer. @default {1000} */
  readonly writesPerDay?: number;
  /** Writes a day by purpose; what they leave is the site's. @default {DEFAULT_SHARES} */
  readonly shares?: Readonly<Record<string, number>>;
  /** The part of a share that may be spent as soon as the day begins, 0 to 1. @default {0.3} */
  readonly headStart?: number;
}

/** Operations by kind. */
export type OperationCounts = Partial<Record<KvOperation, number>>;

/** What is known of one purpose. */
export interface PurposeStatus {
  /** Writes a day it may use, over the whole network; `null` for the site's own, which is not limited. */
  readonly share: number | null;
  /** This data center's operations today. */
  readonly here: OperationCounts;
  /** Writes of the whole network today, as far as known. */
  readonly networkWrites: number;
  /** When the share runs out at today's pace, in milliseconds since the Unix epoch; `null` for not today. */
  readonly runsOutAt: number | null;
}

/** What a data center has last heard of the network. */
interface Heard {
  /** When, in milliseconds; 0 for not today. */
  readonly at: number;
  /** The network's writes by purpose. */
  readonly network: Readonly<Record<string, number>>;
  /** This data center's own at that time. */
  readonly here: Readonly<Record<string, number>>;
  /** Data centers. */
  readonly writers: number;
  /** This data center's part of the network's views, from 0 to 1. */
  readonly part: number;
}

/** One isolate's operations by purpose. */
type Ledger = Record<string, OperationCounts>;

/**
 * The ledger of one isolate.
 *
 * A purpose's share becomes available over the day, so that a burst cannot spend it at once. What this
 * data center has used since the network was last heard of is taken to have been used by every other
 * data center too, and once it knows its part of the network's views, it takes no more of a share than
 * that part. `note()` books what must be done regardless, such as a signup.
 */
export class WriteBudget implements Budget {
  readonly #now: () => number;
  readonly #name: string;
  readonly #writesPerDay: number;
  readonly #shares: ReadonlyMap<string, number>;
  readonly #headStart: number;
  #day = -1;
  #own = emptyLedger();
  /** Other isolates of this data center, by name. */
  #others = new Map<string, Ledger>();
  #heard: Heard = { at: 0, network: counts(), here: counts(), writers: 1, part: 1 };
  /** Whether there is something to tell or, at first, to hear. */
  #changed = true;
  #syncedAt = 0;

  /**
   * Makes an empty ledger.
   *
   * @param options Settings.
   * @throws {RangeError} If a number is out of range, or the shares exceed the day's writes.
   */
  constructor(options: WriteBudgetOptions = {}) {
    const { now = systemClock.now, random = systemRandom, writesPerDay = 1_000 } = options;
    const { shares = DEFAULT_SHARES, headStart = 0.3 } = options;
    const named = Object.entries(shares);
    for (const [name, value] of [["writesPerDay", writesPerDay] as const, ...named]) {
      if (!Number.isSafeInteger(value) || value < 0) {
        throw new RangeError(
          `Cannot use ${value} for "${name}": expected an integer of at least 0`,
        );
      }
    }
    const planned = named.reduce((sum, [, value]) => sum + value, 0);
    if (planned > writesPerDay) {
      throw new RangeError(`Cannot share out ${planned} writes: expected at most ${writesPerDay}`);
    }
    if (!(headStart >= 0 && headStart <= 1)) {
      throw new RangeError(`Cannot use headStart ${headStart}: expected 0 to 1`);
    }
    this.#now = now;
    this.#name = writerName(random, now());
    this.#writesPerDay = writesPerDay;
    this.#shares = new Map(named);
    this.#headStart = headStart;
  }

  /**
   * Asks for operations and, when granted, books them. Only writes are limited; a purpose without a
   * share gets none.
   *
   * @param purpose What they are for.
   * @param operation Their kind.
   * @param count How many.
   * @returns Whether they may be done, and when else.
   */
  take(purpose: string, operation: KvOperation = "write", count = 1): BudgetGrant {
    const now = this.#turn();
    const share = this.#shares.get(purpose) ?? 0;
    if (operation === "write") {
      const here = (this.#here()[purpose]?.write ?? 0) + count;
      // Its part of a share is rounded, so that small data centers get a write too where that is due.
      const wanted = Math.max(
        this.#networkWrites(purpose) + count,
        (here - 0.5) / this.#heard.part,
      );
      const gone = now % DAY_MS / DAY_MS;
      if (wanted > share * (this.#headStart + (1 - this.#headStart) * gone)) {
        const at = (wanted / share - this.#headStart) / (1 - this.#headStart);
        const wait = wanted <= share && at <= 1 ? at - gone : 1 - gone;
        return { granted: false, retryAfterMs: Math.ceil(wait * DAY_MS) };
      }
    }
    this.note(purpose, operation, count);
    return { granted: true, retryAfterMs: 0 };
  }

  /**
   * Books operations.
   *
   * @param purpose What they are for.
   * @param operation Their kind.
   * @param count How many.
   */
  note(purpose: string, operation: KvOperation, count = 1): void {
    this.#turn();
    add(this.#own, purpose, operation, count);
    this.#changed = true;
  }

  /**
   * This data center's writes of today by purpose, page views aside: what its shards tell others.
   *
   * @param _day Not needed: the ledger's day is always UTC's.
   * @returns Writes by purpose.
   */
  local(_day?: string): Readonly<Record<string, number>> {
    this.#turn();
    const writes = Object.entries(this.#here()).map(([purpose, { write = 0 }]) =>
      [purpose, write] as const
    );
    return Object.fromEntries(writes.filter(([purpose, n]) => purpose !== "views" && n > 0));
  }

  /**
   * Takes in what a listing showed of the network.
   *
   * @param _day Not needed: listings are of today.
   * @param network Writes by purpose.
   * @param writers Data centers.
   * @param part This data center's part of the network's views, from 0 to 1: as much of each share is its
   *   own.
   */
  learn(
    _day: string,
    network: Readonly<Record<string, number>>,
    writers: number,
    part: number = 1,
  ): void {
    this.#heard = {
      at: this.#turn(),
      network: counts(network),
      here: counts(this.local()),
      writers,
      part,
    };
    this.#changed = true;
  }

  /**
   * Exchanges ledgers with the isolates of this data center. Never rejects; at most one read and one
   * write of the cache every two seconds, no KV operation.
   *
   * @param cache The data center's cache.
   */
  async sync(cache: EdgeCache | null): Promise<void> {
    const now = this.#turn();
    if (!cache || !this.#changed || now - this.#syncedAt < SYNC_MS) return;
    this.#syncedAt = now;
    this.#changed = false;
    const key = `budget:${this.#day}`;
    try {
      const theirs = parseRecord(await cache.get(key));
      this.#turn();
      // The day may have ended while the cache was asked.
      if (key !== `budget:${this.#day}`) return;
      this.#merge(theirs);
      // Until the network is heard of today, this data center's part is yesterday's.
      if (this.#heard.at === 0) {
        const { heard } = parseRecord(await cache.get(`budget:${this.#day - 1}`)) ?? {};
        this.#hear({ ...Object(heard), network: null, here: null });
      }
      const parts = [...this.#others, [this.#name, this.#own] as const];
      const kept = parts.sort((a, b) => size(b[1]) - size(a[1])).slice(0, PARTS_MAX);
      const text = JSON.stringify({ v: 1, parts: kept, heard: this.#heard });
      await cache.set(key, text, 2 * DAY_MS / 1000);
    } catch {
      // The ledger stays in memory; the next change tries again.
      this.#changed = true;
    }
  }

  /**
   * How the day stands, by purpose. Memory only.
   *
   * @returns What is known of each purpose, the site's own reserve and the day's allowance.
   */
  status(): {
    writesPerDay: number;
    reserve: number;
    purposes: Record<string, PurposeStatus>;
  } {
    const now = this.#turn();
    const here = this.#here();
    const start = now - now % DAY_MS;
    const names = new Set([...this.#shares.keys(), ...Object.keys(here)]);
    const purposes = [...names].map((purpose): [string, PurposeStatus] => {
      const share = this.#shares.get(purpose) ?? null;
      const used = this.#networkWrites(purpose);
      const runsOut = share === null || used === 0
        ? Infinity
        : start + (now - start) * share / used;
      const runsOutAt = runsOut < start + DAY_MS ? Math.round(Math.max(now, runsOut)) : null;
      return [purpose, { share, here: here[purpose] ?? {}, networkWrites: used, runsOutAt }];
    });
    const planned = [...this.#shares.values()].reduce((sum, share) => sum + share, 0);
    return {
      writesPerDay: this.#writesPerDay,
      reserve: this.#writesPerDay - planned,
      purposes: Object.fromEntries(purposes),
    };
  }

  /** Begins a new ledger when the allowances do: at 00:00 UTC. */
  #turn(): number {
    const now = this.#now();
    const day = Math.floor(now / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#own = emptyLedger();
      this.#others = new Map();
      this.#heard = { ...this.#heard, at: 0, network: counts(), here: counts() };
    }
    return now;
  }

  #here(): Ledger {
    const sum = emptyLedger();
    for (const ledger of [this.#own, ...this.#others.values()]) {
      for (const [purpose, counts] of Object.entries(ledger)) {
        for (const [operation, count] of Object.entries(counts)) {
          add(sum, purpose, operation as KvOperation, count);
        }
      }
    }
    return sum;
  }

  #networkWrites(purpose: string): number {
    const here = this.#here()[purpose]?.write ?? 0;
    const { network, here: known, writers } = this.#heard;
    const since = here - (known[purpose] ?? 0);
    return Math.max(here, (network[purpose] ?? 0) + Math.max(0, since) * Math.max(1, writers));
  }

  /** Takes over what another isolate has heard, if that is later. */
  #hear(heard: unknown): void {
    const { at, network, here, writers, part }: Heard = Object(heard);
    const numbers = [at, writers, part, ...Object.values({ ...network, ...here })];
    if (at > this.#heard.at && numbers.every((number) => number >= 0)) {
      this.#heard = { at, network: counts(network), here: counts(here), writers, part };
    }
  }

  /** Takes over other isolates' ledgers; each only ever grows, so the larger copy is the later one. */
  #merge({ v, parts, heard }: Readonly<Record<string, unknown>> = {}): void {
    if (v !== 1) return;
    this.#hear(heard);
    for (const entry of asArray(parts)) {
      const [name, counts] = asArray(entry);
      if (typeof name !== "string" || name === this.#name) continue;
      const ledger = parseLedger(counts);
      const known = this.#others.get(name);
      if (ledger && (!known || size(ledger) > size(known))) this.#others.set(name, ledger);
    }
  }
}

/** Without a prototype, so that any purpose is a name like any other. */
function emptyLedger(): Ledger {
  return Object.create(null);
}

function add(ledger: Ledger, purpose: string, operation: KvOperation, count: number): void {
  const counts = ledger[purpose] ??= {};
  counts[operation] = (counts[operation] ?? 0) + count;
}

function size(ledger: Ledger): number {
  let total = 0;
  for (const counts of Object.values(ledger)) {
    for (const count of Object.values(counts)) total += count;
  }
  return total;
}

/** Without a prototype, as above. */
function counts(record: Readonly<Record<string, number>> = {}): Readonly<Record<string, number>> {
  return Object.assign(emptyLedger(), record);
}

function parseLedger(value: unknown): Ledger | undefined {
  const isLedger = value instanceof Object &&
    Object.values(value).every((counts) =>
      counts instanceof Object && Object.values(counts).every(isCount)
    );
  return isLedger ? value as Ledger : undefined;
}
