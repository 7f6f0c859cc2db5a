import { assertEquals } from "@std/assert";
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { rollUpDay, rollUpDays } from "../lib/views/roll_up.ts";
import { reportDay } from "../lib/views/report.ts";
import { Calendar } from "../lib/views/day.ts";
import { encodeShard, listShards, shardKey } from "../lib/views/shard.ts";
import { emptyTally, tallyVerdict } from "../lib/views/tally.ts";
import { kvWith, NOON, TODAY } from "./_core_site.ts";

const KEY = `traffic:${TODAY}`;

function store(): MemoryKv {
  return new MemoryKv({ now: () => NOON });
}

/** Stores a shard as a writer does. */
async function putShard(
  kv: Kv,
  writer: string,
  paths: Record<string, number>,
  { writes = 1, bots = 0, day = TODAY } = {},
): Promise<void> {
  const tally = emptyTally();
  for (const [path, count] of Object.entries(paths)) {
    for (let n = 0; n < count; n++) {
      tallyVerdict(tally, { counted: true, path, referrer: "direct", kind: "browser" });
    }
  }
  for (let n = 0; n < bots; n++) tallyVerdict(tally, { counted: false, reason: "bot" });
  const metadata = { v: 1, total: tally.total, writes, late: 0, at: NOON / 1000, mode: 0 };
  await kv.put(shardKey(day, writer), encodeShard(tally), { metadata });
}

async function stored(kv: Kv, key = KEY) {
  return JSON.parse(await kv.get(key) ?? "null");
}

async function total(kv: Kv): Promise<number> {
  return (await reportDay({ kv, now: NOON, calendar: new Calendar() }, TODAY)).total;
}

Deno.test("rollUpDay() merges shards into the article's format", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 2, "/a": 1 });
  await putShard(kv, "CDG-b", { "/": 3 }, { writes: 4, bots: 2 });
  await rollUpDay(kv, TODAY);
  assertEquals(await stored(kv), {
    v: 2,
    date: TODAY,
    total: 6,
    paths: { "/": 5, "/a": 1 },
    refs: { direct: 6 },
    kinds: { browser: 6 },
    skipped: { bot: 2 },
    dropped: 0,
    writes: 5,
    writers: { "CDG-b": 3, "LHR-a": 3 },
  });
  const { keys } = await kv.list({ prefix: KEY });
  assertEquals(keys[0]?.expiration, NOON / 1000 + 90 * 86_400);
});

Deno.test("rollUpDay() writes only when something has changed", async () => {
  const kv = store();
  await rollUpDay(kv, TODAY);
  assertEquals(kv.operations.write, 0);
  await putShard(kv, "LHR-a", { "/": 2 });
  for (let n = 0; n < 3; n++) await rollUpDay(kv, TODAY);
  assertEquals(kv.operations.write, 2);
  await putShard(kv, "LHR-a", { "/": 3 }, { writes: 2 });
  for (let n = 0; n < 3; n++) await rollUpDay(kv, TODAY);
  assertEquals([kv.operations.write, (await stored(kv)).total], [4, 3]);
});

Deno.test("rollUpDay() sees requests that were skipped since", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 2 });
  await rollUpDay(kv, TODAY);
  await putShard(kv, "LHR-a", { "/": 2 }, { writes: 2, bots: 7 });
  await rollUpDay(kv, TODAY);
  const { total, skipped } = await stored(kv);
  assertEquals([total, skipped], [2, { bot: 7 }]);
});

Deno.test("rollUpDay() keeps what the article's counter stored", async () => {
  const kv = store();
  const old = JSON.stringify({ date: TODAY, total: 5, paths: { "/": 5 }, refs: { direct: 5 } });
  await kv.put(KEY, old);
  await rollUpDay(kv, TODAY);
  assertEquals(await kv.get(KEY), old);
  await putShard(kv, "LHR-a", { "/a": 2 });
  for (let n = 0; n < 3; n++) {
    await rollUpDay(kv, TODAY);
    const { total, paths, base } = await stored(kv);
    assertEquals([total, paths, base.total], [7, { "/": 5, "/a": 2 }, 5]);
  }
  await putShard(kv, "LHR-a", { "/a": 4 }, { writes: 2 });
  await rollUpDay(kv, TODAY);
  assertEquals((await stored(kv)).total, 9);
});

Deno.test("a day is not lowered by a stale listing or by shards that expired", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 4 });
  await putShard(kv, "CDG-b", { "/": 3 });
  await rollUpDay(kv, TODAY);
  await kv.delete(shardKey(TODAY, "CDG-b"));
  await rollUpDay(kv, TODAY);
  assertEquals([await total(kv), (await stored(kv)).total], [7, 7]);
  await putShard(kv, "LHR-a", { "/": 5 }, { writes: 3 });
  await rollUpDay(kv, TODAY);
  assertEquals([await total(kv), (await stored(kv)).total], [7, 7]);
  await kv.delete(shardKey(TODAY, "LHR-a"));
  await rollUpDay(kv, TODAY);
  assertEquals([await total(kv), (await stored(kv)).total], [7, 7]);
});

