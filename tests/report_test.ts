import { assertEquals, assertStringIncludes } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { readMany } from "../lib/kv/read_many.ts";
import { Calendar } from "../lib/views/day.ts";
import { noteOf, reportDay, reportDays } from "../lib/views/report.ts";
import { shardKey } from "../lib/views/shard.ts";
import { kvWith, NOON, TODAY } from "./_core_site.ts";
import { dayReport } from "./_report_fixtures.ts";

const calendar = new Calendar();

function store(): MemoryKv {
  return new MemoryKv({ now: () => NOON });
}

async function putShard(kv: MemoryKv, day: string, writer: string, total: number, age = 0) {
  const at = NOON / 1000 - age;
  const metadata = { v: 1, total, writes: 1, at };
  await kv.put(
    shardKey(day, writer),
    JSON.stringify({ total, paths: { "/": total }, refs: { direct: total } }),
    { metadata },
  );
}

Deno.test("reportDay() tells how fresh a day is", async () => {
  const kv = store();
  await putShard(kv, TODAY, "LHR-a", 1, 30);
  await putShard(kv, TODAY, "LHR-b", 2, 90);
  await putShard(kv, TODAY, "CDG-a", 3, -5);
  const report = await reportDay({ kv, now: NOON, calendar, pending: 4 }, TODAY);
  assertEquals(report.freshness, {
    dataCenters: 2,
    shards: 3,
    oldestSeconds: 90,
    newestSeconds: 0,
    source: "shards",
  });
  const { date, total, partial, pending, writes, timeZone } = report;
  assertEquals([date, total, partial, pending, writes, timeZone], [TODAY, 6, true, 4, 3, "UTC"]);
  assertStringIncludes(report.note, "4 more wait");
});

Deno.test("reportDay() lists no day that can have no shards", async () => {
  const kv = store();
  for (const day of ["2026-11-21", "2020-01-01", "2026-11-07"]) {
    const { total, freshness } = await reportDay({ kv, now: NOON, calendar }, day);
    assertEquals([total, freshness.source, freshness.oldestSeconds], [0, "none", null], day);
  }
  assertEquals([kv.operations.list, kv.operations.read], [0, 3]);
  await reportDay({ kv, now: NOON, calendar }, "2026-11-08");
  assertEquals(kv.operations.list, 1);
});

Deno.test("reportDays() gives every day, oldest first, for one list and a read a day", async () => {
  const kv = store();
  await putShard(kv, TODAY, "LHR-a", 3);
  await putShard(kv, "2026-11-18", "LHR-a", 2);
  await kv.put("traffic:2026-11-17", '{"total":5,"paths":{"/":5},"refs":{"direct":5}}');
  await kv.put("traffic:2026-11-16", "damaged");
  const noted: string[] = [];
  const budget = {
    take: () => ({ granted: true, retryAfterMs: 0 }),
    note: (_: string, operation: string, count = 1) => void noted.push(`${operation} ${count}`),
  };
  const before = { ...kv.operations };
  const report = await reportDays({ kv, now: NOON, calendar, budget, pending: 9 }, 5);
  assertEquals(report.days.map(({ date, total, pending }) => [date, total, pending]), [
    ["2026-11-16", 0, 0],
    ["2026-11-17", 5, 0],
    ["2026-11-18", 2, 0],
    ["2026-11-19", 0, 0],
    [TODAY, 3, 9],
  ]);
  assertEquals([report.total, report.damaged, report.timeZone], [10, 1, "UTC"]);
  assertEquals([kv.operations.list - before.list, kv.operations.read - before.read], [1, 7]);
  assertEquals(noted, ["read 5", "list 1", "read 1", "read 1"]);
  assertEquals((await reportDays({ kv, now: NOON, calendar }, 1)).days.length, 1);
});

Deno.test("reportDay() sums a shard and a roll-up that does not hold it yet", async () => {
  const kv = store();
  await kv.put(
    `traffic:${TODAY}`,
    JSON.stringify({ v: 2, total: 2, paths: { "/": 2 }, refs: {}, writers: { "LHR-a": 2 } }),
  );
  await putShard(kv, TODAY, "LHR-a", 2);
  const before = await reportDay({ kv, now: NOON, calendar }, TODAY);
  assertEquals([before.total, before.freshness.source], [2, "rollup+shards"]);
  await putShard(kv, TODAY, "LHR-a", 3);
  assertEquals((await reportDay({ kv, now: NOON, calendar }, TODAY)).total, 3);
});

Deno.test("noteOf() says what a number is worth", () => {
  const past = dayReport("2026-11-19");
  assertEquals(noteOf(past), "Nothing has been stored for this day.");
  const freshness = { ...past.freshness, source: "rollup" as const };
  const note = noteOf({ ...past, freshness, dropped: 2, damaged: 1, pending: 3 });
  for (const part of ["Never more", "3 more wait", "2 are known to be lost", "1 stored value"]) {
    assertStringIncludes(note, part);
  }
});

Deno.test("readMany() reads in bulk, by 100, and one by one where it must", async () => {
  const kv = store();
  const keys = Array.from({ length: 230 }, (_, index) => `key-${index}`);
  for (const key of keys) await kv.put(key, key);
  let calls = 0;
  const counted = kvWith(kv, {
    get: (key) => {
      calls++;
      return kv.get(key);
    },
  });
  const values = await readMany(counted, [...keys, "none"]);
  assertEquals([calls, values.size, values.get("key-229"), values.get("none")], [
    3,
    231,
    "key-229",
    null,
  ]);
  calls = 0;
  const single = kvWith(kv, {
    get: (key) => {
      calls++;
      return Array.isArray(key) ? Promise.resolve(null) : kv.get(key);
    },
  });
  assertEquals((await readMany(single, keys.slice(0, 20))).get("key-19"), "key-19");
  assertEquals(calls, 21);
  assertEquals((await readMany(kv, [])).size, 0);
  assertEquals((await readMany(kv, ["key-1"])).get("key-1"), "key-1");
});
