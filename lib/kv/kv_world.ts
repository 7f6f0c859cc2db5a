/**
 * A fake of Workers KV that is as nasty as the real one: many locations, stale reads, cached misses,
 * listings that lag, pages without keys, refused and lost writes, daily allowances and faults.
 * Deterministic: the same seed and the same calls give the same answers and the same trace.
 *
 * @example Testing one's own Worker
 * ```ts
 * import { KvWorld } from "@scrimp/kv/kv-world";
 * import { assertEquals } from "@std/assert";
 *
 * const worker = {
 *   fetch: async (_request: Request, env: { KV: { get(key: string): Promise<string | null> } }) =>
 *     new Response(await env.KV.get("motto").catch(() => null) ?? "none"),
 * };
 * const world = new KvWorld({ seed: 1 });
 * const visit = async (colo: string) =>
 *   await (await worker.fetch(new Request("https://a.example/"), { KV: world.location(colo) })).text();
 *
 * assertEquals(await visit("AMS"), "none");
 * await world.location("LHR").put("motto", "waste not");
 * assertEquals(await visit("AMS"), "none", "Amsterdam has the miss cached");
 * world.advance(120_000);
 * assertEquals(await visit("AMS"), "waste not");
 * world.fail({ fault: "503", location: "AMS" });
 * assertEquals(await visit("AMS"), "none", "and the page survives an outage");
 * ```
 *
 * For time that passes while a Worker waits, and for isolates that die, take a `Simulation` of
 * `@scrimp/kv/sim` and pass its clock: `new KvWorld({ seed, now: clock.now, sleep: clock.sleep })`. To
 * test in workerd, with the real binding, see `@scrimp/kv/kv-server`.
 *
 * ## What is simulated
 *
 * | behavior | option | source |
 * | --- | --- | --- |
 * | a location answers from its copy for `cacheTtl`, 60 s by default; the reader's own `cacheTtl` decides | `staleness` | Cloudflare, "How KV works" and "Read key-value pairs" |
 * | misses are cached like values | `staleness` | "How KV works" |
 * | a region shares a second cache | `region` | "How KV works"; which locations share one is not published, so six regions are a guess |
 * | "60 seconds or more": some copies outlive their time | `overstayRate`, `overstayMsMax` | "How KV works" names no bound; the numbers are a guess |
 * | a new write is not everywhere at once, even where nobody has a copy | `propagationMsMax` | a report of 2023 (CFC-Servers/gm_express_service, pull request 10); the number is a guess |
 * | own writes are "usually" visible at once | `ownWriteRate` | "How KV works"; the number is a guess |
 * | an expired value is gone whatever the cache says | – | cloudflare-docs, pull request 12194 |
 * | listings lag by up to 60 s | `listLagMsMax` | "List keys" |
 * | short and empty pages that are not the last, from deleted and expired keys | `tombstoneMs` | cloudflare-docs, pull request 4060; for how long is a guess |
 * | more than one write a second to one key: 429, or a silent overwrite | `sameKeyWrites` | "Limits"; a measurement in ColeMurray/background-agents, pull request 1956, saw only overwrites |
 * | daily allowances by kind, for the whole account, until 00:00 UTC | `quotas` | "Pricing" |
 * | operations and subrequests of an invocation | `operationsPerInvocation`, `subrequestsPerInvocation` | "Limits" of KV and of Workers |
 * | latency | `latency`, with `sleep` | rough figures of "How KV works"; a guess |
 * | 500, 503, 429, lost connections, spent allowances, calls that never return; before or after the effect | `faults`, `fail` | error texts from production reports and issues |
 * | checks, coercions, error classes and texts | – | workerd's source, compared with the real binding in this package's tests |
 *
 * ## What is not
 *
 * Background refresh of hot keys, several machines in one location with caches of their own, requests
 * rerouted to another location, the storage cap, the REST API and its rate limit, "instant mode", bulk
 * deletes, and the bytes of real cursors. Values are kept in memory. Options that are not listed in
 * {@linkcode KvWorldOptions} are refused.
 *
 * @module
 */

import type { KvOperation } from "../budget.ts";
import type { Random } from "../clock.ts";
import { hashText, seededRandom } from "../sim/random.ts";
import { type KvCue, type KvLogEntry, type KvWorldCounts, WorldLedger } from "./_world_ledger.ts";
import {
  CopyCache,
  LocationBackend,
  type Place,
  type PlannedFault,
  type World,
} from "./_world_location.ts";
import {
  checkFault,
  type KvQuotas,
  type KvWorldOptions,
  settingsOf,
  type WorldSettings,
} from "./_world_options.ts";
import { WorldStore } from "./_world_store.ts";
import { KvBinding } from "./kv_binding.ts";

