import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { HARMLESS_WORLD, KvWorld, type KvWorldOptions } from "../lib/kv/kv_world.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { Kv } from "../lib/kv/kv.ts";
import { Simulation } from "../lib/sim/simulation.ts";

/** A world in which only what a test asks for is by chance. */
function plainWorld(options: Partial<KvWorldOptions> = {}): KvWorld {
  return new KvWorld({
    seed: 1,
    propagationMsMax: 0,
    overstayRate: 0,
    ownWriteRate: 1,
    region: (location) => location,
    listLagMsMax: 0,
    tombstoneMs: 0,
    ...options,
  });
}

Deno.test("KvWorld answers from a copy for cacheTtl, misses included", async () => {
  const world = plainWorld();
  const [london, sydney] = [world.location("LHR"), world.location("SYD")];
  assertEquals(await sydney.get("a"), null);
  await london.put("a", "1");
  assertEquals(await london.get("a"), "1");
  world.advance(59_999);
  assertEquals(await sydney.get("a"), null);
  assertEquals(world.counts({ location: "SYD" }).stale, 1);
  world.advance(1);
  assertEquals(await sydney.getWithMetadata("a"), {
    value: "1",
    metadata: null,
    cacheStatus: "MISS",
  });
  assertEquals((await sydney.getWithMetadata("a")).cacheStatus, "HIT");
});

Deno.test("KvWorld lets the reader's own cacheTtl decide", async () => {
  const world = plainWorld();
  const [london, sydney] = [world.location("LHR"), world.location("SYD")];
  await london.put("a", "1");
  assertEquals(await sydney.get("a", { cacheTtl: 3600 }), "1");
  world.advance(10_000);
  await london.put("a", "2");
  world.advance(25_000);
  assertEquals(await sydney.get("a", { cacheTtl: 3600 }), "1");
  assertEquals(await sydney.get("a", { cacheTtl: 30 }), "2");
});

Deno.test("KvWorld shares a region's copies", async () => {
  const world = plainWorld({ region: () => "all" });
  const [london, sydney, tokyo] = ["LHR", "SYD", "NRT"].map((name) => world.location(name));
  assert(london && sydney && tokyo);
  assertEquals(await sydney.get("a"), null);
  await london.put("a", "1");
  assertEquals(await tokyo.get("a"), null);
  world.advance(60_000);
  assertEquals(await tokyo.get("a"), "1");
});

Deno.test("KvWorld forgets an expired value in spite of a longer cacheTtl", async () => {
  const world = plainWorld();
  const london = world.location("LHR");
  await london.put("a", "1", { expirationTtl: 60 });
  assertEquals(await london.get("a", { cacheTtl: 3600 }), "1");
  world.advance(60_000);
  assertEquals(await london.get("a", { cacheTtl: 3600 }), null);
});

Deno.test("KvWorld lets copies overstay and own writes go unseen, by chance", async () => {
  const world = plainWorld({ overstayRate: 1, overstayMsMax: 10_000, ownWriteRate: 0 });
  const london = world.location("LHR");
  assertEquals(await london.get("a"), null);
  await london.put("a", "1");
  assertEquals(await london.get("a"), null);
  world.advance(60_000);
  assertEquals(await london.get("a"), null);
  world.advance(10_000);
  assertEquals(await london.get("a"), "1");
});

Deno.test("KvWorld takes time to show a write elsewhere", async () => {
  const world = plainWorld({ propagationMsMax: 1_000_000_000, staleness: 1e-4 });
  const london = world.location("LHR");
  await london.put("a", "1");
  const elsewhere = Array.from({ length: 50 }, (_, i) => world.location(`L${i}`));
  const seen = async () =>
    (await Promise.all(elsewhere.map((kv) => kv.get("a")))).filter((v) => v !== null).length;
  assertEquals(await seen() < 25, true);
  world.advance(100_001);
  assertEquals(await seen(), 50);
});

Deno.test("KvWorld lists late elsewhere, and at once at home", async () => {
  const world = plainWorld({ listLagMsMax: 60_000 });
  const [london, sydney] = [world.location("LHR"), world.location("SYD")];
  await london.put("a:1", "", { metadata: 1 });
  assertEquals((await london.list({ prefix: "a:" })).keys, [{ name: "a:1", metadata: 1 }]);
  assertEquals((await sydney.list({ prefix: "a:" })).keys, []);
  world.advance(60_000);
  assertEquals((await sydney.list()).keys.length, 1);
  await london.delete("a:1");
  assertEquals((await london.list()).keys.length, 0);
  assertEquals((await sydney.list()).keys.length, 1);
  world.advance(60_000);
  assertEquals((await sydney.list()).keys.length, 0);
});

