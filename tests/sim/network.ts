/**
 * A simulated network that counts page views: many data centers, short-lived isolates, one KV.
 *
 * @module
 */

import { KvWorld, type KvWorldOptions } from "../../lib/kv/kv_world.ts";
import { classifyKvError } from "../../lib/kv/errors.ts";
import type { Kv } from "../../lib/kv/kv.ts";
import { EdgeCacheFake, IsolatePool, Simulation } from "../../lib/sim/mod.ts";
import { addDays } from "../../lib/views/day.ts";
import type { Counter, Design } from "./designs.ts";
import { drawTraffic, type Spike, type Visit } from "./traffic.ts";

/** What is simulated. Every field has a default but the design. */
export interface NetworkOptions {
  /** How views are counted. */
  readonly design: Design;
  /** What all chance comes from. @default {1} */
  readonly seed?: number;
  /** Views a day. @default {5000} */
  readonly viewsPerDay?: number;
  /** Data centers. @default {50} */
  readonly dataCenters?: number;
  /** Days; the last one only shows what becomes of the one before. @default {2} */
  readonly days?: number;
  /** Isolates of a data center at a time, at most. @default {3} */
  readonly isolatesMax?: number;
  /** How long an isolate idles before it goes, in milliseconds. @default {900_000} */
  readonly idleMs?: number;
  /** The chance, at each request, that the isolate has just been killed. @default {0.002} */
  readonly killRate?: number;
  /** Whether there is a data-center cache. @default {"cache"} */
  readonly edgeCache?: "cache" | "none";
  /** The chance, at each read, that a cache entry is gone. @default {0.001} */
  readonly cacheLossRate?: number;
  /** How nasty KV is. @default {KvWorld's defaults} */
  readonly kv?: Partial<KvWorldOptions>;
  /** Signups a day, which KV must not refuse. @default {1 % of the sessions, at least 3} */
  readonly signupsPerDay?: number;
  /** A burst. @default {none} */
  readonly spike?: Spike;
  /** Whether the daily roll-up runs. @default {"daily"} */
  readonly cron?: "daily" | "none";
  /** Told of the share of the work that is done, now and then. */
  readonly onProgress?: (share: number) => void;
}

/** What became of one day. */
export interface DayResult {
  /** The day, `YYYY-MM-DD`. */
  readonly day: string;
  /** Views made. */
  made: number;
  /** Views in KV when the day was over. */
  storedByDayEnd: number;
  /** Views in KV a day later. */
  storedByNextDayEnd: number;
  /** Views that were in KV within a minute; only measured for small loads. */
  storedWithinMinute: number;
  /** Views that KV had too many, at the worst moment. */
  overCount: number;
  /** KV operations, signups left out. */
  writes: number;
  lists: number;
  reads: number;
  /** Signups, and those that were refused. */
  signups: number;
  refused: number;
}

/** What became of a network. */
export interface NetworkResult {
  /** By day, the last one left out. */
  readonly days: DayResult[];
  /** Isolates that were born. */
  readonly isolates: number;
  /** Rejections that nobody handled. */
  readonly rejections: number;
  /** Tasks that went on for longer than `waitUntil` lets them. */
  readonly overdue: number;
  /** Changes with anything that happens. */
  readonly trace: string;
}

const DAY_MS = 86_400_000;
const PAGES_PER_SESSION = 2.5;
const START_MS = Date.UTC(2026, 0, 5);
const CRON_MS = 17 * 60_000;
const SAMPLES_A_DAY = 24;
/** Loads above this are not looked at view by view. */
const CLOSE_LOOK_MAX = 1_000;

/**
 * Simulates a network.
 *
 * @param options What is simulated.
 * @returns What became of it.
 */
export async function simulateNetwork(options: NetworkOptions): Promise<NetworkResult> {
  return await new Network(options).run();
}

class Network {
  readonly #options: NetworkOptions;
  readonly #sim: Simulation;
  readonly #world: KvWorld;
  readonly #pools: IsolatePool<Counter>[] = [];
  readonly #days: DayResult[] = [];
  readonly #visits: Visit[];
  /** Views by day and data center. */
  readonly #made = new Map<string, number>();
  #overdue = 0;
  #errors = 0;

