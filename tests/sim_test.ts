import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import {
  EdgeCacheFake,
  Isolate,
  IsolatePool,
  seededRandom,
  Simulation,
  Trace,
} from "../lib/sim/mod.ts";
import { hashChance } from "../lib/sim/random.ts";

Deno.test("seededRandom() repeats, and spreads evenly", () => {
  const random = seededRandom(3);
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 10_000; i++) {
    const tenth = Math.floor(random() * 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  for (const count of tenths) assert(count > 850 && count < 1150, String(tenths));
  assertNotEquals(seededRandom(1)(), seededRandom(2)());
  assertNotEquals(seededRandom(1)(), seededRandom(1 + 2 ** 40)());
  assertThrows(() => seededRandom(NaN), RangeError);
  const mean = Array.from({ length: 1000 }, (_, i) => hashChance(5, i)).reduce((a, b) => a + b);
  assert(mean > 450 && mean < 550);
});

Deno.test("Trace hashes every line and keeps the latest", () => {
  const trace = new Trace({ linesMax: 2 });
  const empty = trace.hash;
  for (let i = 0; i < 9; i++) trace.note(`line ${i}`);
  assertEquals(trace.lines, ["line 7", "line 8"]);
  assertEquals(trace.count, 9);
  assertNotEquals(trace.hash, empty);
  const [one, other] = [new Trace(), new Trace()];
  one.note("ab");
  one.note("c");
  other.note("a");
  other.note("bc");
  assertNotEquals(one.hash, other.hash);
  assertEquals(one.lines, []);
});

Deno.test("Simulation runs events in the order of time, then of arrival", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const seen: string[] = [];
  for (const [ms, name] of [[30, "c"], [10, "a"], [30, "d"], [20, "b"]] as const) {
    sim.at(ms, () => seen.push(`${sim.clock.now()}${name}`));
  }
  await sim.runUntil(25);
  assertEquals([seen, sim.clock.now(), sim.scheduled], [["10a", "20b"], 25, 2]);
  await sim.runUntilIdle();
  assertEquals(seen, ["10a", "20b", "30c", "30d"]);
  sim.at(5, () => seen.push("late"));
  await sim.runUntil(30);
  assertEquals(seen.at(-1), "late");
});

Deno.test("Simulation keeps events sorted, however they arrive", async () => {
  const sim = new Simulation({ seed: 5, startMs: 0 });
  const seen: number[] = [];
  for (let i = 0; i < 2000; i++) {
    const at = Math.floor(sim.random() * 500);
    sim.at(at, () => seen.push(at));
  }
  await sim.runUntilIdle();
  assertEquals(seen, seen.toSorted((a, b) => a - b));
});

Deno.test("Simulation lets woken code run before time goes on, spawned or not", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const seen: string[] = [];
  const deep = async (depth: number): Promise<void> => {
    if (depth > 0) await deep(depth - 1);
    else await undefined;
  };
  const work = async (name: string) => {
    for (let i = 0; i < 2; i++) {
      await sim.clock.sleep(10);
      await deep(12);
      seen.push(`${name}${sim.clock.now()}`);
    }
  };
  const loose = work("loose");
  sim.spawn(work("task"));
  sim.at(15, () => seen.push("event"));
  await sim.runUntilIdle();
  await loose;
  assertEquals(seen, ["loose10", "task10", "event", "loose20", "task20"]);
});

Deno.test("Simulation keeps what tasks reject with, and does not run twice at once", async () => {
  const sim = new Simulation({ seed: 1 });
  sim.after(1, () => Promise.reject(new Error("lost")));
  const run = sim.runUntilIdle();
  await assertRejects(() => sim.runUntilIdle(), TypeError, "Simulation is running already");
  await run;
  assertEquals(sim.rejections.map(String), ["Error: lost"]);
  assertEquals(sim.pending, 0);
  assertThrows(() => new Simulation({ seed: 1, startMs: NaN }), RangeError);
  assertThrows(() => new Simulation({ seed: 1, settleTicks: 0 }), RangeError);
});

Deno.test("Simulation.chance() gives each purpose a source of its own", () => {
  const sim = new Simulation({ seed: 1 });
  assertEquals(sim.chance("a")(), new Simulation({ seed: 1 }).chance("a")());
  assertNotEquals(sim.chance("a")(), sim.chance("b")());
});

Deno.test("EdgeCacheFake forgets: by time, by number, by chance, on request", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const { clock, random } = sim;
  const cache = new EdgeCacheFake({ clock, random, entriesMax: 2, evictionRate: 0 });
  await cache.set("a", "1", 10);
  await cache.set("b", "2", 100);
  assertEquals(await cache.get("a"), "1");
  await cache.set("c", "3", 100);
  assertEquals(await cache.get("b"), undefined, "used longest ago");
  await sim.runUntil(10_000);
  assertEquals(await cache.get("a"), undefined, "expired");
  assertEquals(await cache.get("c"), "3");
  cache.evict("c");
  assertEquals(await cache.get("c"), undefined);
  await cache.set("d", "4", 100);
  cache.evict();
  await cache.set("e", "5", 0);
  assertEquals(cache.size, 0);
  assertEquals(cache.operations, { get: 5, set: 5 });

  const forgetful = new EdgeCacheFake({ clock, random, evictionRate: 1 });
  await forgetful.set("a", "1", 10);
  assertEquals(await forgetful.get("a"), undefined);
  const broken = new EdgeCacheFake({ clock, random, failureRate: 1 });
  await assertRejects(() => broken.get("a"), Error, "Cache API failed");
  for (const bad of [{ evictionRate: 2 }, { failureRate: NaN }, { entriesMax: 0 }]) {
    assertThrows(() => new EdgeCacheFake({ clock, random, ...bad }), RangeError);
  }
});

