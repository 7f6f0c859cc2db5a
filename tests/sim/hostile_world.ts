/**
 * A small world in which everything that can fail does, and what must hold in it nevertheless.
 *
 * Every isolate's visitors ask for a page of their own, so that the stored paths tell whose views are
 * in KV and whose are lost.
 *
 * @module
 */

import { KvWorld } from "../../lib/kv/kv_world.ts";
import type { Random } from "../../lib/clock.ts";
import { type Isolate, IsolatePool, Simulation } from "../../lib/sim/mod.ts";
import { addDays, Calendar } from "../../lib/views/day.ts";
import { coloOf } from "../../lib/views/shard.ts";
import { rollUpDays } from "../../lib/views/roll_up.ts";
import { overspent } from "./hostile_budget.ts";
import { HostileCache, HostileKv } from "./hostile_parts.ts";
import { drawHostile, type HostileOptions } from "./hostile_options.ts";
import { type Program, startCounter, startWorker } from "./hostile_programs.ts";
import { drawTraffic, type Visit } from "./traffic.ts";

/** What became of a world. */
export interface HostileResult {
  /** The world. */
  readonly options: HostileOptions;
  /** What should not have been; none where all invariants hold. */
  readonly problems: readonly string[];
  /** Changes with anything that happens. */
  readonly trace: string;
  /** Views made, and what became of them. */
  readonly made: number;
  readonly stored: number;
  readonly pending: number;
  readonly lost: number;
  /** KV operations for page views on the worst day. */
  readonly writes: number;
  readonly lists: number;
  /** Signups, and those that were refused. */
  readonly signups: number;
  readonly refused: number;
}

const HOUR_MS = 3_600_000;
/** Writes for a day's roll-up at most, beside the budget of the shards. */
const ROLL_UPS_MAX = 4;
const LISTS_MAX = 600;
const CALM_ROUNDS = 4;

/** One data center. */
interface Center {
  readonly name: string;
  readonly pool: IsolatePool<Program>;
  readonly kv: HostileKv;
  readonly cache: HostileCache;
}

/** One isolate's views by day. */
interface Tag {
  readonly center: string;
  readonly isolate: Isolate;
  readonly made: Map<string, number>;
}

/**
 * Lets a world happen.
 *
 * @param seed What it is drawn from.
 * @param changes What is to be otherwise than drawn.
 * @returns What became of it.
 */
export async function runHostile(
  seed: number,
  changes: Partial<HostileOptions> = {},
): Promise<HostileResult> {
  return await new Hostile({ ...drawHostile(seed), ...changes }).run();
}

class Hostile {
  readonly #options: HostileOptions;
  readonly #sim: Simulation;
  readonly #world: KvWorld;
  readonly #random: Random;
  readonly #calendar: Calendar;
  readonly #centers: Center[] = [];
  readonly #tags = new Map<string, Tag>();
  readonly #kvs: HostileKv[] = [];
  readonly #problems = new Set<string>();
  readonly #startMs: number;
  readonly #endMs: number;
  #signups = 0;
  #refused = 0;
  #writesMax = 0;
  #listsMax = 0;
  #before = { writes: 0, lists: 0 };
  #state: "hostile" | "calm" = "hostile";

  constructor(options: HostileOptions) {
    const { seed, startHour, hours, dataCenters, program, quota, outage } = options;
    this.#options = options;
    this.#startMs = Date.UTC(2026, 2, 7) + startHour * HOUR_MS;
    this.#endMs = this.#startMs + hours * HOUR_MS;
    this.#calendar = new Calendar(options.timeZone);
    this.#sim = new Simulation({ seed, startMs: this.#startMs, settleTicks: 96 });
    this.#random = this.#sim.chance("hostile");
    this.#world = new KvWorld({
      seed,
      now: () => this.#sim.clock.now(),
      // The Worker's signups are awaited while time stands still.
      ...(program === "counter" ? { sleep: (ms: number) => this.#sim.clock.sleep(ms) } : {}),
      staleness: options.staleness,
      logMax: 0,
    });
    for (let n = 0; n < dataCenters; n++) this.#centers.push(this.#center(`C${n}`));
    if (quota === "spent") {
      this.#world.spend("write", 1_000 - Math.floor(this.#random() * 8));
      this.#world.spend("list", 1_000 - Math.floor(this.#random() * 8));
    }
    if (outage === "none") return;
    const operation = outage === "everything" ? undefined : outage.slice(0, -1) as "read";
    for (const prefix of ["views:", "traffic:"]) {
      this.#world.fail({ fault: "503", operation, prefix, times: Infinity } as never);
    }
  }

