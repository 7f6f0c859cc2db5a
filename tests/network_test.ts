import { assertEquals } from "@std/assert";
import { censusOf, type NetworkCensus, readCensus } from "../lib/views/census.ts";
import { hintKey, parseNetwork, viewNetwork, wholeDay } from "../lib/views/network.ts";
import { coloOf, type ListedShard, shardKey, type ShardMetadata } from "../lib/views/shard.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { kvAll, NOON, TODAY } from "./_core_site.ts";

const START = Date.UTC(2026, 10, 20);
const NONE = { writes: 0, late: 0 };

function shard(writer: string, parts: Partial<ShardMetadata> | null, day = TODAY): ListedShard {
  const metadata = parts === null
    ? undefined
    : { v: 1 as const, total: 0, writes: 1, late: 0, at: NOON / 1000, mode: 0 as const, ...parts };
  return {
    key: shardKey(day, writer),
    day,
    writer,
    metadata: metadata && { seen: NONE, visits: 0, price: 0, ...metadata },
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
  assertEquals(view.used, { writes: 10, late: 2 });
  assertEquals([view.writers, view.recent, view.total], [3, 1, 60]);
  assertEquals(view.other, { feed: 7, chat: 1 });
});

Deno.test("viewNetwork() takes what other listings told into account", () => {
  const seen = { writes: 100, late: 20 };
  const today = [shard("LHR-a", { seen }), shard("CDG-b", { seen: { ...seen, writes: 90 } })];
  assertEquals(viewNetwork(today, NOON, START, "today").used, seen);
  const old = [shard("LHR-a", { seen, at: START / 1000 - 1, writes: 5, late: 5 })];
  const { used, other } = viewNetwork(old, NOON, START, "yesterday");
  assertEquals([used, other], [{ writes: 0, late: 5 }, {}]);
});

Deno.test("viewNetwork() of nothing is nothing", () => {
  assertEquals(viewNetwork([], NOON, START, "today"), {
    at: NOON,
    used: NONE,
    writers: 0,
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
      { ...view, used: { writes: 1 } },
      { ...view, foretold: NaN },
    ]
  ) {
    assertEquals(parseNetwork(value), undefined, JSON.stringify(value));
  }
  assertEquals(hintKey(TODAY), `network:${TODAY}`);
});

/** A census of two days, with a budget of 100 writes. */
function census(
  before: readonly ListedShard[],
  shards: readonly ListedShard[],
  previous?: NetworkCensus,
): NetworkCensus {
  return censusOf({ before, shards, previous, writesPerDay: 100 });
}

Deno.test("censusOf() teaches the fuller of two days", () => {
  const before = [
    shard("LHR-a", { total: 9, at: START / 1000 - 86_400 - 1 }, "2026-11-18"),
    shard("CDG-a", { total: 4, at: START / 1000 - 86_400 - 1 }, "2026-11-18"),
  ];
  const quiet = [shard("LHR-a", { total: 1, at: START / 1000 - 1 }, "2026-11-19")];
  const { dataCenters, total, weight, finals } = census(before, quiet);
  assertEquals([dataCenters, total, weight, finals], [2, 13, 6, 0]);
  const scarce = [
    shard("LHR-a", { total: 900, mode: 1, at: START / 1000 - 1 }, "2026-11-19"),
    shard("CDG-b", { total: 900, mode: 2, at: START / 1000 - 1 }, "2026-11-19"),
  ];
  assertEquals(census([], scarce).finals, 3);
  assertEquals(census([shard("LHR-a", { late: 9, writes: 9 }, "2026-11-18")], scarce).finals, 10);
});

Deno.test("censusOf() foretells only what had to wait", () => {
  const noon = START / 1000 - 43_200;
  const shards = [
    shard("LHR-a", { total: 10, at: noon }, "2026-11-19"),
    shard("CDG-a", { total: 10, at: noon, mode: 1 }, "2026-11-19"),
  ];
  assertEquals(census([], shards).total, 30);
});

Deno.test("censusOf() learns the price from what writers had to save, and from whether it lasted", () => {
  const day = (writes: number, ...prices: number[]) =>
    prices.map((price, n) =>
      shard(`LHR-${n}`, { mode: 1, price, writes: n === 0 ? writes : 0 }, "2026-11-19")
    );
  const quiet = shard("CDG-a", { mode: 2, writes: 0 }, "2026-11-19");
  const price = (shards: ListedShard[], previous?: number) => {
    const { visits, ...rest } = census([], []);
    const known = previous === undefined ? undefined : { ...rest, visits, price: previous };
    return census([], [...shards, quiet], known).price;
  };
  assertEquals(price(day(90, 20, 40)), 0.3);
  assertEquals(price(day(100, 20, 40)), 0.39);
  assertEquals(price(day(45, 20, 40)), 0.05);
  assertEquals(price(day(90, 20, 0)), 0.1);
  // Where nobody was asked a price, the last one stands, within bounds.
  assertEquals([price([], 1), price(day(90, 0)), price(day(400, 900))], [0.03, 0.03, 2]);
  const nobody = [shard("CDG-a", { mode: 2, writes: 90 }, "2026-11-19")];
  assertEquals(census([], nobody, { ...census([], []), price: 0.7 }).price, 0.7);
});

Deno.test("censusOf() remembers visits, the older the less, up to the day before", () => {
  const day = (visits: number) => [
    shard("LHR-a", { visits }, "2026-11-18"),
    shard("LHR-b", { visits: 1 }, "2026-11-18"),
    shard("__proto__-a", { visits: 2 }, "2026-11-18"),
  ];
  const first = census([], day(9));
  assertEquals([first.days, first.visits], [0, {}]);
  const second = census(day(9), [], first);
  assertEquals([second.days, Object.entries(second.visits)], [1, [["LHR", 10], ["__proto__", 2]]]);
  const third = census(day(0).slice(0, 2), [], second);
  assertEquals([third.days, Object.entries(third.visits)], [1.85, [["LHR", 9.5], [
    "__proto__",
    1.7,
  ]]]);
  // A day of which nothing is known changes nothing.
  assertEquals(census([], [], third).visits, third.visits);
});

Deno.test("readCensus() never rejects", async () => {
  const kv = new MemoryKv({ now: () => NOON });
  const taught = { dataCenters: 1, total: 2, weight: 3, finals: 4, price: 0.5, days: 1.85 };
  await kv.put("traffic:a", JSON.stringify({ census: { ...taught, visits: { LHR: 2.5 } } }));
  assertEquals(await readCensus(kv, "a", "LHR"), { ...taught, visits: 2.5 });
  assertEquals(await readCensus(kv, "a", "CDG"), { ...taught, visits: 0 });
  assertEquals(await readCensus(kv, "a", "toString"), { ...taught, visits: 0 });
  const damaged = [
    { total: 1 },
    taught,
    { ...taught, visits: { LHR: -1 } },
    { ...taught, visits: { LHR: "2" } },
    { ...taught, visits: {}, price: null },
  ].map((census) => JSON.stringify({ census }));
  for (const text of ["{", "null", "5", "{}", '{"census":5}', ...damaged]) {
    await kv.put("traffic:a", text);
    assertEquals(await readCensus(kv, "a", "LHR"), undefined, text);
  }
  assertEquals(await readCensus(kv, "none", "LHR"), undefined);
  const down = kvAll(() => Promise.reject(new Error("down")));
  assertEquals(await readCensus(down, "a", "LHR"), undefined);
});