Deno.test("damaged values are left out and reported", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 4 });
  await kv.put(shardKey(TODAY, "CDG-b"), "{", { metadata: { v: 1, total: 9, writes: 1, at: 1 } });
  await kv.put(shardKey(TODAY, "JFK-c"), '{"total":-5}');
  await kv.put(`views:${TODAY}:`, "x");
  await kv.put(`views:${TODAY}:a:b`, "x");
  const context = { kv, now: NOON, calendar: new Calendar() };
  const report = await reportDay(context, TODAY);
  assertEquals([report.total, report.damaged], [4, 2]);
  await kv.put(KEY, "not JSON");
  assertEquals((await reportDay(context, TODAY)).damaged, 3);
  await rollUpDay(kv, TODAY);
  assertEquals((await stored(kv)).total, 4);
});

Deno.test("a roll-up with damaged fields does not break a day", async () => {
  const kv = store();
  await kv.put(KEY, JSON.stringify({ v: 2, total: 2, writers: { a: "x" }, writes: "y" }));
  assertEquals(await total(kv), 2);
  await kv.put(KEY, JSON.stringify({ v: 2, total: 2, writers: null }));
  await putShard(kv, "LHR-a", { "/": 3 });
  assertEquals(await total(kv), 3);
});

Deno.test("a listed shard whose value is not there yet is no damage", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 3 });
  const blind = kvWith(kv, { get: () => Promise.resolve(null) });
  const { total, damaged } = await reportDay(
    { kv: blind, now: NOON, calendar: new Calendar() },
    TODAY,
  );
  assertEquals([total, damaged], [0, 0]);
});

Deno.test("rollUpDays() rolls the last days again, and teaches the next one", async () => {
  const kv = store();
  const days = ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19", TODAY];
  for (const day of days) await putShard(kv, "LHR-a", { "/": 1 }, { day });
  await rollUpDays(kv, TODAY);
  const totals = await Promise.all(days.map((day) => stored(kv, `traffic:${day}`)));
  assertEquals(totals.map((day) => day?.total), [undefined, 1, 1, 1, 1]);
  assertEquals(totals.map((day) => day?.census !== undefined), [false, false, false, true, false]);
  const { write } = kv.operations;
  await rollUpDays(kv, TODAY);
  assertEquals(kv.operations.write, write);
  await putShard(kv, "LHR-a", { "/": 5 }, { day: "2026-11-17", writes: 2 });
  await rollUpDays(kv, TODAY);
  assertEquals((await stored(kv, "traffic:2026-11-17")).total, 5);
});

Deno.test("rollUpDays() goes on after a day that fails", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 1 });
  const errors: unknown[] = [];
  const failing = kvWith(kv, {
    list: (options) =>
      options?.prefix?.includes(TODAY) ? kv.list(options) : Promise.reject(new Error("down")),
  });
  await rollUpDays(failing, TODAY, { onError: (error) => errors.push(error) });
  await rollUpDays(failing, TODAY);
  assertEquals([errors.length, (await stored(kv)).total], [3, 1]);
});

Deno.test("rollUpDay() books what it costs", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", { "/": 1 });
  await putShard(kv, "CDG-b", { "/": 1 });
  const noted: Record<string, number> = {};
  const budget = {
    take: () => ({ granted: true, retryAfterMs: 0 }),
    note: (_: string, operation: string, count = 1) => {
      noted[operation] = (noted[operation] ?? 0) + count;
    },
  };
  await rollUpDay(kv, TODAY, { budget });
  assertEquals(noted, { list: 1, read: 3, write: 1 });
});

Deno.test("listShards() follows cursors, through empty pages, and stops where they lead nowhere", async () => {
  const kv = store();
  await putShard(kv, "LHR-a", {});
  let lists = 0;
  const pages = (cursors: readonly string[]) =>
    kvWith(kv, {
      list: async () => {
        const cursor = cursors[lists++];
        const { keys } = await kv.list({ prefix: "views:" });
        return cursor === undefined
          ? { keys, list_complete: true }
          : { keys: [], list_complete: false, cursor };
      },
    });
  for (
    const [cursors, asked, found, complete] of [
      [[], 1, 1, true],
      [["a", "b", "c"], 4, 1, true],
      [["a", "b", "c", "d"], 4, 0, false],
      [["a", "a", "b"], 2, 0, false],
      [[""], 1, 0, false],
    ] as const
  ) {
    lists = 0;
    const answer = await listShards(pages(cursors), TODAY);
    assertEquals([lists, answer.shards.length, answer.complete], [asked, found, complete]);
  }
});

Deno.test("listShards() reads metadata and leaves out what is none", async () => {
  const kv = store();
  const seen = { writes: 1, late: 2 };
  const numbers = { total: 1, writes: 2, late: 1, at: 5, mode: 2, visits: 4, price: 30 };
  const good = { v: 1, ...numbers, seen, other: { feed: 3 } };
  for (
    const [writer, metadata] of [
      ["a", good],
      ["b", { ...good, other: { feed: -1 } }],
      ["c", { ...good, mode: 3 }],
      ["d", { ...good, total: "1" }],
      ["e", undefined],
      ["f", "text"],
      ["g", { total: 1, writes: 1, at: 1 }],
    ] as const
  ) {
    await kv.put(shardKey(TODAY, writer), "{}", metadata === undefined ? {} : { metadata });
  }
  const { shards } = await listShards(kv, TODAY);
  const none = { writes: 0, late: 0 };
  assertEquals(shards.map(({ metadata }) => metadata), [
    good,
    { v: 1, ...numbers, seen },
    undefined,
    undefined,
    undefined,
    undefined,
    { v: 1, total: 1, writes: 1, late: 0, at: 1, mode: 0, visits: 0, price: 0, seen: none },
  ] as never);
});
