import { assert, assertEquals, assertThrows } from "@std/assert";
import { DEFAULT_SHARES, WriteBudget } from "../lib/write_budget.ts";
import type { EdgeCache } from "../lib/views/edge_cache.ts";
import { mapCache } from "./_traffic_worker.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;

function ledger(
  at = 0,
  shares: Record<string, number> = { search: 100 },
  chance = 0.5,
  headStart = 0.3,
) {
  const time = { now: at };
  const random = () => chance;
  const budget = new WriteBudget({ now: () => time.now, random, shares, headStart });
  return { time, budget };
}

Deno.test("WriteBudget refuses settings that make no sense", () => {
  for (const writesPerDay of [-1, 1.5, NaN, Infinity]) {
    assertThrows(() => new WriteBudget({ writesPerDay }), RangeError, "writesPerDay");
  }
  assertThrows(() => new WriteBudget({ shares: { a: -1 } }), RangeError, '"a"');
  assertThrows(() => new WriteBudget({ shares: { a: 600, b: 401 } }), RangeError, "1001");
  for (const headStart of [-0.1, 1.1, NaN]) {
    assertThrows(() => new WriteBudget({ headStart }), RangeError, "headStart");
  }
});

Deno.test("WriteBudget leaves 260 writes to the site", () => {
  const { reserve, writesPerDay, purposes } = new WriteBudget({ now: () => 0 }).status();
  assertEquals([reserve, writesPerDay], [260, 1_000]);
  assertEquals(Object.keys(purposes), Object.keys(DEFAULT_SHARES));
});

Deno.test("take() makes a share available over the day", () => {
  const { time, budget } = ledger();
  assertEquals(budget.take("search", "write", 30), { granted: true, retryAfterMs: 0 });
  const { granted, retryAfterMs } = budget.take("search");
  assertEquals([granted, retryAfterMs], [false, Math.ceil(DAY / 70)]);
  time.now += retryAfterMs - 1;
  assertEquals(budget.take("search").granted, false);
  time.now += 1;
  assertEquals(budget.take("search").granted, true);
});

Deno.test("take() grants no more than the share, and everything again at midnight UTC", () => {
  const { time, budget } = ledger();
  let granted = 0;
  for (; time.now < DAY; time.now += 60_000) if (budget.take("search").granted) granted++;
  assertEquals(granted, 99);
  time.now = DAY - 1;
  assertEquals(budget.take("search"), { granted: false, retryAfterMs: 1 });
  time.now = DAY;
  assertEquals(budget.take("search", "write", 30).granted, true);
});

Deno.test("take() gives nothing to a purpose without a share, and never limits reads", () => {
  const { budget } = ledger(6 * HOUR);
  for (const purpose of ["other", "__proto__", "constructor", "toString"]) {
    assertEquals(budget.take(purpose), { granted: false, retryAfterMs: 18 * HOUR }, purpose);
    assertEquals(budget.take(purpose, "read", 1_000).granted, true);
    assertEquals(budget.take(purpose, "list").granted, true);
  }
  assertEquals(ledger(0, { none: 0 }).budget.take("none").granted, false);
  assertEquals(Object.hasOwn(Object.prototype, "write"), false);
});

Deno.test("take() with a whole head start waits for midnight only", () => {
  const budget = new WriteBudget({ now: () => 0, shares: { a: 1 }, headStart: 1 });
  assertEquals(budget.take("a").granted, true);
  assertEquals(budget.take("a"), { granted: false, retryAfterMs: DAY });
});

Deno.test("note() books what is not asked for, and local() tells of it", () => {
  const { time, budget } = ledger(12 * HOUR);
  budget.note("waitlist", "write", 3);
  budget.note("waitlist", "read", 5);
  budget.note("views", "write", 2);
  assertEquals(budget.local("today"), { waitlist: 3 });
  const { waitlist } = budget.status().purposes;
  assertEquals(waitlist, {
    share: null,
    here: { write: 3, read: 5 },
    networkWrites: 3,
    runsOutAt: null,
  });
  time.now += DAY;
  assertEquals(budget.local(), {});
});

Deno.test("status() foretells when a share runs out", () => {
  const { budget } = ledger(12 * HOUR);
  budget.note("search", "write", 80);
  assertEquals(budget.status().purposes.search?.runsOutAt, 15 * HOUR);
  budget.note("search", "write", 40);
  assertEquals(budget.status().purposes.search?.runsOutAt, 12 * HOUR);
  const quiet = ledger(12 * HOUR).budget;
  quiet.note("search", "write", 50);
  assertEquals(quiet.status().purposes.search?.runsOutAt, null);
});

Deno.test("learn() takes the whole network into account", () => {
  const { budget } = ledger(DAY - 1);
  budget.note("search", "write", 5);
  budget.learn("today", { search: 60 }, 10);
  assertEquals(budget.status().purposes.search?.networkWrites, 60);
  assertEquals(budget.take("search", "write", 4).granted, true);
  assertEquals(budget.status().purposes.search?.networkWrites, 100);
  assertEquals(budget.take("search").granted, false);
  budget.learn("today", {}, 0);
  assertEquals(budget.status().purposes.search?.networkWrites, 9);
});