  async run(): Promise<HostileResult> {
    const { hours, views, dataCenters } = this.#options;
    const visits = drawTraffic({
      random: this.#sim.chance("traffic"),
      start: this.#startMs,
      days: hours / 24,
      viewsPerDay: views * 24 / hours,
      dataCenters,
      pagesPerSession: 2.5,
      pageMs: 40_000,
      signupRate: 0.1,
      spike: undefined,
    });
    // Some zones begin their days at half past.
    for (let at = this.#startMs; at <= this.#endMs; at += HOUR_MS / 2) {
      this.#sim.at(at - 1, () => this.#sample());
    }
    for (let at = this.#startMs + HOUR_MS; at <= this.#endMs; at += HOUR_MS) {
      if (this.#calendar.dayAt(at).name !== this.#calendar.dayAt(at - HOUR_MS).name) {
        this.#sim.at(at + 17 * 60_000, () => this.#rollUp());
      }
    }
    for (const visit of visits) {
      if (visit.kind === "view") this.#sim.at(visit.at, () => this.#view(visit.dataCenter));
      else {
        await this.#sim.runUntil(visit.at);
        await this.#signup(visit);
      }
    }
    await this.#sim.runUntil(this.#endMs);
    await this.#calm();
    return await this.#account();
  }

  #center(name: string): Center {
    const { isolatesMax, idleMinutes, killRate, killPoints, program } = this.#options;
    const random = this.#sim.chance(name);
    const kv = this.#kv(name, random);
    const cache = new HostileCache(this.#sim, this.#options.cache, random);
    const start = program === "worker" ? startWorker : startCounter;
    const pool = new IsolatePool<Program>(this.#sim, {
      name,
      kv: kv.kv,
      edgeCache: this.#options.cache === "none" ? null : cache.cache,
      isolatesMax,
      idleMsMax: idleMinutes * 60_000,
      evictionRate: killRate,
      start: (isolate) => {
        if (killPoints > 0 && this.#state === "hostile") {
          isolate.killAt(Math.floor(-Math.log(1 - random()) * killPoints));
        }
        const page = `/i${this.#tags.size}`;
        this.#tags.set(page, { center: name, isolate, made: new Map() });
        return start(isolate, { ...this.#options, page, colo: name, random });
      },
    });
    return { name, pool, kv, cache };
  }

  #kv(name: string, random: Random): HostileKv {
    const { now } = this.#sim.clock;
    const kv = new HostileKv(this.#world, name, this.#options, { random, now });
    this.#kvs.push(kv);
    return kv;
  }

  #view(index: number): void {
    const { isolate, app } = this.#centers[index]?.pool.pick() ?? {};
    if (!isolate || !app) return;
    const { name } = this.#calendar.dayAt(this.#sim.clock.now());
    const made = this.#tags.get(app.page)?.made;
    made?.set(name, (made.get(name) ?? 0) + 1);
    app.view((problem) => this.#problems.add(problem));
    this.#sim.touch();
  }

  async #signup({ dataCenter, at }: Visit): Promise<void> {
    const center = this.#centers[dataCenter];
    if (!center || this.#options.store === "none") return;
    this.#signups++;
    const email = `someone${at}@example.org`;
    const { isolate, app } = center.pool.pick();
    const outcome = app.signup ? await settled(app.signup(email)) : await this.#put(center, email);
    if (outcome !== "refused") return;
    if (this.#options.quota === "free" && isolate.alive) this.#refused++;
  }

  /** The signup of a site that has a Worker of its own around the counter. */
  async #put(center: Center, email: string): Promise<"stored" | "refused"> {
    let outcome: "stored" | "refused" = "stored";
    const kv = this.#world.location(center.name);
    this.#sim.spawn(kv.put(`waitlist:${email}`, "1").catch(() => outcome = "refused"));
    await this.#sim.runUntil(this.#sim.clock.now() + 1_000);
    return outcome;
  }

  async #rollUp(): Promise<void> {
    const kv = this.#kv("cron", this.#random);
    if (this.#state === "calm") kv.calm();
    const today = this.#calendar.dayAt(this.#sim.clock.now()).name;
    // A cron trigger that fails is a line in the log.
    await rollUpDays(kv.kv, today, { writesPerDay: this.#options.writesPerDay }).catch(() => {});
  }

  #days(): string[] {
    const today = this.#calendar.dayAt(this.#sim.clock.now()).name;
    return [today, addDays(today, -1), addDays(today, -2)];
  }

  /** Views in KV by page, data center and in all. */
  #stored(day: string) {
    const pages = new Map<string, number>();
    const centers = new Map<string, number>();
    let total = 0;
    for (const [key, text] of this.#world.central(`views:${day}:`)) {
      const shard = JSON.parse(text);
      if (typeof shard.total !== "number") continue;
      total += shard.total;
      const center = coloOf(key.split(":")[2] ?? "");
      centers.set(center, (centers.get(center) ?? 0) + shard.total);
      for (const [page, count] of Object.entries(shard.paths)) {
        pages.set(page, (pages.get(page) ?? 0) + Number(count));
      }
    }
    const [rolled = "{}"] = this.#world.central(`traffic:${day}`).values();
    return { pages, centers, total, rolled: Number(JSON.parse(rolled).total ?? 0) };
  }

  #made(day: string): number {
    let made = 0;
    for (const tag of this.#tags.values()) made += tag.made.get(day) ?? 0;
    return made;
  }

  /** Invariant 1, by day and by isolate, and invariant 4. */
  #sample(): void {
    const now = this.#sim.clock.now() + 1;
    for (const day of this.#days()) {
      const made = this.#made(day);
      const { pages, total, rolled } = this.#stored(day);
      if (total > made) this.#problems.add(`over-count: ${day} has ${total} of ${made} views`);
      if (rolled > made) this.#problems.add(`over-count: roll-up of ${day}: ${rolled} of ${made}`);
      for (const [page, count] of pages) {
        const of = this.#tags.get(page)?.made.get(day) ?? 0;
        if (page !== "other" && count > of) {
          this.#problems.add(`over-count: ${page} on ${day} has ${count} of ${of} views`);
        }
      }
    }
    if (this.#calendar.dayAt(now).start === now || now >= this.#endMs) this.#spent();
  }

  #spent(): void {
    const all = this.#world.counts();
    const own = this.#world.counts({ prefix: "waitlist" });
    const writes = this.#kvs.reduce((sum, kv) => sum + kv.writes.length, 0);
    const sum = { writes, lists: all.list - own.list };
    this.#writesMax = Math.max(this.#writesMax, sum.writes - this.#before.writes);
    this.#listsMax = Math.max(this.#listsMax, sum.lists - this.#before.lists);
    this.#before = sum;
  }