export type { KvOperation } from "../budget.ts";
export type { KvCue, KvLogEntry, KvOutcome, KvWorldCounts } from "./_world_ledger.ts";
export type {
  KvFault,
  KvFaultOptions,
  KvLatency,
  KvQuotas,
  KvWorldOptions,
  SameKeyWrites,
} from "./_world_options.ts";
export * from "./kv_binding.ts";

const START_MS = 1_767_225_600_000;
const REGIONS = 6;

/** Options of one invocation in a {@linkcode KvWorld}. */
export interface KvInvocationOptions {
  /**
   * Most KV operations; a bulk read is one.
   *
   * @default {the world's `operationsPerInvocation`}
   */
  readonly operationsMax?: number;
  /**
   * Most subrequests, of which each KV operation is taken to be one.
   *
   * @default {the world's `subrequestsPerInvocation`}
   */
  readonly subrequestsMax?: number;
}

/** Which counters to sum up. */
export interface KvCountFilter {
  /**
   * Only this location.
   *
   * @default {all}
   */
  readonly location?: string;
  /**
   * Only keys whose part before the first colon is this.
   *
   * @default {all}
   */
  readonly prefix?: string;
}

/**
 * Options that make a {@linkcode KvWorld} as harmless as a `MemoryKv`: strongly consistent, and
 * without allowances or refused writes. Spread it, and add the seed.
 */
export const HARMLESS_WORLD: Omit<KvWorldOptions, "seed"> = {
  staleness: 0,
  sameKeyWrites: "overwrite",
  quotas: null,
};

/**
 * One account's KV namespace, as seen from many locations.
 *
 * See the module's comment for what it simulates, with sources. Memory is proportional to the live
 * keys, and to what was written or read within the last minutes.
 */
export class KvWorld {
  readonly #settings: WorldSettings;
  readonly #store: WorldStore;
  readonly #ledger: WorldLedger;
  readonly #random: Random;
  readonly #now: () => number;
  readonly #places = new Map<string, Place>();
  readonly #bindings = new Map<string, KvBinding>();
  readonly #regions = new Map<string, CopyCache>();
  readonly #world: World;
  readonly #clock: "own" | "given";
  #cues: { readonly cue: KvCue; skip: number; times: number }[] = [];
  #nowMs = START_MS;