Deno.test("KvWorld has pages without keys that are not the last", async () => {
  const world = plainWorld({ tombstoneMs: 600_000 });
  const kv = world.location("LHR");
  for (const name of ["a", "b", "c", "d", "e"]) await kv.put(name, "");
  for (const name of ["a", "b", "d"]) await kv.delete(name);
  const first = await kv.list({ limit: 2 });
  assertEquals([first.keys, first.list_complete], [[], false]);
  assert(!first.list_complete);
  const second = await kv.list({ limit: 2, cursor: first.cursor });
  assert(!second.list_complete);
  assertEquals(second.keys.map((key) => key.name), ["c"]);
  const third = await kv.list({ limit: 2, cursor: second.cursor });
  assertEquals([third.keys.length, third.list_complete], [1, true]);
  world.advance(600_000);
  assertEquals((await kv.list({ limit: 2 })).keys.map((key) => key.name), ["c", "e"]);
});

Deno.test("KvWorld answers fast writes to one key with 429, or loses them silently", async () => {
  const strict = plainWorld({ sameKeyWrites: "throw" });
  const kv = strict.location("LHR");
  await kv.put("a", "1");
  await assertRejects(() => kv.put("a", "2"), Error, "KV PUT failed: 429 Too Many Requests");
  await kv.put("b", "1");
  strict.advance(1000);
  await kv.put("a", "2");
  const silent = plainWorld({ sameKeyWrites: "overwrite" }).location("LHR");
  for (const value of ["1", "2", "3"]) await silent.put("a", value);
  assertEquals(await silent.get("a"), "3");
  const either = plainWorld().location("LHR");
  const answers = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) => either.put("a", String(i))),
  );
  const refused = answers.filter(({ status }) => status === "rejected").length;
  assert(refused > 5 && refused < 35, `${refused} of 40 refused`);
});

Deno.test("KvWorld has four daily allowances, for all locations together", async () => {
  const world = plainWorld({ quotas: { read: 3, write: 2, list: 1, delete: 1 } });
  const [london, sydney] = [world.location("LHR"), world.location("SYD")];
  await london.put("a", "");
  await sydney.put("b", "");
  await assertRejects(() => london.put("c", ""), Error, "KV put() limit exceeded for the day.");
  await london.get(["a", "b"]);
  await assertRejects(() => london.get(["a", "b"]), Error, "KV get() limit exceeded for the day.");
  await london.get("a");
  await assertRejects(() => sydney.get("a"), Error, "KV get() limit exceeded for the day.");
  await sydney.list();
  await assertRejects(() => sydney.list(), Error, "KV list() limit exceeded for the day.");
  await sydney.delete("x");
  await assertRejects(() => sydney.delete("x"), Error, "KV delete() limit exceeded for the day.");
  assertEquals(world.quotasLeft, { read: 0, write: 0, list: 0, delete: 0 });
  world.advance(86_400_000);
  assertEquals(world.quotasLeft, { read: 3, write: 2, list: 1, delete: 1 });
  world.spend("write", 5);
  assertEquals(world.quotasLeft.write, 0);
  await london.get("a");
});

Deno.test("KvWorld bounds the operations of an invocation", async () => {
  const world = plainWorld();
  const kv = world.invocation("LHR", { operationsMax: 2 });
  await kv.get(["a", "b", "c"]);
  await kv.get("a");
  await assertRejects(
    () => kv.get("a"),
    Error,
    "Too many API requests by single Worker invocation.",
  );
  const few = world.invocation("LHR", { subrequestsMax: 0 });
  await assertRejects(() => few.list(), Error, "Too many subrequests by single Worker invocation.");
  await world.invocation("LHR").get("a");
});

