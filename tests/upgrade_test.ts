/**
 * What earlier versions stored is still read. The fixtures are frozen: a format that changes gets a new
 * fixture and a version of its own, and these stay.
 */
import { assertEquals } from "@std/assert";
import article from "./fixtures/stored_article.json" with { type: "json" };
import early from "./fixtures/stored_early.json" with { type: "json" };
import current from "./fixtures/stored_now.json" with { type: "json" };
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { Calendar } from "../lib/views/day.ts";
import { reportDay, reportDays } from "../lib/views/report.ts";
import { rollUpDays } from "../lib/views/roll_up.ts";
import type { DayReport } from "../lib/views/types.ts";
import { createWorker } from "../lib/worker/create_worker.ts";

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly metadata?: unknown;
}

const TODAY = "2026-11-30";
const NOON = Date.parse(`${TODAY}T12:00:00Z`);
const now = () => NOON;
const calendar = new Calendar();

async function restore(entries: readonly Entry[]): Promise<MemoryKv> {
  const kv = new MemoryKv({ now });
  for (const { key, value, metadata } of entries) {
    await kv.put(key, JSON.stringify(value), metadata === undefined ? {} : { metadata });
  }
  return kv;
}

/** The part of a report that has been stored. */
async function countsOf(kv: MemoryKv, day: string): Promise<Partial<DayReport>> {
  const report = await reportDay({ kv, now: NOON, calendar }, day);
  const { total, paths, refs, kinds, skipped, dropped, damaged } = report;
  return { total, paths, refs, kinds, skipped, dropped, damaged };
}

async function valueOf(kv: MemoryKv, key: string): Promise<Record<string, unknown>> {
  return JSON.parse(await kv.get(key) ?? "null");
}

const NOW_COUNTS = {
  total: 5,
  paths: { "/": 3, "/about": 1, "/blog/one": 1 },
  refs: { direct: 4, google: 1 },
  kinds: { browser: 5 },
  skipped: { notFound: 1, bot: 2 },
  dropped: 0,
  damaged: 0,
};

Deno.test("shards v1 and a roll-up v2 are read, and rolled up without a change", async () => {
  const kv = await restore(current);
  assertEquals(await countsOf(kv, "2026-11-29"), NOW_COUNTS);
  assertEquals(await countsOf(kv, TODAY), NOW_COUNTS);
  await rollUpDays(kv, TODAY);
  const { census: _, ...rolled } = await valueOf(kv, "traffic:2026-11-29");
  const { census: __, ...stored } = Object(current[0]?.value);
  assertEquals(rolled, stored);
  assertEquals(await countsOf(kv, TODAY), NOW_COUNTS);
  assertEquals((await valueOf(kv, `traffic:${TODAY}`)).writers, {
    "LHR-ogd941": 3,
    "NRT-ip5w1r": 2,
  });
});

Deno.test("shards and roll-ups without the fields that came later are read", async () => {
  const kv = await restore(early);
  const none = { kinds: {}, skipped: {}, dropped: 0, damaged: 0 };
  const before = { ...none, total: 9, paths: { "/": 9 }, refs: { direct: 9 } };
  const yesterday = {
    ...none,
    total: 6,
    paths: { "/": 5, "/about": 1 },
    refs: { direct: 4, google: 2 },
  };
  assertEquals(await countsOf(kv, "2026-11-28"), before);
  assertEquals(await countsOf(kv, "2026-11-29"), yesterday);
  await rollUpDays(kv, TODAY);
  assertEquals(await countsOf(kv, "2026-11-28"), before);
  assertEquals(await countsOf(kv, "2026-11-29"), yesterday);
  assertEquals((await valueOf(kv, "traffic:2026-11-29")).v, 2);
});

Deno.test("fields that a later version adds do no harm", async () => {
  const kv = await restore(early);
  assertEquals((await countsOf(kv, TODAY)).total, 1);
  await rollUpDays(kv, TODAY);
  assertEquals((await countsOf(kv, TODAY)).total, 1);
});

Deno.test("article-style buckets are read as they are, and shards are added to them", async () => {
  const kv = await restore(article);
  const report = await reportDays({ kv, now: NOON, calendar }, 30);
  assertEquals([report.total, report.damaged], [12 + 7 + 3 + 2, 0]);
  const today = {
    total: 5,
    paths: { "/": 3, "/about": 1, "/new": 1 },
    refs: { direct: 5 },
    kinds: { browser: 2 },
    skipped: { bot: 1 },
    dropped: 0,
    damaged: 0,
  };
  assertEquals(await countsOf(kv, TODAY), today);
  for (let time = 0; time < 2; time++) {
    await rollUpDays(kv, TODAY);
    assertEquals(await countsOf(kv, TODAY), today, "rolled up once or twice, it is added once");
  }
  assertEquals(await valueOf(kv, "traffic:2026-11-29"), article[1]?.value, "nothing to add");
});

/** The names of a value's fields; of counts, which have names of their own, only that they are some. */
function shapeOf(value: object, path = ""): string[] {
  return Object.entries(value).flatMap(([name, field]) => {
    const isCounts = /^(?:paths|refs|kinds|skipped|writers|visits|other)$/.test(name);
    const nested = typeof field === "object" && field !== null && !isCounts;
    return nested ? shapeOf(field, `${path}${name}.`) : [path + name];
  }).sort();
}

Deno.test("what is stored today has the frozen shape", async () => {
  let time = Date.parse("2026-11-29T09:00:00Z");
  const clock = {
    now: () => time,
    sleep(ms: number) {
      time += ms;
      return Promise.resolve();
    },
  };
  const kv = new MemoryKv({ now: clock.now });
  const page = new Response("<h1>Page</h1>", { headers: { "content-type": "text/html" } });
  const env = { KV: kv, ASSETS: { fetch: () => Promise.resolve(page.clone()) } };
  const waiting: Promise<unknown>[] = [];
  const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
  const worker = createWorker({ clock, random: () => 0.5, edgeCache: null });
  const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0" };
  await worker.fetch(new Request("https://site.example/", { headers }), env, ctx);
  await Promise.all(waiting);
  time = Date.parse(`${TODAY}T00:17:00Z`);
  await worker.scheduled(undefined, env, ctx);

  const { keys } = await kv.list({ prefix: "views:2026-11-29:" });
  const [{ name, metadata } = { name: "", metadata: {} }] = keys;
  const [rolled, shard] = [await valueOf(kv, "traffic:2026-11-29"), await valueOf(kv, name)];
  assertEquals([rolled.v, shard.v, Object(metadata).v], [2, 1, 1]);
  const [frozenRollUp, frozenShard] = current;
  assertEquals(shapeOf(rolled), shapeOf(Object(frozenRollUp?.value)));
  assertEquals(shapeOf(shard), shapeOf(Object(frozenShard?.value)));
  assertEquals(shapeOf(Object(metadata)), shapeOf(Object(frozenShard?.metadata)));
});
