/** What is stored or cached may be damaged, absurd, or another version's: nothing may stick, or stop counting. */
import { assert, assertEquals } from "@std/assert";
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { censusOf, parseCensus, PRICE, readCensus } from "../lib/views/census.ts";
import { addDays, Calendar } from "../lib/views/day.ts";
import { decodeDay, encodeDay } from "../lib/views/day_codec.ts";
import { emptyDay } from "../lib/views/day_state.ts";
import { parseNetwork } from "../lib/views/network.ts";
import { reportDay } from "../lib/views/report.ts";
import { rollUpDays } from "../lib/views/roll_up.ts";
import { type ListedShard, listShards, shardKey } from "../lib/views/shard.ts";
import { makeSite, NOON, TODAY } from "./_core_site.ts";

const YESTERDAY = "2026-11-19";
const CENSUS = {
  dataCenters: 3,
  total: 500,
  weight: 30,
  finals: 2,
  price: 0.3,
  days: 2,
  visits: { LHR: 5 },
};

async function put(kv: Kv, day: string, writer: string, changes: object = {}): Promise<void> {
  const at = Date.parse(`${day}T12:00:00Z`) / 1000;
  const metadata = { v: 1, total: 2, writes: 1, late: 0, at, mode: 1, visits: 2, price: 30 };
  const value = JSON.stringify({ v: 1, total: 2, paths: { "/": 2 }, refs: { direct: 2 } });
  await kv.put(shardKey(day, writer), value, { metadata: { ...metadata, ...changes } });
}

async function listed(changes: object): Promise<ListedShard[]> {
  const kv = new MemoryKv({ now: () => NOON });
  await put(kv, YESTERDAY, "LHR-a", changes);
  await put(kv, YESTERDAY, "CDG-b");
  return (await listShards(kv, YESTERDAY)).shards;
}

Deno.test("parseCensus() believes no absurd number, and readCensus() never throws", async () => {
  assertEquals(parseCensus(CENSUS), CENSUS as never);
  const bad: unknown[] = [null, "x", 5, [], {}, { ...CENSUS, visits: undefined }];
  for (const name of Object.keys(CENSUS)) {
    for (const wrong of [-1, null, "1", NaN]) {
      bad.push({ ...CENSUS, [name]: name === "visits" ? { LHR: wrong } : wrong });
    }
  }
  for (const wrong of [11, 1e308]) {
    bad.push({ ...CENSUS, price: wrong }, { ...CENSUS, days: wrong });
  }
  const kv = new MemoryKv({ now: () => NOON });
  for (const census of bad) {
    assertEquals(parseCensus(census), undefined, JSON.stringify(census));
    await kv.put(`traffic:${YESTERDAY}`, JSON.stringify({ v: 2, total: 1, census }));
    assertEquals(await readCensus(kv, YESTERDAY, "LHR"), undefined);
  }
  const visits = JSON.parse(`{"__proto__":3,"constructor":4,"LHR":5}`);
  for (let n = 0; n < 10_000; n++) visits[`C${n}`] = 1;
  await kv.put(`traffic:${YESTERDAY}`, JSON.stringify({ total: 1, census: { ...CENSUS, visits } }));
  for (const [colo, wanted] of [["__proto__", 3], ["LHR", 5], ["JFK", 0]] as const) {
    assertEquals((await readCensus(kv, YESTERDAY, colo))?.visits, wanted);
  }
});

Deno.test("a census of absurd shards is forgotten in days", async () => {
  const good = await listed({});
  const absurd = [
    { price: 1e15 },
    { visits: Number.MAX_SAFE_INTEGER },
    { writes: 1e12 },
    { total: 1e12 },
    { at: 1e12 },
    { late: 1e6 },
    { price: 1e300, visits: 1e300 },
    { price: -1, visits: null },
  ];
  for (const changes of absurd) {
    const text = JSON.stringify(changes);
    const shards = await listed(changes);
    const next = { writesPerDay: 3 };
    let census = censusOf({ ...next, before: good, shards, previous: CENSUS });
    const { price, visits } = JSON.parse(JSON.stringify(census));
    assert(price >= PRICE.least && price <= PRICE.most && visits.LHR < 10, text);
    census = censusOf({ ...next, before: shards, shards: good, previous: parseCensus(census) });
    for (let day = 0; day < 2; day++) {
      census = censusOf({ ...next, before: good, shards: good, previous: parseCensus(census) });
    }
    const { dataCenters, total, finals } = parseCensus(census) ?? {};
    assertEquals([dataCenters, total, finals], [2, 8, 1], text);
    assert(census.price < 0.5, text);
  }
});

