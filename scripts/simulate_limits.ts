/**
 * What a limit is worth on KV: one client hammers from every isolate, another keeps to the limit.
 *
 * Three data centers of four isolates each, on a `KvWorld`. Printed is what was admitted a window, for
 * the naive read-modify-write that most code uses, for memory alone, for `RateLimiter`, and for the
 * Durable Object. `deno run -A scripts/simulate_limits.ts --help` tells the options.
 *
 * @module
 */

import type { Kv } from "../lib/kv/kv.ts";
import { KvWorld } from "../lib/kv/kv_world.ts";
import { RateLimiter, type RateLimiterOptions } from "../lib/rate_limiter.ts";
import { RateLimiterObject, StrictRateLimiter } from "../lib/rate_limiter_object.ts";
import { seededRandom } from "../lib/sim/random.ts";
import { fail, usage } from "./_failure.ts";
import { parseArgs } from "node:util";

/** A way to limit. */
export type LimitDesign = "naive" | "memory" | "ours" | "strict";

/** A limit to simulate. */
export interface LimitCase {
  /** Its name in the table. */
  readonly name: string;
  /** Most hits in a window. */
  readonly limit: number;
  /** The window's length in milliseconds. */
  readonly windowMs: number;
}

/** What is simulated. */
export interface LimitSimulation {
  /** What all chance comes from. */
  readonly seed: number;
  /** How long, in minutes. */
  readonly minutes: number;
  /** The limit. */
  readonly limit: LimitCase;
  /** How it is enforced. */
  readonly design: LimitDesign;
  /** Hits that come, as a multiple of the limit, over all isolates. */
  readonly load: number;
  /** The chance that a KV operation fails. */
  readonly faultRate?: number;
}

/** What came of it. */
export interface LimitOutcome {
  /** The limit's name. */
  readonly limit: string;
  /** How it was enforced. */
  readonly design: LimitDesign;
  /** Hits that came, as a multiple of the limit. */
  readonly load: number;
  /** Hits admitted a window on average. */
  readonly mean: number;
  /** The same over the second half. */
  readonly steady: number;
  /** Most hits admitted in one window. */
  readonly most: number;
  /** Of the hits that came, the share that was denied. */
  readonly denied: number;
  /** Reads a day at that pace. */
  readonly readsPerDay: number;
  /** Writes a day at that pace, refused ones included. */
  readonly writesPerDay: number;
}

/** The limits of the table. */
export const LIMIT_CASES: readonly LimitCase[] = [
  { name: "12/min", limit: 12, windowMs: 60_000 },
  { name: "5/s", limit: 5, windowMs: 1_000 },
  { name: "50/s", limit: 50, windowMs: 1_000 },
];

/** The data centers. */
export const LOCATIONS: readonly string[] = ["LHR", "IAD", "NRT"];

/** Isolates in each. */
export const ISOLATES_PER_LOCATION = 4;

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const DESIGNS: readonly LimitDesign[] = ["naive", "memory", "ours", "strict"];

interface Isolate {
  hit(): Promise<{ readonly success: boolean; readonly pending?: Promise<void> }>;
}

/** Runs one simulation. The same options give the same outcome. */
export async function simulateLimit(simulation: LimitSimulation): Promise<LimitOutcome> {
  const { seed, minutes, limit, design, load, faultRate = 0 } = simulation;
  let nowMs = START_MS;
  const world = new KvWorld({
    seed,
    now: () => nowMs,
    quotas: null,
    faults: { rate: faultRate, faults: ["500", "503", "network", "429", "quota"] },
  });
  const isolates = makeIsolates(world, design, {
    limit: limit.limit,
    windowMs: limit.windowMs,
    clock: { now: () => nowMs },
    random: seededRandom(seed),
  });
  const random = seededRandom(seed);
  const endMs = START_MS + minutes * 60_000;
  const gapMs = limit.windowMs / (limit.limit * load);
  const admitted = new Map<number, number>();
  let hits = 0;
  for (let at = START_MS; at < endMs; at += gapMs * (0.5 + random())) {
    nowMs = Math.floor(at);
    const isolate = isolates[Math.floor(random() * isolates.length)];
    hits++;
    const result = await isolate?.hit();
    await result?.pending;
    if (result?.success !== true) continue;
    const window = Math.floor((nowMs - START_MS) / limit.windowMs);
    admitted.set(window, (admitted.get(window) ?? 0) + 1);
  }
  const windows = Math.floor(minutes * 60_000 / limit.windowMs);
  const perWindow = Array.from({ length: windows }, (_, i) => admitted.get(i) ?? 0);
  const { read, write } = world.operations;
  return {
    limit: limit.name,
    design,
    load,
    mean: mean(perWindow),
    steady: mean(perWindow.slice(Math.floor(windows / 2))),
    most: Math.max(...perWindow),
    denied: 1 - mean(perWindow) * windows / hits,
    readsPerDay: Math.round(read * DAY_MS / (minutes * 60_000)),
    writesPerDay: Math.round(write * DAY_MS / (minutes * 60_000)),
  };
}

