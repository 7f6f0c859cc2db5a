import { assertEquals } from "@std/assert";
import { censusOf, readCensus } from "../lib/views/census.ts";
import { hintKey, parseNetwork, viewNetwork, wholeDay } from "../lib/views/network.ts";
import { coloOf, type ListedShard, shardKey, type ShardMetadata } from "../lib/views/shard.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { kvAll, NOON, TODAY } from "./_core_site.ts";

const START = Date.UTC(2026, 10, 20);
const NONE = { writes: 0, late: 0, finals: 0 };

function shard(writer: string, parts: Partial<ShardMetadata> | null, day = TODAY): ListedShard {
  const metadata = parts === null
    ? undefined
    : { v: 1 as const, total: 0, writes: 1, late: 0, at: NOON / 1000, mode: 0 as const, ...parts };
  return {
    key: shardKey(day, writer),
    day,
    writer,
    metadata: metadata && { seen: NONE, ...metadata },
  };
}

Deno.test("viewNetwork() sums up a listing", () => {
  const view = viewNetwork(
    [
      shard("LHR-a", { total: 50, writes: 10, late: 2, mode: 1, other: { feed: 3, chat: 1 } }),
      shard("LHR-b", { total: 8, writes: 1, at: NOON / 1000 - 600, mode: 2, other: { feed: 2 } }),
      shard("CDG-c", { total: 2, writes: 1, at: NOON / 1000 - 300, other: { feed: 4 } }),
      shard("JFK-d", null),
    ],
    NOON,
    START,
    "today",
  );
  assertEquals(view.used, { writes: 10, late: 2, finals: 0 });
  assertEquals([view.writers, view.recent, view.total], [3, 1, 60]);
  assertEquals(view.modes, [1, 1, 0]);
  assertEquals(view.other, { feed: 7, chat: 1 });
});

Deno.test("viewNetwork() takes what other listings told into account", () => {
  const seen = { writes: 100, late: 20, finals: 30 };
  const today = [shard("LHR-a", { seen }), shard("CDG-b", { seen: { ...seen, writes: 90 } })];
  assertEquals(viewNetwork(today, NOON, START, "today").used, seen);
  const old = [shard("LHR-a", { seen, at: START / 1000 - 1, writes: 5, late: 5 })];
  const { used, other } = viewNetwork(old, NOON, START, "yesterday");
  assertEquals([used, other], [{ writes: 0, late: 5, finals: 0 }, {}]);
});

Deno.test("viewNetwork() of nothing is nothing", () => {
  assertEquals(viewNetwork([], NOON, START, "today"), {
    at: NOON,
    used: NONE,
    writers: 0,
    modes: [0, 0, 0],
    weight: 0,
    recent: 0,
    total: 0,
    foretold: 0,
    other: {},
  });
});

Deno.test("viewNetwork() takes any purpose as a name", () => {
  const other = Object.fromEntries([["__proto__", 2], ["constructor", 3]]);
  const view = viewNetwork([shard("LHR-a", { other })], NOON, START, "today");
  assertEquals(Object.entries(view.other), [["__proto__", 2], ["constructor", 3]]);
});

Deno.test("wholeDay() foretells from a quarter of a day on", () => {
  assertEquals([wholeDay(10, 0), wholeDay(10, 0.25), wholeDay(10, 0.5), wholeDay(10, 2)], [
    40,
    40,
    20,
    10,
  ]);
});

Deno.test("coloOf() is what comes before the last dash", () => {
  assertEquals([coloOf("LHR-abc"), coloOf("a-b-c"), coloOf("LHR")], ["LHR", "a-b", "LHR"]);
});

Deno.test("parseNetwork() reads what was written, and nothing else", () => {
  const view = viewNetwork([shard("LHR-a", { total: 5 })], NOON, START, "today");
  assertEquals(parseNetwork(JSON.parse(JSON.stringify(view))), view);
  for (
    const value of [
      null,
      undefined,
      5,
      [],
      {},
      { ...view, at: "x" },
      { ...view, used: null },
      { ...view, used: { writes: 1, late: 1 } },
      { ...view, modes: 5 },
      { ...view, modes: [1, null, 2] },
      { ...view, foretold: NaN },
    ]
  ) {
    assertEquals(parseNetwork(value), undefined, JSON.stringify(value));
  }
  assertEquals(hintKey(TODAY), `network:${TODAY}`);
});

Deno.test("censusOf() teaches the fuller of two days", () => {
  const before = [
    shard("LHR-a", { total: 9, at: START / 1000 - 86_400 - 1 }, "2026-11-18"),
    shard("CDG-a", { total: 4, at: START / 1000 - 86_400 - 1 }, "2026-11-18"),
  ];
  const quiet = [shard("LHR-a", { total: 1, at: START / 1000 - 1 }, "2026-11-19")];
  const census = censusOf(before, quiet);
  assertEquals([census.dataCenters, census.total, census.weight, census.finals], [2, 14, 6, 0]);
  const scarce = [
    shard("LHR-a", { total: 900, mode: 1, at: START / 1000 - 1 }, "2026-11-19"),
    shard("CDG-b", { total: 900, mode: 2, at: START / 1000 - 1 }, "2026-11-19"),
  ];
  assertEquals(censusOf([], scarce).finals, 3);
  assertEquals(censusOf([shard("LHR-a", { late: 9, writes: 9 }, "2026-11-18")], scarce).finals, 10);
  assertEquals(censusOf([], []), { dataCenters: 0, total: 0, weight: 0, finals: 0 });
});

Deno.test("readCensus() never rejects", async () => {
  const kv = new MemoryKv({ now: () => NOON });
  const census = { dataCenters: 1, total: 2, weight: 3, finals: 4 };
  await kv.put("traffic:a", JSON.stringify({ census }));
  assertEquals(await readCensus(kv, "a"), census);
  for (const text of ["{", "null", "5", "{}", '{"census":5}', '{"census":{"total":1}}']) {
    await kv.put("traffic:a", text);
    assertEquals(await readCensus(kv, "a"), undefined, text);
  }
  assertEquals(await readCensus(kv, "none"), undefined);
  assertEquals(await readCensus(kvAll(() => Promise.reject(new Error("down"))), "a"), undefined);
});