Deno.test("sync() lets the isolates of a data center know of each other", async () => {
  const cache = mapCache();
  const [one, two] = [ledger(DAY - 1e6, { search: 100 }, 0.1), ledger(DAY - 1e6, undefined, 0.2)];
  one.budget.note("search", "write", 60);
  await one.budget.sync(cache);
  two.budget.note("search", "write", 30);
  await two.budget.sync(cache);
  assertEquals(two.budget.status().purposes.search?.networkWrites, 90);
  one.budget.note("search", "write", 1);
  await one.budget.sync(cache);
  assertEquals(one.budget.status().purposes.search?.networkWrites, 61);
  one.time.now += 2_000;
  for (let n = 0; n < 3; n++) {
    await one.budget.sync(cache);
    one.time.now += 2_000;
  }
  assertEquals(one.budget.status().purposes.search?.networkWrites, 91);
  await one.budget.sync(null);
});

Deno.test("sync() asks the cache nothing while nothing has changed", async () => {
  let calls = 0;
  const cache: EdgeCache = {
    get: () => {
      calls++;
      return Promise.resolve(undefined);
    },
    set: () => Promise.resolve(),
  };
  const { time, budget } = ledger();
  time.now = 10_000;
  // Once for what others have left today and, since that is nothing, yesterday.
  for (let n = 0; n < 5; n++) await budget.sync(cache);
  assertEquals(calls, 2);
  budget.learn("today", {}, 1);
  time.now += 10_000;
  for (let n = 0; n < 5; n++) await budget.sync(cache);
  assertEquals(calls, 3);
  time.now += 10_000;
  await budget.sync(cache);
  assertEquals(calls, 3);
});

Deno.test("take() gives a data center its part of a share, rounded, and no more", () => {
  const { time, budget } = ledger(0, { search: 100 }, 0.5, 1);
  time.now = 0;
  const taken = (part: number) => {
    budget.learn("today", {}, 1, part);
    let writes = 0;
    while (budget.take("search").granted) writes++;
    time.now += 86_400_000;
    return writes;
  };
  assertEquals([taken(1), taken(0.1), taken(0.004), taken(0)], [100, 10, 0, 0]);
});

Deno.test("sync() tells a new isolate what its data center has heard, today or else yesterday", async () => {
  const kept = new Map<string, string>();
  const cache: EdgeCache = {
    get: (key) => Promise.resolve(kept.get(key)),
    set: (key, value) => Promise.resolve(void kept.set(key, value)),
  };
  const first = ledger(0, { search: 100 }, 0.5, 1);
  first.time.now = 10_000;
  first.budget.learn("today", { search: 97 }, 2, 0.5);
  await first.budget.sync(cache);
  const takenBy = async (now: number) => {
    const { budget } = ledger(now, { search: 100 }, 0.5, 1);
    await budget.sync(cache);
    let writes = 0;
    while (budget.take("search").granted) writes++;
    return writes;
  };
  assertEquals(await takenBy(20_000), 2);
  assertEquals(await takenBy(86_400_000 + 20_000), 50);
  for (const heard of [5, null, { at: 1e15 }, { at: 1e15, writers: -1, part: 1 }]) {
    kept.set("budget:0", JSON.stringify({ v: 1, parts: [], heard }));
    assertEquals(await takenBy(20_000), 100, JSON.stringify(heard));
  }
});

Deno.test("sync() survives whatever a cache gives", async () => {
  const bad = [
    "{",
    "null",
    "5",
    '{"v":2,"parts":[["x",{"search":{"write":99}}]]}',
    '{"v":1}',
    '{"v":1,"parts":5}',
    '{"v":1,"parts":[null,5,["x"],["x",5],["x",{"search":5}],["x",{"search":{"write":-1}}]]}',
    '{"v":1,"parts":[[5,{"search":{"write":99}}]]}',
  ];
  for (const text of bad) {
    const { time, budget } = ledger();
    time.now = 10_000;
    budget.note("search", "write");
    await budget.sync({ get: () => Promise.resolve(text), set: () => Promise.resolve() });
    assertEquals(budget.status().purposes.search?.networkWrites, 1, text);
  }
  const { time, budget } = ledger();
  time.now = 10_000;
  budget.note("search", "write");
  const down = () => Promise.reject(new Error("down"));
  await budget.sync({ get: down, set: down });
  time.now += 2_000;
  let stored = "";
  await budget.sync({
    get: () => Promise.resolve(undefined),
    set: (_, value) => Promise.resolve(void (stored = value)),
  });
  assert(stored.includes("search"));
});

Deno.test("sync() bounds the ledgers that it keeps", async () => {
  const cache = mapCache();
  for (let n = 0; n < 60; n++) {
    const { time, budget } = ledger(10_000, undefined, n / 100);
    budget.note("search", "write", 1 + n);
    await budget.sync(cache);
    assertEquals(time.now, 10_000);
  }
  const { parts } = JSON.parse(await cache.get("budget:0") ?? "{}");
  assertEquals(parts.length, 50);
});

Deno.test("sync() takes no ledger of yesterday's into today", async () => {
  const { time, budget } = ledger(DAY - 5_000);
  budget.note("search", "write");
  let sets = 0;
  await budget.sync({
    get: () => {
      time.now = DAY + 1;
      return Promise.resolve('{"v":1,"parts":[["x",{"search":{"write":99}}]]}');
    },
    set: () => Promise.resolve(void sets++),
  });
  assertEquals([sets, budget.status().purposes.search?.networkWrites], [0, 0]);
});