Deno.test("KvWorld fails on cue, before or after the effect", async () => {
  const world = plainWorld();
  const kv = world.location("LHR");
  world.fail({ fault: "503", operation: "write", prefix: "b", skip: 1, times: 2, effect: "after" });
  await kv.put("a", "1");
  await kv.put("b1", "1");
  const text = "KV PUT failed: 503 Service Temporarily Unavailable";
  await assertRejects(() => kv.put("b2", "1"), Error, text);
  await assertRejects(() => kv.put("b3", "1"), Error, text);
  await kv.put("b4", "1");
  assertEquals(await kv.get("b2"), "1");
  world.fail({ fault: "500" });
  await assertRejects(() => kv.list(), Error, "KV GET failed: 500 Internal Server Error");
  const end = world.fail({ fault: "network", location: "SYD", times: Infinity });
  await kv.get("a");
  for (let i = 0; i < 3; i++) {
    await assertRejects(() => world.location("SYD").get("a"), Error, "Network connection lost.");
  }
  end();
  assertEquals(await world.location("SYD").get("a"), "1");
  world.fail({ fault: "quota", operation: "delete", effect: "after" });
  await assertRejects(() => kv.delete("a"), Error, "KV delete() limit exceeded for the day.");
  world.fail({ fault: "429", operation: "write", effect: "after" });
  await assertRejects(() => kv.put("z", "1"), Error, "KV PUT failed: 429 Too Many Requests");
  assertEquals((await kv.list()).keys.length, 5);
});

Deno.test("KvWorld can leave a call without an answer", async () => {
  const world = plainWorld();
  world.fail({ fault: "hang", operation: "read" });
  const answer = await Promise.race([
    world.location("LHR").get("a"),
    (async () => {
      for (let i = 0; i < 100; i++) await undefined;
      return "none";
    })(),
  ]);
  assertEquals(answer, "none");
});

Deno.test("KvWorld fails by chance, and some failed writes were stored", async () => {
  const world = plainWorld({ faults: { rate: 0.5 } });
  const kv = world.location("LHR");
  const names = Array.from({ length: 100 }, (_, i) => `k${i}`);
  const answers = await Promise.allSettled(names.map((name) => kv.put(name, "")));
  const failed = new Set(names.filter((_, i) => answers[i]?.status === "rejected"));
  assert(failed.size > 20 && failed.size < 80);
  assertEquals(world.counts({ prefix: "" }).failed, failed.size);
  const stored = world.size;
  assert(stored > 100 - failed.size && stored < 100, `${stored} stored`);
});

Deno.test("KvWorld takes virtual time with a simulation's clock", async () => {
  const sim = new Simulation({ seed: 1, startMs: 0 });
  const world = plainWorld({
    now: sim.clock.now,
    sleep: sim.clock.sleep,
    latency: { write: [100, 100], hot: [10, 10], cold: [50, 50] },
  });
  const times: number[] = [];
  sim.spawn((async () => {
    const kv = world.location("SYD");
    await kv.put("a", "1");
    times.push(sim.clock.now());
    await kv.get("a");
    times.push(sim.clock.now());
    await kv.get("b");
    times.push(sim.clock.now());
  })());
  await sim.runUntilIdle();
  assertEquals(times, [100, 110, 165]);
});

Deno.test("KvWorld refuses what it does not simulate, and options out of range", () => {
  assertThrows(
    () => new KvWorld({ seed: 1, jurisdiction: "eu" } as KvWorldOptions),
    TypeError,
    'Option "jurisdiction" is not simulated',
  );
  assertThrows(() => new KvWorld({ seed: 1, latency: {} }), TypeError, 'needs option "sleep"');
  assertThrows(() => new KvWorld({ seed: NaN }), RangeError, "Seed must be a finite number");
  const bad: Partial<KvWorldOptions>[] = [
    { staleness: -1 },
    { overstayRate: 2 },
    { faults: { rate: -0.1 } },
    { listLagMsMax: Infinity },
    { logMax: NaN },
    { quotas: { read: -1 } },
  ];
  for (const options of bad) assertThrows(() => new KvWorld({ seed: 1, ...options }), RangeError);
  const odd = "meteor" as "500";
  assertThrows(
    () => plainWorld().fail({ fault: odd }),
    TypeError,
    'Fault "meteor" is not simulated',
  );
  assertThrows(() => plainWorld({ faults: { faults: [odd] } }), TypeError);
  assertThrows(() => plainWorld({ sameKeyWrites: odd as "either" }), TypeError);
  assertThrows(() => new KvWorld({ seed: 1, now: () => 0 }).advance(1), TypeError);
  assertThrows(() => new KvWorld({ seed: 1 }).advance(-1), RangeError);
});