Deno.test("a data center that is gone is forgotten, and so are thousands that never were", async () => {
  const before = await listed({});
  const visits = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`C${n}`, 1e9]));
  let census = censusOf({
    before,
    shards: before,
    previous: { ...CENSUS, visits },
    writesPerDay: 400,
  });
  assert(Object.keys(census.visits).length <= 1_000);
  for (let day = 0; day < 80; day++) {
    census = censusOf({ before, shards: before, previous: census, writesPerDay: 400 });
  }
  assertEquals(Object.keys(census.visits).sort(), ["CDG", "LHR"]);
});

Deno.test("a shard with absurd lessons still tells its writes, and late ones are writes", async () => {
  const odd = { writes: 7, late: 90, visits: 1e300, price: -5 };
  const [, shard] = await listed(odd);
  const { writes, late, visits, price } = shard?.metadata ?? {};
  assertEquals([writes, late, visits, price], [7, 7, 0, 0]);
});

Deno.test("what a later version has rolled up is not counted twice", async () => {
  const kv = new MemoryKv({ now: () => NOON });
  await put(kv, TODAY, "LHR-a");
  await put(kv, TODAY, "CDG-b");
  const later = { v: 3, date: TODAY, total: 4, paths: { "/": 4 }, refs: { direct: 4 }, views: [] };
  await kv.put(`traffic:${TODAY}`, JSON.stringify(later));
  const total = async () =>
    (await reportDay({ kv, now: NOON, calendar: new Calendar() }, TODAY)).total;
  assertEquals(await total(), 4);
  await rollUpDays(kv, TODAY);
  assertEquals(await total(), 4);
});

Deno.test("a cached day of another build keeps its counts and loses what cannot be trusted", () => {
  const { visits: _, ...text } = JSON.parse(encodeDay(emptyDay(TODAY)));
  for (const census of [{ dataCenters: 2, total: 9, weight: 3, finals: 1, modes: [1] }, 5, "x"]) {
    const read = decodeDay(JSON.stringify({ ...text, lesson: { at: 5, census } }), TODAY);
    assertEquals([read?.visits, read?.lesson], [0, { at: 5, census: undefined }]);
  }
  const census = { ...CENSUS, visits: 5 };
  const read = decodeDay(JSON.stringify({ ...text, lesson: { at: 5, census } }), TODAY);
  assertEquals(read?.lesson.census, census);
});

Deno.test("parseNetwork() believes no negative number", () => {
  const numbers = { at: 1, recent: 0, writers: 1, weight: 1, total: 1, foretold: 1 };
  assert(parseNetwork({ ...numbers, used: { writes: 1, late: 0 } }));
  assertEquals(parseNetwork({ ...numbers, used: { writes: -9, late: 0 } }), undefined);
});

Deno.test("what was learnt outlives a day without a cron and a day without a visitor", async () => {
  for (const gap of ["cron", "visitors"]) {
    const kv = new MemoryKv({ now: () => NOON });
    for (let age = 5; age >= 0; age--) {
      const day = addDays(TODAY, -age);
      if (gap === "cron" || age !== 2) await put(kv, day, "LHR-a");
      if (gap === "visitors" || age !== 1) await rollUpDays(kv, day, { writesPerDay: 1 });
    }
    const census = await readCensus(kv, YESTERDAY, "LHR");
    assert(census && census.days > 1.8, `${gap}: ${census?.days}`);
  }
});

Deno.test("scheduled() learns the price from the site's own budget", async () => {
  const prices: unknown[] = [];
  for (const VIEWS_WRITES_PER_DAY of ["3", "400"]) {
    const { kv, isolate, ctx } = makeSite();
    for (const writer of ["LHR-a", "CDG-b", "JFK-c"]) await put(kv, YESTERDAY, writer);
    const { worker, env } = isolate({ env: { VIEWS_WRITES_PER_DAY } });
    await worker.scheduled(null, env, ctx);
    prices.push(JSON.parse(await kv.get(`traffic:${YESTERDAY}`) ?? "").census.price);
  }
  assertEquals(prices, [0.39, PRICE.least]);
});