  /** Lets failures end, and every isolate that lives bring in what it has. */
  async #calm(): Promise<void> {
    this.#state = "calm";
    for (const kv of this.#kvs) kv.calm();
    for (const { pool, cache } of this.#centers) {
      cache.calm();
      for (const { isolate } of pool.running) isolate.killAt(Infinity);
    }
    const view = (app: Program) => {
      const { name } = this.#calendar.dayAt(this.#sim.clock.now());
      const made = this.#tags.get(app.page)?.made;
      made?.set(name, (made.get(name) ?? 0) + 1);
      app.view((problem) => this.#problems.add(problem));
    };
    // Work that hangs is given up after 35 seconds; an overwritten write shows in a listing much later.
    for (let round = 0; round < CALM_ROUNDS; round++) {
      const start = this.#sim.clock.now();
      for (const { pool } of this.#centers) {
        for (const [n, { app }] of pool.running.entries()) {
          this.#sim.at(start + 9_000 * n, () => view(app));
        }
      }
      await this.#sim.runUntil(start + 13 * 60_000);
    }
    this.#sample();
    this.#spent();
  }

  /** Invariant 2, and what was gathered of the others. */
  async #account(): Promise<HostileResult> {
    const sums = { made: 0, stored: 0, pending: 0, lost: 0 };
    for (const day of this.#days()) {
      for (const center of this.#centers) {
        const one = await this.#accountOf(day, center);
        sums.made += one.made;
        sums.stored += one.stored;
        sums.pending += one.pending;
        sums.lost += one.lost;
      }
    }
    const problem = (text: string) => void this.#problems.add(text);
    const writes = this.#kvs.flatMap((kv) => kv.location === "cron" ? [] : kv.writes);
    const span = { startMs: this.#startMs, endMs: this.#sim.clock.now() };
    overspent(this.#options, this.#calendar, writes, span).forEach(problem);
    const { writesPerDay } = this.#options;
    if (writesPerDay === 400 && this.#writesMax > writesPerDay + ROLL_UPS_MAX) {
      problem(`${this.#writesMax} writes on one day`);
    }
    if (this.#listsMax > LISTS_MAX) problem(`${this.#listsMax} lists on one day`);
    if (this.#refused > 0) problem(`${this.#refused} signups refused`);
    for (const { leaks } of this.#kvs) leaks.forEach((text) => problem(`stored: ${text}`));
    for (const { cache } of this.#centers) {
      cache.leaks.forEach((text) => problem(`cached: ${text}`));
    }
    for (const error of this.#sim.rejections) problem(`unhandled: ${error}`);
    return {
      options: this.#options,
      problems: [...this.#problems],
      trace: `${this.#world.traceHash} ${this.#sim.trace.hash} ${JSON.stringify(sums)}`,
      ...sums,
      writes: this.#writesMax,
      lists: this.#listsMax,
      signups: this.#signups,
      refused: this.#refused,
    };
  }

  /** What became of a day's views in one data center. Only views of dead isolates may be lost. */
  async #accountOf(day: string, center: Center) {
    const { pages, centers } = this.#stored(day);
    const known = new Map<string, number>();
    await center.cache.count(day, known);
    const sums = { made: 0, stored: centers.get(center.name) ?? 0, pending: 0, lost: 0 };
    for (const [page, { center: name, isolate, made }] of this.#tags) {
      if (name !== center.name) continue;
      const of = made.get(day) ?? 0;
      sums.made += of;
      if (isolate.alive) continue;
      sums.lost += of - Math.max(pages.get(page) ?? 0, known.get(page) ?? 0);
    }
    sums.lost = Math.min(sums.lost, sums.made - sums.stored);
    sums.pending = sums.made - sums.stored - sums.lost;
    const reports: number[] = [];
    for (const { app } of center.pool.running) reports.push(await app.pending(day) ?? Infinity);
    const told = this.#options.cache === "none"
      ? reports.reduce((sum, one) => sum + one, 0)
      : Math.max(...reports);
    const { cache } = this.#options;
    const overwritten = cache === "failing" || cache === "forgetful"
      ? center.kv.overwritten(day)
      : 0;
    if (reports.length > 0 && told + overwritten < sums.pending) {
      const { made, stored, lost } = sums;
      this.#problems.add(
        `${center.name} on ${day}: of ${made} views ${stored} are stored and ${lost} lost, but only ${told} are pending`,
      );
    }
    return sums;
  }
}

/** A promise whose isolate may die: it has a while of real turns, not of simulated time. */
async function settled<T>(task: Promise<T>): Promise<T | "gone"> {
  let outcome: T | "gone" = "gone";
  let state = "waiting";
  task.then((value) => {
    outcome = value;
    state = "done";
  });
  for (let turn = 0; turn < 20 && state === "waiting"; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return outcome;
}
