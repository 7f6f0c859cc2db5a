/**
 * What a small hostile world is like, drawn from its seed.
 *
 * @module
 */

import { type Random, seededRandom } from "../../lib/sim/mod.ts";
import type { KvFault } from "../../lib/kv/kv_world.ts";

/** One world. The seed decides everything; a field can be set otherwise to find out what matters. */
export interface HostileOptions {
  /** What all chance comes from. */
  readonly seed: number;
  /** What counts: `PageViews` alone, or the whole Worker. */
  readonly program: "counter" | "worker";
  /** Data centers. */
  readonly dataCenters: number;
  /** Views, over the whole time. */
  readonly views: number;
  /** When it begins, in hours after midnight UTC. */
  readonly startHour: number;
  /** How long it lasts, in hours. */
  readonly hours: number;
  /** Isolates of a data center at a time, at most. */
  readonly isolatesMax: number;
  /** How long an isolate idles before it goes, in minutes. */
  readonly idleMinutes: number;
  /** The chance, at each request, that the isolate has just been killed. */
  readonly killRate: number;
  /** Calls that an isolate makes, on average, before it is killed in the middle of one; 0 for none. */
  readonly killPoints: number;
  /** What the data center's cache is like. */
  readonly cache: "sound" | "slow" | "forgetful" | "failing" | "none";
  /** How inconsistent KV is; 1 is as documented. */
  readonly staleness: number;
  /** The chance that a KV operation fails. */
  readonly faultRate: number;
  /** How it fails. */
  readonly faults: readonly KvFault[];
  /** What fails throughout. */
  readonly outage: "none" | "lists" | "writes" | "reads" | "everything";
  /** Whether somebody else has spent the account's allowances. */
  readonly quota: "free" | "spent";
  /** Writes a day for page views. */
  readonly writesPerDay: number;
  /** The zone whose days are counted. */
  readonly timeZone: string;
  /** Whether a store is bound at all. */
  readonly store: "bound" | "none";
  /** Makes the counter count wrongly, to see that it is found out. @default {not} */
  readonly spoil?: "double";
}

const FAULTS: readonly KvFault[] = ["500", "503", "429", "network", "quota", "hang"];

/**
 * Draws a world.
 *
 * @param seed The seed.
 * @returns The world.
 */
export function drawHostile(seed: number): HostileOptions {
  const random = seededRandom(seed + 0.25);
  const program = random() < 0.3 ? "worker" : "counter";
  const faultRate = pick(random, [0, 0, 0.02, 0.1, 0.4]);
  return {
    seed,
    program,
    dataCenters: 1 + Math.floor(random() * 8),
    views: Math.round(12 * 10 ** random()),
    startHour: Math.floor(random() * 24),
    hours: pick(random, [6, 12, 26, 40]),
    isolatesMax: 1 + Math.floor(random() * 4),
    idleMinutes: pick(random, [1, 15, 120]),
    killRate: pick(random, [0, 0, 0.01, 0.2]),
    killPoints: pick(random, [0, 0, 4, 20]),
    cache: pick(random, ["sound", "sound", "slow", "forgetful", "failing", "none"]),
    staleness: pick(random, [0, 1, 1, 4, 20]),
    faultRate,
    faults: FAULTS.filter(() => random() < 0.5),
    outage: pick(random, [
      "none",
      "none",
      "none",
      "none",
      "none",
      "lists",
      "writes",
      "reads",
      "everything",
    ]),
    quota: random() < 0.1 ? "spent" : "free",
    writesPerDay: pick(random, [400, 400, 40, 8]),
    timeZone: pick(random, ["UTC", "UTC", "UTC", "Asia/Kolkata", "America/New_York"]),
    store: program === "worker" && random() < 0.05 ? "none" : "bound",
  };
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

/**
 * The command that repeats a world.
 *
 * @param seed The seed.
 * @returns The command.
 */
export function repeatCommand(seed: number): string {
  return `deno task simulate --world ${seed}`;
}