Deno.test("KvWorld keeps a log and counts by location and prefix", async () => {
  const world = plainWorld({ logMax: 3 });
  await world.location("LHR").put("a:1", "");
  await world.location("SYD").get("a:1");
  await world.location("SYD").get("b:1");
  await world.location("SYD").list({ prefix: "a:" });
  assertEquals(world.log.map((entry) => `${entry.location} ${entry.operation} ${entry.key}`), [
    "SYD read a:1",
    "SYD read b:1",
    "SYD list a:",
  ]);
  const empty = { read: 0, write: 0, list: 0, delete: 0, stale: 0, failed: 0 };
  assertEquals(world.counts({ prefix: "a" }), { ...empty, read: 1, write: 1, list: 1 });
  assertEquals(world.counts({ location: "LHR" }), { ...empty, write: 1 });
  assertEquals(world.operations, { read: 2, write: 1, list: 1, delete: 0 });
});

/** Drives a world with seeded operations; the trace tells two runs apart. */
async function churn(seed: number): Promise<string> {
  const sim = new Simulation({ seed });
  const world = new KvWorld({
    seed,
    now: sim.clock.now,
    sleep: sim.clock.sleep,
    faults: { rate: 0.05 },
  });
  for (let i = 0; i < 300; i++) {
    const kv = world.location(`L${Math.floor(sim.random() * 5)}`);
    const key = `k:${Math.floor(sim.random() * 10)}`;
    const what = sim.random();
    sim.at(sim.clock.now() + sim.random() * 600_000, async () => {
      if (what < 0.4) await kv.put(key, String(i), { metadata: i }).catch(() => {});
      else if (what < 0.8) await kv.get(key).catch(() => {});
      else if (what < 0.9) await kv.delete(key).catch(() => {});
      else await kv.list({ prefix: "k:", limit: 3 }).catch(() => {});
    });
  }
  await sim.runUntilIdle();
  assertEquals(sim.pending, 0);
  return world.traceHash;
}

Deno.test("KvWorld gives the same trace for the same seed, and another for another", async () => {
  assertEquals(await churn(1), await churn(1));
  assertNotEquals(await churn(1), await churn(2));
});

Deno.test("KvWorld's memory follows the live keys", async () => {
  const world = new KvWorld({ seed: 1, quotas: null });
  const kv = world.location("LHR");
  for (let i = 0; i < 20_000; i++) {
    await kv.put(`k${i}`, "x", { expirationTtl: 60 });
    world.advance(1000);
  }
  assert(world.size < 3000, `${world.size} keys held`);
});

/** The counter that everybody writes first. */
async function countNaively(kv: Kv): Promise<void> {
  const count = Number(await kv.get("count") ?? 0);
  await kv.put("count", String(count + 1));
}

Deno.test("naive counter: exact on MemoryKv, loses updates and reads a stale miss on KvWorld", async () => {
  const visits = Array.from({ length: 40 }, (_, i) => ["LHR", "SYD", "IAD", "NRT"][i % 4] ?? "");
  const memory = new MemoryKv({ now: () => 0 });
  for (const _ of visits) await countNaively(memory);
  assertEquals(await memory.get("count"), "40");

  const world = new KvWorld({ seed: 1 });
  for (const name of visits) {
    await countNaively(world.location(name));
    world.advance(5000);
  }
  world.advance(120_000);
  const stored = Number(await world.location("FRA").get("count"));
  assert(stored < 20, `${stored} of 40 kept`);
  const { stale, failed } = world.counts();
  assertEquals(failed, 0);
  assert(stale > 0);

  const fresh = new KvWorld({ seed: 1 });
  assertEquals(await fresh.location("SYD").get("count"), null);
  await countNaively(fresh.location("LHR"));
  fresh.advance(2000);
  assertEquals(await fresh.location("SYD").get("count"), null, "a stale miss");
  await countNaively(fresh.location("SYD"));
  fresh.advance(120_000);
  assertEquals(await fresh.location("FRA").get("count"), "1", "two visits, one counted");
});

Deno.test("HARMLESS_WORLD makes a world as consistent as MemoryKv", async () => {
  const world = new KvWorld({ seed: 1, ...HARMLESS_WORLD });
  const names = Array.from({ length: 40 }, (_, i) => `L${i % 4}`);
  for (const name of names) await countNaively(world.location(name));
  assertEquals(await world.location("SYD").get("count"), "40");
});