  /**
   * Makes a world without keys.
   *
   * @param options See {@linkcode KvWorldOptions}; only the seed is required.
   * @throws {TypeError} If an option is not known, or lacks another that it needs.
   * @throws {RangeError} If an option is out of range.
   */
  constructor(options: KvWorldOptions) {
    this.#settings = settingsOf(options);
    this.#random = seededRandom(options.seed);
    this.#store = new WorldStore(this.#settings);
    this.#ledger = new WorldLedger(this.#settings.quotas, this.#settings.logMax);
    this.#clock = options.now === undefined ? "own" : "given";
    this.#now = options.now ?? (() => this.#nowMs);
    this.#world = {
      settings: this.#settings,
      store: this.#store,
      ledger: this.#ledger,
      random: this.#random,
      now: this.#now,
      plan: (operation, location, key) => this.#plan(operation, location, key),
    };
  }

  /** The current time, in milliseconds since the Unix epoch. */
  now(): number {
    return this.#now();
  }

  /**
   * Lets the world's own clock go on.
   *
   * @param ms Milliseconds, at least 0.
   * @throws {TypeError} If the world was made with a clock from outside.
   * @throws {RangeError} If time would go back.
   */
  advance(ms: number): void {
    if (this.#clock === "given") {
      throw new TypeError(
        'Method "advance" is for worlds without the option "now": move that clock',
      );
    }
    if (!(ms >= 0)) throw new RangeError(`Time must go forward: got ${ms} milliseconds`);
    this.#nowMs += ms;
  }

  /**
   * The namespace as a location sees it; the same object for the same name. Pass it as the binding.
   *
   * @param name A location's name, for example `LHR`.
   * @returns A binding without a bound on operations; see {@linkcode KvWorld.invocation}.
   */
  location(name: string): KvBinding {
    let binding = this.#bindings.get(name);
    if (binding === undefined) {
      binding = new KvBinding(new LocationBackend(this.#world, this.#place(name), undefined));
      this.#bindings.set(name, binding);
    }
    return binding;
  }

  /**
   * The namespace as one invocation of a Worker sees it, with a bound on its operations.
   *
   * @param location A location's name.
   * @param options See {@linkcode KvInvocationOptions}.
   * @returns A binding to use for one invocation.
   */
  invocation(location: string, options: KvInvocationOptions = {}): KvBinding {
    const {
      operationsMax = this.#settings.operationsPerInvocation,
      subrequestsMax = this.#settings.subrequestsPerInvocation,
    } = options;
    const left = { operations: operationsMax, subrequests: subrequestsMax };
    return new KvBinding(new LocationBackend(this.#world, this.#place(location), left));
  }

  /**
   * Makes operations fail on cue.
   *
   * @example A write that fails and is stored nevertheless
   * ```ts
   * import { KvWorld } from "@scrimp/kv/kv-world";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const world = new KvWorld({ seed: 1 });
   * const kv = world.location("LHR");
   * world.fail({ fault: "network", operation: "write", effect: "after" });
   * await assertRejects(() => kv.put("a", "1"), Error, "Network connection lost.");
   * assertEquals(await kv.get("a"), "1");
   * ```
   *
   * @param cue Which operations, how, and how often: the next one by default.
   * @returns A function that cancels what is left of it.
   * @throws {TypeError} If there is no such failure.
   */
  fail(cue: KvCue): () => void {
    checkFault(cue.fault);
    const planned = { cue, skip: cue.skip ?? 0, times: cue.times ?? 1 };
    this.#cues.push(planned);
    return () => {
      this.#cues = this.#cues.filter((other) => other !== planned);
    };
  }

  /**
   * Spends from the day's allowances, as another Worker of the same account would.
   *
   * @param operation The kind of operation.
   * @param count How many.
   */
  spend(operation: KvOperation, count: number): void {
    const left = this.quotasLeft[operation];
    this.#ledger.spend(operation, Math.min(count, left), this.#now());
  }

  /** What is left of the day's allowances. */
  get quotasLeft(): KvQuotas {
    return this.#ledger.left(this.#now());
  }

  /** All operations by kind, refused ones included; a bulk read counts every key. */
  get operations(): Readonly<Record<KvOperation, number>> {
    return this.#ledger.operations;
  }

  /**
   * Sums up operations by location, by the part of the key before its first colon, or both.
   *
   * @param filter Which; all by default.
   * @returns A new object.
   */
  counts(filter: KvCountFilter = {}): KvWorldCounts {
    return this.#ledger.counts(filter.location, filter.prefix);
  }

  /** The latest operations, oldest first; as many as the option `logMax` says. */
  get log(): readonly KvLogEntry[] {
    return this.#ledger.log();
  }

  /** Sixteen hexadecimal digits that depend on every operation so far and on their order. */
  get traceHash(): string {
    return this.#ledger.trace.hash;
  }

  /**
   * What the central store holds, whatever any location sees: the truth to compare with. No operation.
   *
   * @param prefix Only keys that start with this.
   * @returns Keys with their values as text, in no particular order.
   */
  central(prefix = ""): Map<string, string> {
    const decoder = new TextDecoder();
    const texts = new Map<string, string>();
    for (const [key, { value }] of this.#store.live(prefix, this.#now())) {
      texts.set(key, typeof value === "string" ? value : decoder.decode(value));
    }
    return texts;
  }

  /** How many keys the central store holds, tombstones included. */
  get size(): number {
    return this.#store.size;
  }

  #place(name: string): Place {
    let place = this.#places.get(name);
    if (place === undefined) {
      const region = this.#settings.region?.(name) ?? String(hashText(name) % REGIONS);
      const regional = this.#regions.get(region) ?? new CopyCache();
      this.#regions.set(region, regional);
      place = { number: this.#places.size, name, cache: new CopyCache(), regional };
      this.#places.set(name, place);
    }
    return place;
  }

  #plan(operation: KvOperation, location: string, key: string): PlannedFault | undefined {
    for (const planned of this.#cues) {
      const { cue } = planned;
      if (cue.operation !== undefined && cue.operation !== operation) continue;
      if (cue.location !== undefined && cue.location !== location) continue;
      if (cue.prefix !== undefined && !key.startsWith(cue.prefix)) continue;
      if (planned.skip-- > 0) continue;
      if (--planned.times <= 0) this.#cues = this.#cues.filter((other) => other !== planned);
      const early = cue.fault === "429" || cue.fault === "quota";
      return { fault: cue.fault, effect: early ? "before" : cue.effect ?? "before" };
    }
    const { faultRate, faults, afterRate } = this.#settings;
    if (faultRate === 0 || this.#random() >= faultRate) return undefined;
    const fault = faults[Math.floor(this.#random() * faults.length)] ?? "500";
    const after = this.#random() < afterRate && fault !== "429" && fault !== "quota";
    return { fault, effect: after ? "after" : "before" };
  }
}
