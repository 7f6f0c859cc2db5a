/**
 * Worlds in which views grow too old to be stored: they are dropped, and said to be.
 *
 * @module
 */

import { KvWorld } from "../../lib/kv/kv_world.ts";
import type { Kv } from "../../lib/kv/kv.ts";
import { PageViews } from "../../lib/page_views.ts";
import { EdgeCacheFake, Isolate, Simulation } from "../../lib/sim/mod.ts";
import { addDays, Calendar } from "../../lib/views/day.ts";
import { reportDay } from "../../lib/views/report.ts";
import { rollUpDays } from "../../lib/views/roll_up.ts";

/** One such world. */
export interface DropsOptions {
  /** What all chance comes from. */
  readonly seed: number;
  /** Nobody comes for days while views wait; or somebody comes, but KV is out for four days. */
  readonly kind: "asleep" | "outage";
  /** Whether data centers have a cache. */
  readonly cache: "sound" | "none";
  /** Isolates of each data center. They live on; where one dies, another takes its place. */
  readonly isolates: number;
  /** The chance, each day, that an isolate dies. */
  readonly deathRate: number;
}

/** What became of its views. */
export interface DropsResult {
  /** Views made, and those of isolates that died later. */
  readonly made: number;
  readonly madeByDead: number;
  /** What the reports of all days add up to. */
  readonly total: number;
  readonly dropped: number;
  /** What living isolates and caches still hold. */
  readonly pending: number;
  /** Shares of a drop are rounded down: at most so many views are lost in that. */
  readonly rounded: number;
  readonly rejections: number;
}

const START_MS = Date.UTC(2026, 2, 7, 9);
const HOUR_MS = 3_600_000;
const DAYS = 7;
/** When KV is back, and somebody comes again, in days. */
const BACK = 4;
const CENTERS = ["AMS", "SIN"];
const HEADERS = { "user-agent": "Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/140.0" };

/**
 * Lets such a world happen.
 *
 * @param options The world.
 * @returns What became of its views.
 */
export async function runDrops(options: DropsOptions): Promise<DropsResult> {
  const { seed, kind, cache, isolates, deathRate } = options;
  const sim = new Simulation({ seed, startMs: START_MS });
  const { now, sleep } = sim.clock;
  const world = new KvWorld({ seed, now, sleep, logMax: 0 });
  const repaired = world.fail({ fault: "503", prefix: "views", times: Infinity });
  const sums = { made: 0, madeByDead: 0 };
  const living: { start: () => PageViews; views: PageViews; isolate: Isolate; made: number }[] = [];
  for (const colo of CENTERS) {
    const random = sim.chance(colo);
    const fake = new EdgeCacheFake({ clock: sim.clock, random, evictionRate: 0 });
    const edgeCache = cache === "none" ? null : fake;
    for (let n = 0; n < isolates; n++) {
      const kv: Kv = world.location(colo);
      const one = {
        made: 0,
        isolate: new Isolate(sim, { name: `${colo}${n}`, kv, edgeCache }),
        start(): PageViews {
          this.isolate = new Isolate(sim, { name: `${colo}${n}`, kv, edgeCache });
          const { clock, edgeCache: guarded } = this.isolate;
          this.made = 0;
          return new PageViews(this.isolate.kv, { clock, random, edgeCache: guarded, colo });
        },
      };
      living.push(Object.assign(one, { views: one.start() }));
    }
  }
  const view = (one: typeof living[number]) => {
    const request = new Request("https://site.example/", { headers: HEADERS });
    const response = new Response("", { headers: { "content-type": "text/html" } });
    one.views.count(request, response, one.isolate.ctx);
    one.made++;
    sums.made++;
    sim.touch();
  };
  for (let day = 0; day < DAYS; day++) {
    const isQuiet = kind === "asleep" && day > 0 && day < BACK;
    if (day === BACK) repaired();
    for (const one of living) {
      if (sim.random() < deathRate) {
        one.isolate.kill();
        sums.madeByDead += one.made;
        one.views = one.start();
      }
      if (isQuiet) continue;
      for (let n = 0; n < 1 + Math.floor(sim.random() * 5); n++) {
        view(one);
        await sim.runUntil(now() + Math.floor(sim.random() * HOUR_MS / 2));
      }
    }
    await sim.runUntil(START_MS + (day + 1) * 24 * HOUR_MS);
    const today = new Date(now()).toISOString().slice(0, 10);
    await within(sim, rollUpDays(world.location("cron"), today));
  }
  const calendar = new Calendar();
  const result = { ...sums, total: 0, dropped: 0, pending: 0, rejections: sim.rejections.length };
  for (let day = 0; day <= DAYS; day++) {
    const name = addDays("2026-03-07", day);
    const kv = world.location("reader");
    const report = await within(sim, reportDay({ kv, now: now(), calendar }, name));
    result.total += report.total;
    result.dropped += report.dropped;
    for (const colo of CENTERS) {
      const known = living.filter(({ isolate }) => isolate.name.startsWith(colo));
      const waiting = await Promise.all(known.map(({ views }) => views.pending(name)));
      result.pending += cache === "none"
        ? waiting.reduce((sum, one) => sum + one, 0)
        : Math.max(...waiting);
    }
  }
  return { ...result, rounded: (isolates - 1) * CENTERS.length * BACK };
}

/** Lets time go on until something has been answered. */
async function within<T>(sim: Simulation, task: Promise<T>): Promise<T> {
  sim.spawn(task);
  await sim.runUntil(sim.clock.now() + 10 * 60_000);
  return await task;
}