Deno.test("EdgeCacheFake takes virtual time", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const cache = new EdgeCacheFake({ clock: sim.clock, random: sim.random, latencyMs: 5 });
  sim.spawn(cache.set("a", "1", 10));
  await sim.runUntilIdle();
  assertEquals(sim.clock.now(), 5);
});

/** Reads, then writes twice; with a sleep between. */
async function work(isolate: Isolate): Promise<void> {
  await isolate.edgeCache?.get("a");
  await isolate.kv.put("a", "1");
  await isolate.clock.sleep(100);
  await isolate.kv.put("b", "1");
  await isolate.edgeCache?.set("a", "1", 60);
}

Deno.test("Isolate can be killed at every point, and then has no further effect", async () => {
  const outcomes: string[] = [];
  for (let point = 0; point <= 10; point++) {
    const sim = new Simulation({ seed: 1, startMs: 0 });
    const kv = new MemoryKv({ now: sim.clock.now });
    const edgeCache = new EdgeCacheFake({ clock: sim.clock, random: sim.random });
    const isolate = new Isolate(sim, { name: "LHR#0", kv, edgeCache });
    isolate.killAt(point);
    isolate.ctx.waitUntil(work(isolate));
    await sim.runUntilIdle();
    assertEquals([isolate.alive, isolate.busy, sim.pending], [point >= 10, false, 0]);
    outcomes.push(`${(await kv.list()).keys.length}${edgeCache.size}`);
  }
  assertEquals(outcomes, "00 00 00 10 10 10 10 20 20 21 21".split(" "));
});

Deno.test("Isolate passes answers and errors on, and counts overdue work", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const isolate = new Isolate(sim, { name: "LHR#0", kv: new MemoryKv({ now: sim.clock.now }) });
  assertEquals(isolate.edgeCache, null);
  await isolate.kv.put("a", "1", { metadata: 2 });
  assertEquals(await isolate.kv.get("a"), "1");
  assertEquals(await isolate.kv.get(["a", "b"]), new Map([["a", "1"], ["b", null]]));
  assertEquals((await isolate.kv.getWithMetadata("a")).metadata, 2);
  await isolate.kv.delete("a");
  assertEquals((await isolate.kv.list()).keys, []);
  await assertRejects(() => isolate.kv.get(""), TypeError);
  isolate.ctx.waitUntil(isolate.clock.sleep(30_000));
  isolate.ctx.waitUntil(isolate.clock.sleep(30_001));
  isolate.ctx.waitUntil(Promise.reject(new Error("lost")));
  await sim.runUntilIdle();
  assertEquals([isolate.overdue, isolate.usedMs], [1, 30_001]);
  assertEquals(sim.rejections.map(String), ["Error: lost"]);
});

Deno.test("IsolatePool bears isolates, evicts idle ones and tells of each end", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const ended: string[] = [];
  const pool = new IsolatePool(sim, {
    name: "LHR",
    kv: new MemoryKv({ now: sim.clock.now }),
    start: (isolate) => ({ name: isolate.name, views: 0 }),
    onEnd: (isolate, app) => ended.push(`${isolate.name}:${app.views}`),
  });
  for (let i = 0; i < 60; i++) pool.pick().app.views++;
  assertEquals([pool.born, pool.running.length], [3, 3]);
  const views = pool.running.reduce((sum, { app }) => sum + app.views, 0);
  assertEquals(views, 60);
  pool.running[0]?.isolate.ctx.waitUntil(sim.clock.sleep(900_001));
  await sim.runUntil(900_001);
  pool.evictIdle();
  assertEquals(pool.running.length, 1, "a busy isolate stays");
  assertEquals(ended.length, 2);
  pool.killAll();
  assertEquals([pool.running.length, ended.length], [0, 3]);
  const unlucky = new IsolatePool(sim, {
    name: "SYD",
    kv: new MemoryKv(),
    start: () => 0,
    isolatesMax: 1,
    evictionRate: 1,
  });
  for (let i = 0; i < 5; i++) unlucky.pick();
  assertEquals(unlucky.born, 5);
  const options = { name: "x", kv: new MemoryKv(), start: () => 0 };
  assertThrows(() => new IsolatePool(sim, { ...options, isolatesMax: 0 }), RangeError);
  assertThrows(() => new IsolatePool(sim, { ...options, evictionRate: 2 }), RangeError);
});
