import type { KvOperation } from "../budget.ts";
import {
  DELETES_PER_DAY,
  INVOCATION_OPERATIONS_MAX,
  LISTS_PER_DAY,
  READS_PER_DAY,
  VALUE_BYTES_MAX,
  WRITES_PER_DAY,
} from "./limits.ts";

/** What happens to a second write to one key within a second. */
export type SameKeyWrites = "either" | "throw" | "overwrite";

/** How many operations of each kind the account may do a day. */
export type KvQuotas = Readonly<Record<KvOperation, number>>;

/** A kind of failure that a {@linkcode KvWorld} can inject. */
export type KvFault = "500" | "503" | "429" | "network" | "quota" | "hang";

/** How long operations take, each as the least and the most milliseconds. */
export interface KvLatency {
  /** A read that the location's cache answers. */
  readonly hot: readonly [least: number, most: number];
  /** A read that goes to the central store. */
  readonly cold: readonly [least: number, most: number];
  /** A write or a delete. */
  readonly write: readonly [least: number, most: number];
  /** A listing. */
  readonly list: readonly [least: number, most: number];
}

/** Failures that come by chance. */
export interface KvFaultOptions {
  /**
   * The chance that an operation fails.
   *
   * @default {0}
   */
  readonly rate?: number;
  /**
   * Which failures there are, each as likely as the next.
   *
   * @default {["500", "503", "network"]}
   */
  readonly faults?: readonly KvFault[];
  /**
   * The chance that a failing write or delete has taken place nevertheless.
   *
   * @default {0.5}
   */
  readonly afterRate?: number;
}

/** Options of a `KvWorld`. An option that is not listed here is refused. */
export interface KvWorldOptions {
  /** What all chance comes from: the same seed and the same calls give the same answers. */
  readonly seed: number;
  /**
   * The current time, in milliseconds since the Unix epoch.
   *
   * @default {the world's own clock, which starts at 2026-01-01T00:00:00Z and stands still until
   * `advance` is called}
   */
  readonly now?: () => number;
  /**
   * Waits in virtual time; needed for `latency` only, for example a simulation's `clock.sleep`.
   *
   * @default {none: answers come at once}
   */
  readonly sleep?: (ms: number) => Promise<void>;
  /**
   * How inconsistent the world is, as a factor of everything that the documentation lets lag: `cacheTtl`,
   * propagation, listings, tombstones. 0 is strongly consistent everywhere at once.
   *
   * @default {1}
   */
  readonly staleness?: number;
  /**
   * How long, at most, a write takes to become visible to a location without a cached copy. Most take
   * far less.
   *
   * @default {5_000}
   */
  readonly propagationMsMax?: number;
  /**
   * How long, at most, a cached copy may outlive its `cacheTtl` ("60 seconds or more").
   *
   * @default {30_000}
   */
  readonly overstayMsMax?: number;
  /**
   * The chance that a cached copy outlives its `cacheTtl` at all.
   *
   * @default {0.05}
   */
  readonly overstayRate?: number;
  /**
   * The chance that a location sees a write of its own at once ("usually").
   *
   * @default {0.95}
   */
  readonly ownWriteRate?: number;
  /**
   * The region of a location. Locations of a region share a second cache, so a location that never read
   * a key may find a stale copy of it.
   *
   * @default {one of 6, by the location's name}
   */
  readonly region?: (location: string) => string;
  /**
   * How long, at most, a write or delete takes to show in listings elsewhere.
   *
   * @default {60_000}
   */
  readonly listLagMsMax?: number;
  /**
   * How long deleted and expired keys take up room in listings, so that pages come up short or empty.
   *
   * @default {600_000}
   */
  readonly tombstoneMs?: number;
  /**
   * What happens to a second write to one key within a second: it throws 429, it overwrites silently,
   * or either by chance.
   *
   * @default {"either"}
   */
  readonly sameKeyWrites?: SameKeyWrites;
  /**
   * The daily allowances of the whole world, which is one account; `null` for none.
   *
   * @default {the free plan's: 100,000 reads, 1,000 writes, 1,000 deletes, 1,000 lists}
   */
  readonly quotas?: Partial<KvQuotas> | null;
  /**
   * Most operations in one invocation; see `KvWorld.invocation`.
   *
   * @default {1000}
   */
  readonly operationsPerInvocation?: number;
  /**
   * Most subrequests in one invocation. Sources disagree on whether KV counts as one; set 50 to be on
   * the free plan's safe side.
   *
   * @default {Infinity}
   */
  readonly subrequestsPerInvocation?: number;
  /**
   * How long operations take, in virtual time.
   *
   * @default {with `sleep`: hot 1–5, cold 20–200, write 20–300, list 20–300 ms; without: nothing}
   */
  readonly latency?: Partial<KvLatency>;
  /** Failures by chance; for failures on cue see `KvWorld.fail`. */
  readonly faults?: KvFaultOptions;
  /**
   * How many of the latest operations are kept to be read.
   *
   * @default {256}
   */
  readonly logMax?: number;
  /**
   * Longest value, in bytes.
   *
   * @default {26_214_400}
   */
  readonly valueBytesMax?: number;
}

