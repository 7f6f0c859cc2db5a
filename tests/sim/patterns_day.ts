/**
 * A day on which a site uses everything at once: page views, limits, conversations, searches, a feed
 * and signups, on one account's allowance.
 *
 * @module
 */

import { Conversations } from "../../lib/conversations.ts";
import { Feed } from "../../lib/feed.ts";
import { classifyKvError } from "../../lib/kv/errors.ts";
import { KvWorld } from "../../lib/kv/kv_world.ts";
import { KeywordLog } from "../../lib/keyword_log.ts";
import { PageViews } from "../../lib/page_views.ts";
import { RateLimiter } from "../../lib/rate_limiter.ts";
import type { Random } from "../../lib/clock.ts";
import { EdgeCacheFake, type Isolate, IsolatePool, Simulation } from "../../lib/sim/mod.ts";
import { WriteBudget } from "../../lib/write_budget.ts";
import { drawTraffic, type Visit } from "./traffic.ts";

/** What is simulated. */
export interface PatternsOptions {
  /** What all chance comes from. */
  readonly seed: number;
  /** Views a day. A tenth as many chat turns, searches and limited requests each come on top. */
  readonly viewsPerDay: number;
  /** Data centers. */
  readonly dataCenters: number;
  /** Told of the share of the work that is done. */
  readonly onProgress?: (share: number) => void;
}

/** What became of it. */
export interface PatternsResult {
  /** KV writes tried on the worst day, by the first part of the key. */
  readonly byPrefix: Readonly<Record<string, number>>;
  /** All of them. */
  readonly writes: number;
  /** Lists on that day. */
  readonly lists: number;
  /** Signups, and those refused for want of allowance. */
  readonly signups: number;
  readonly refused: number;
  /** Rejections that nobody handled. */
  readonly rejections: number;
  /** All of this in words. */
  readonly text: string;
}

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 5);
const DAYS = 2;
const PREFIXES = ["views", "traffic", "chat", "kw", "rl", "feed", "waitlist"] as const;
const HEADERS = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};
const PAGE = new Response("", { headers: { "content-type": "text/html" } });

/** Everything that runs in one isolate. */
interface Site {
  visit(page: number, random: Random): void;
}

function startSite(isolate: Isolate, colo: string, random: Random): Site {
  const { clock, kv, edgeCache, ctx } = isolate;
  const budget = new WriteBudget({ now: () => clock.now(), random });
  const common = { clock, random, budget, edgeCache };
  const views = new PageViews(kv, { ...common, colo, exchange: budget });
  const limiter = new RateLimiter(kv, { clock, random, budget, limit: 10, windowMs: 60_000 });
  const chats = new Conversations(kv, { clock, budget });
  const keywords = new KeywordLog(kv, common);
  const feed = new Feed<{ id: string }>(kv, { ...common, id: (item) => item.id });
  let turns = 0;
  const pattern = async (page: number, chance: number) => {
    const id = `${isolate.name}-${turns++}`;
    // As the Worker does before it answers.
    await budget.sync(edgeCache);
    if (chance < 0.1) {
      const said = [{ id: `${id}q`, role: "user", content: "?" }, {
        id,
        role: "assistant",
        content: "!",
      }];
      await chats.append(["web", `${isolate.name}-${page % 5}`], said, { ctx });
    } else if (chance < 0.2) keywords.log(`term ${page}`, ctx);
    else if (chance < 0.3) await limiter.limit(`client-${page}`, { ctx });
    else if (chance < 0.31) await feed.add("news", { id });
    else return;
    await budget.sync(edgeCache);
  };
  return {
    visit(page, chance) {
      views.record(new Request(`https://site.example/${page}`, { headers: HEADERS }), PAGE);
      if (views.isFlushDue()) ctx.waitUntil(views.flush().then(() => budget.sync(edgeCache)));
      isolate.run(pattern(page, chance()));
    },
  };
}

/**
 * Simulates two such days.
 *
 * @param options What is simulated.
 * @returns What became of the worse one.
 */
export async function simulatePatterns(options: PatternsOptions): Promise<PatternsResult> {
  const { seed, viewsPerDay, dataCenters, onProgress } = options;
  const sim = new Simulation({ seed, startMs: START_MS, settleTicks: 96 });
  const { clock } = sim;
  const world = new KvWorld({ seed, now: clock.now, sleep: clock.sleep, logMax: 0 });
  const pools = Array.from({ length: dataCenters }, (_, n) => {
    const name = `D${n}`;
    const random = sim.chance(name);
    return new IsolatePool<Site>(sim, {
      name,
      kv: world.location(name),
      edgeCache: new EdgeCacheFake({ clock, random }),
      evictionRate: 0.002,
      start: (isolate) => startSite(isolate, name, random),
    });
  });
  const random = sim.chance("patterns");
  const tally = { signups: 0, refused: 0 };
  const signUp = async ({ at, page, dataCenter }: Visit) => {
    tally.signups++;
    const kv = world.location(`D${dataCenter}`);
    const key = `waitlist:${at}-${page}@example.org`;
    await kv.get(key);
    await kv.put(key, '{"v":1}').catch((error) => {
      if (classifyKvError(error) === "quota") tally.refused++;
    });
  };
  const visits = drawTraffic({
    random: sim.chance("traffic"),
    start: START_MS,
    days: DAYS,
    viewsPerDay,
    dataCenters,
    pagesPerSession: 2.5,
    pageMs: 40_000,
    signupRate: Math.min(0.02, 300 / viewsPerDay),
    spike: undefined,
  });
  const next = (index: number) => {
    const visit = visits[index];
    if (!visit) return;
    sim.at(visit.at, () => {
      if (visit.kind === "signup") sim.spawn(signUp(visit));
      else pools[visit.dataCenter]?.pick().app.visit(visit.page, random);
      sim.touch();
      next(index + 1);
    });
  };
  next(0);
  let worst: Record<string, number> = {};
  let before: Record<string, number> = {};
  for (let hour = 1; hour <= DAYS * 24; hour++) {
    await sim.runUntil(START_MS + hour * DAY_MS / 24);
    onProgress?.(hour / DAYS / 24);
    if (hour % 24 !== 0) continue;
    const now = spentBy(world);
    const day = Object.fromEntries(
      Object.entries(now).map(([name, count]) => [name, count - (before[name] ?? 0)]),
    );
    if ((day.all ?? 0) > (worst.all ?? 0)) worst = day;
    before = now;
  }
  const { all: writes = 0, lists = 0, ...byPrefix } = worst;
  const result = { byPrefix, writes, lists, ...tally, rejections: sim.rejections.length };
  const parts = Object.entries(byPrefix).map(([name, count]) => `${name} ${count}`).join(", ");
  return {
    ...result,
    text: `${viewsPerDay} views a day over ${dataCenters} data centers, all patterns on.
KV writes tried on the worse of ${DAYS} days: ${writes} of 1,000 (${parts}); lists: ${lists}.
Signups: ${tally.signups}, refused: ${tally.refused}. Unhandled rejections: ${result.rejections}.`,
  };
}

function spentBy(world: KvWorld): Record<string, number> {
  const spent: Record<string, number> = {};
  for (const prefix of PREFIXES) spent[prefix] = world.counts({ prefix }).write;
  return { ...spent, all: world.counts().write, lists: world.counts().list };
}