  constructor(options: NetworkOptions) {
    const { seed = 1, viewsPerDay = 5_000, dataCenters = 50, days = 2 } = options;
    const { signupsPerDay = Math.max(3, viewsPerDay / 250), spike } = options;
    this.#options = options;
    this.#sim = new Simulation({ seed, startMs: START_MS });
    this.#world = new KvWorld({
      seed,
      now: () => this.#sim.clock.now(),
      sleep: (ms) => this.#sim.clock.sleep(ms),
      logMax: 0,
      ...options.kv,
    });
    for (let n = 0; n < dataCenters; n++) this.#pools.push(this.#pool(n));
    this.#visits = drawTraffic({
      random: this.#sim.chance("traffic"),
      start: START_MS,
      days,
      viewsPerDay,
      dataCenters,
      pagesPerSession: PAGES_PER_SESSION,
      pageMs: 40_000,
      signupRate: Math.min(1, signupsPerDay * PAGES_PER_SESSION / viewsPerDay),
      spike,
    });
    for (let n = 0; n < days; n++) this.#days.push(emptyResult(dayName(START_MS + n * DAY_MS)));
  }

  async run(): Promise<NetworkResult> {
    const { days = 2, design, cron = "daily", onProgress } = this.#options;
    this.#next(0);
    for (let n = 1; n <= days * SAMPLES_A_DAY; n++) {
      const at = START_MS + n * DAY_MS / SAMPLES_A_DAY;
      this.#sim.at(at - 1, () => this.#sample());
    }
    for (let n = 0; n < days; n++) {
      const at = START_MS + n * DAY_MS + CRON_MS;
      if (cron === "daily" && design.daily) {
        this.#sim.at(at, () => design.daily?.(this.#world.location("cron"), dayName(at)));
      }
    }
    for (let n = 1; n <= days * SAMPLES_A_DAY; n++) {
      await this.#sim.runUntil(START_MS + n * DAY_MS / SAMPLES_A_DAY);
      onProgress?.(n / days / SAMPLES_A_DAY);
    }
    return {
      days: this.#days.slice(0, -1),
      isolates: this.#pools.reduce((sum, { born }) => sum + born, 0),
      rejections: this.#sim.rejections.length,
      overdue: this.#overdue,
      trace: `${this.#world.traceHash} ${this.#sim.trace.hash} ${this.#errors}`,
    };
  }

  #pool(n: number): IsolatePool<Counter> {
    const { isolatesMax = 3, idleMs = 900_000, killRate = 0.002, design } = this.#options;
    const { edgeCache = "cache", cacheLossRate = 0.001 } = this.#options;
    const name = coloName(n);
    const random = this.#sim.chance(name);
    return new IsolatePool<Counter>(this.#sim, {
      name,
      kv: this.#world.location(name),
      edgeCache: edgeCache === "none"
        ? null
        : new EdgeCacheFake({ clock: this.#sim.clock, random, evictionRate: cacheLossRate }),
      isolatesMax,
      idleMsMax: idleMs,
      evictionRate: killRate,
      start: (isolate) => design.start(isolate, name, random, () => this.#errors++),
      onEnd: (isolate) => this.#overdue += isolate.overdue,
    });
  }

  /** Lets one visit happen and plans the next one, so that few events wait at a time. */
  #next(index: number): void {
    const visit = this.#visits[index];
    if (!visit) return;
    this.#sim.at(visit.at, () => {
      this.#visit(visit);
      this.#next(index + 1);
    });
  }

  #visit({ at, dataCenter, page, kind }: Visit): void {
    const pool = this.#pools[dataCenter];
    const day = this.#days[Math.floor((at - START_MS) / DAY_MS)];
    if (!pool || !day) return;
    if (kind === "signup") {
      day.signups++;
      const kv = this.#world.location(coloName(dataCenter));
      this.#sim.spawn(this.#signUp(kv, `waitlist:${at}-${page}@example.org`, day));
      return;
    }
    const { app } = pool.pick();
    day.made++;
    app.view(page);
    this.#sim.touch();
    if ((this.#options.viewsPerDay ?? 5_000) > CLOSE_LOOK_MAX) return;
    const name = `${day.day}:${coloName(dataCenter)}`;
    const made = (this.#made.get(name) ?? 0) + 1;
    this.#made.set(name, made);
    this.#sim.at(at + 60_000, () => {
      if (this.#storedBy(name) >= made) day.storedWithinMinute++;
    });
  }

  /** As the Worker does it: a read, and then a write. */
  async #signUp(kv: Kv, key: string, day: DayResult): Promise<void> {
    await kv.get(key).catch(() => null);
    try {
      await kv.put(key, '{"v":1}');
    } catch (error) {
      if (classifyKvError(error) === "quota") day.refused++;
    }
  }

  /** Views of a day and data center in its shards. */
  #storedBy(name: string): number {
    let shards = 0;
    for (const text of this.#world.central(`views:${name}`).values()) {
      shards += JSON.parse(text).total;
    }
    return shards;
  }

  /** Views of a day in KV: its shards or its roll-up, whichever knows more. */
  #stored(day: string): number {
    let shards = 0;
    for (const text of this.#world.central(`views:${day}:`).values()) {
      shards += JSON.parse(text).total;
    }
    const rolled = this.#world.central(`traffic:${day}`).get(`traffic:${day}`);
    return Math.max(shards, rolled === undefined ? 0 : JSON.parse(rolled).total);
  }

  /** Looks at the last three days; at the end of a day also at what it took. */
  #sample(): void {
    const now = this.#sim.clock.now() + 1;
    const index = Math.floor((now - 1 - START_MS) / DAY_MS);
    for (let n = Math.max(0, index - 2); n <= index; n++) {
      const day = this.#days[n];
      if (!day) continue;
      const stored = this.#stored(day.day);
      day.overCount = Math.max(day.overCount, stored - day.made);
      if ((now - START_MS) % DAY_MS !== 0) continue;
      if (n === index) day.storedByDayEnd = stored;
      if (n === index - 1) day.storedByNextDayEnd = stored;
    }
    const today = this.#days[index];
    if (!today || (now - START_MS) % DAY_MS !== 0) return;
    const all = this.#world.counts();
    const signups = this.#world.counts({ prefix: "waitlist" });
    const before = this.#days.slice(0, index);
    const spent = (kind: "writes" | "lists" | "reads") =>
      before.reduce((sum, day) => sum + day[kind], 0);
    today.writes = total(all, "write") - total(signups, "write") - spent("writes");
    today.lists = total(all, "list") - spent("lists");
    today.reads = total(all, "read") - total(signups, "read") - spent("reads");
  }
}

function total(counts: unknown, kind: string): number {
  return Number((counts as Record<string, number>)[kind] ?? 0);
}

function dayName(ms: number): string {
  return addDays(new Date(ms).toISOString().slice(0, 10), 0);
}

/** A name for the n-th data center. */
function coloName(n: number): string {
  return `D${String(n).padStart(3, "0")}`;
}

function emptyResult(day: string): DayResult {
  return {
    day,
    made: 0,
    storedByDayEnd: 0,
    storedByNextDayEnd: 0,
    storedWithinMinute: 0,
    overCount: 0,
    writes: 0,
    lists: 0,
    reads: 0,
    signups: 0,
    refused: 0,
  };
}