/** The options, complete. */
export interface WorldSettings {
  readonly seed: number;
  readonly sleep: ((ms: number) => Promise<void>) | undefined;
  readonly staleness: number;
  readonly propagationMsMax: number;
  readonly overstayMsMax: number;
  readonly overstayRate: number;
  readonly ownWriteRate: number;
  readonly region: ((location: string) => string) | undefined;
  readonly listLagMsMax: number;
  readonly tombstoneMs: number;
  readonly sameKeyWrites: SameKeyWrites;
  readonly quotas: KvQuotas;
  readonly operationsPerInvocation: number;
  readonly subrequestsPerInvocation: number;
  readonly latency: KvLatency;
  readonly faultRate: number;
  readonly faults: readonly KvFault[];
  readonly afterRate: number;
  readonly logMax: number;
  readonly valueBytesMax: number;
}

const FREE_PLAN: KvQuotas = {
  read: READS_PER_DAY,
  write: WRITES_PER_DAY,
  list: LISTS_PER_DAY,
  delete: DELETES_PER_DAY,
};
const NO_QUOTAS: KvQuotas = {
  read: Infinity,
  write: Infinity,
  list: Infinity,
  delete: Infinity,
};
const LATENCY: KvLatency = { hot: [1, 5], cold: [20, 200], write: [20, 300], list: [20, 300] };
const FAULTS: readonly KvFault[] = ["500", "503", "network"];
const ALL_FAULTS: readonly string[] = ["500", "503", "429", "network", "quota", "hang"];
const KNOWN: readonly string[] = [
  ...["seed", "now", "sleep", "staleness", "propagationMsMax", "overstayMsMax", "overstayRate"],
  ...["ownWriteRate", "region", "listLagMsMax", "tombstoneMs", "sameKeyWrites", "quotas"],
  ...["operationsPerInvocation", "subrequestsPerInvocation", "latency", "faults", "logMax"],
  "valueBytesMax",
];

/** Fills in the defaults, and refuses what makes no sense or is not modelled. */
export function settingsOf(options: KvWorldOptions): WorldSettings {
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `Option "${unknown}" is not simulated: KvWorld knows "${KNOWN.join('", "')}"`,
    );
  }
  const { staleness = 1, sleep, latency, quotas, faults = {}, sameKeyWrites = "either" } = options;
  if (latency !== undefined && sleep === undefined) {
    throw new TypeError('Option "latency" needs option "sleep" to wait with');
  }
  if (!["either", "throw", "overwrite"].includes(sameKeyWrites)) {
    throw new TypeError(
      `Option "sameKeyWrites" must be "either", "throw" or "overwrite": got "${sameKeyWrites}"`,
    );
  }
  faults.faults?.forEach(checkFault);
  for (const [name, count] of Object.entries(quotas ?? {})) {
    if (!(count >= 0)) {
      throw new RangeError(`Option "quotas.${name}" must be at least 0: got ${count}`);
    }
  }
  return {
    seed: options.seed,
    sleep,
    staleness: atLeastZero("staleness", staleness),
    propagationMsMax: atLeastZero("propagationMsMax", options.propagationMsMax ?? 5_000) *
      staleness,
    overstayMsMax: atLeastZero("overstayMsMax", options.overstayMsMax ?? 30_000) * staleness,
    overstayRate: rate("overstayRate", options.overstayRate ?? 0.05),
    ownWriteRate: rate("ownWriteRate", options.ownWriteRate ?? 0.95),
    region: options.region,
    listLagMsMax: atLeastZero("listLagMsMax", options.listLagMsMax ?? 60_000) * staleness,
    tombstoneMs: atLeastZero("tombstoneMs", options.tombstoneMs ?? 600_000) * staleness,
    sameKeyWrites,
    quotas: quotas === null ? NO_QUOTAS : { ...FREE_PLAN, ...quotas },
    operationsPerInvocation: options.operationsPerInvocation ?? INVOCATION_OPERATIONS_MAX,
    subrequestsPerInvocation: options.subrequestsPerInvocation ?? Infinity,
    latency: { ...LATENCY, ...latency },
    faultRate: rate("faults.rate", faults.rate ?? 0),
    faults: faults.faults ?? FAULTS,
    afterRate: rate("faults.afterRate", faults.afterRate ?? 0.5),
    logMax: atLeastZero("logMax", options.logMax ?? 256),
    valueBytesMax: atLeastZero("valueBytesMax", options.valueBytesMax ?? VALUE_BYTES_MAX),
  };
}

/** Refuses a failure that is not simulated. */
export function checkFault(fault: string): void {
  if (ALL_FAULTS.includes(fault)) return;
  throw new TypeError(`Fault "${fault}" is not simulated: known are "${ALL_FAULTS.join('", "')}"`);
}

function atLeastZero(name: string, value: number): number {
  if (value >= 0 && value < Infinity) return value;
  throw new RangeError(`Option "${name}" must be a finite number of at least 0: got ${value}`);
}

function rate(name: string, value: number): number {
  if (value >= 0 && value <= 1) return value;
  throw new RangeError(`Option "${name}" must be from 0 to 1: got ${value}`);
}