function makeIsolates(world: KvWorld, design: LimitDesign, options: RateLimiterOptions): Isolate[] {
  const namespace = makeNamespace(options);
  return LOCATIONS.flatMap((location) =>
    Array.from({ length: ISOLATES_PER_LOCATION }, (): Isolate => {
      if (design === "naive") return naive(world.location(location), options);
      const limiter = design === "strict"
        ? new StrictRateLimiter(namespace, options)
        : new RateLimiter(design === "ours" ? world.location(location) : undefined, options);
      return { hit: () => limiter.limit("client") };
    })
  );
}

/** What most code does: read, compare, add one, write back, at every hit. */
function naive(kv: Kv, { limit, windowMs, clock }: RateLimiterOptions): Isolate {
  return {
    hit: async () => {
      const key = `naive:client:${Math.floor((clock?.now() ?? 0) / windowMs)}`;
      try {
        const count = Number(await kv.get(key) ?? 0);
        if (count >= limit) return { success: false };
        await kv.put(key, String(count + 1), { expirationTtl: 60 });
      } catch {
        // It fails open, as most code does.
      }
      return { success: true };
    },
  };
}

function makeNamespace({ clock }: RateLimiterOptions) {
  const objects = new Map<unknown, RateLimiterObject>();
  return {
    idFromName: (name: string) => name,
    get: (id: unknown) => {
      const values = new Map<string, unknown>();
      const object = objects.get(id) ?? new RateLimiterObject(
        {
          storage: {
            get: (key) => Promise.resolve(values.get(key)),
            put: (key, value) => Promise.resolve(void values.set(key, value)),
            deleteAll: () => Promise.resolve(values.clear()),
            setAlarm: () => Promise.resolve(),
          },
        },
        undefined,
        clock,
      );
      objects.set(id, object);
      return { fetch: (url: string, init: RequestInit) => object.fetch(new Request(url, init)) };
    },
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

const HELP =
  `Simulates rate limits on KV: ${LOCATIONS.length} data centers of ${ISOLATES_PER_LOCATION} isolates.

  --seed N      what all chance comes from (1)
  --minutes N   how long (30)
  --faults P    the chance that a KV operation fails (0)
  --json        print JSON instead of a table
  --help        print this
`;

/** A day. */
const MINUTES_MAX = 1_440;

interface Arguments {
  readonly seed: number;
  readonly minutes: number;
  readonly faultRate: number;
  readonly json: boolean;
}

function numberOf(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text !== "" && value >= least && value <= most) return value;
  throw new RangeError(`Option "${name}" must be a number from ${least} to ${most}: got "${text}"`);
}

/** Reads the command line; `undefined` when help was asked for. */
function readArguments(args: string[]): Arguments | undefined {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string", default: "1" },
      minutes: { type: "string", default: "30" },
      faults: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  return {
    seed: numberOf("--seed", values.seed, 0, 2 ** 32 - 1),
    minutes: numberOf("--minutes", values.minutes, 1, MINUTES_MAX),
    faultRate: numberOf("--faults", values.faults, 0, 1),
    json: values.json,
  };
}

/** Runs all designs at all limits and prints what came of it. */
async function main(args: string[]): Promise<void> {
  const asked = usage(() => readArguments(args));
  if (!asked) return console.log(HELP);
  const { seed, minutes, faultRate, json } = asked;
  const outcomes: LimitOutcome[] = [];
  for (const limit of LIMIT_CASES) {
    for (const load of [12, 0.8]) {
      for (const design of DESIGNS) {
        outcomes.push(await simulateLimit({ seed, minutes, limit, design, load, faultRate }));
      }
    }
  }
  if (json) return console.log(JSON.stringify(outcomes, null, 2));
  const head = [
    "limit",
    "load",
    "design",
    "mean",
    "steady",
    "most",
    "denied",
    "reads/d",
    "writes/d",
  ];
  const rows = outcomes.map((o) => [
    o.limit,
    `${o.load}x`,
    o.design,
    o.mean.toFixed(1),
    o.steady.toFixed(1),
    String(o.most),
    `${(o.denied * 100).toFixed(1)} %`,
    String(o.readsPerDay),
    String(o.writesPerDay),
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  for (const row of [head, ...rows]) {
    console.log(
      row.map((cell, i) => i < 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))
        .join("  "),
    );
  }
  console.log(
    `\nAdmitted a window: on average, in the second half, and at most. Seed ${seed}, ${minutes} min.`,
  );
}

if (import.meta.main) {
  await main(Deno.args).catch((error) => {
    Deno.exitCode = fail(error);
  });
}
