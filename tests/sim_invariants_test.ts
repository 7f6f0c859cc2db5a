import { assert, assertEquals } from "@std/assert";
import { scrimp } from "./sim/designs.ts";
import { type DropsOptions, runDrops } from "./sim/hostile_drops.ts";
import { repeatCommand } from "./sim/hostile_options.ts";
import { type HostileResult, runHostile } from "./sim/hostile_world.ts";
import { type NetworkOptions, simulateNetwork } from "./sim/network.ts";
import { simulatePatterns } from "./sim/patterns_day.ts";

const WORLDS = 400;
const PARTS = 8;
/** Every so many worlds one is run twice. */
const TWICE = 3;

const results: HostileResult[] = [];

function explain({ options: { seed }, problems }: HostileResult): string {
  return `World ${seed}: ${problems.join("; ")}. Repeat it with: ${repeatCommand(seed)}`;
}

for (let part = 0; part < PARTS; part++) {
  const first = 1 + part * WORLDS / PARTS;
  const last = first + WORLDS / PARTS - 1;
  Deno.test(`all invariants hold in the hostile worlds ${first} to ${last}`, async () => {
    for (let seed = first; seed <= last; seed++) {
      const result = await runHostile(seed);
      results.push(result);
      assertEquals(result.problems, [], explain(result));
      if (seed % TWICE !== 0) continue;
      const again = await runHostile(seed);
      assertEquals(again.trace, result.trace, `Not the same twice: ${repeatCommand(seed)}`);
    }
  });
}

Deno.test("hostile worlds differ in all that they can differ in", async () => {
  const some = results.length > 0 ? results : [await runHostile(1), await runHostile(2)];
  assert(new Set(some.map(({ trace }) => trace)).size === some.length);
  assert(some.every(({ made }) => made > 0));
});

Deno.test("runHostile() tells of a counter that counts too much", async () => {
  const result = await runHostile(3, { program: "counter", cache: "sound", outage: "none" });
  assertEquals(result.problems, []);
  const spoiled = await runHostile(3, {
    program: "counter",
    cache: "sound",
    outage: "none",
    spoil: "double",
  });
  assert(spoiled.problems.some((text) => text.startsWith("over-count")), "no over-count was found");
});

for (const [writesPerDay, cache] of [[8, "sound"], [20, "slow"], [40, "sound"]] as const) {
  Deno.test(`a budget of ${writesPerDay} writes holds over thirty data centers`, async () => {
    for (let seed = 1; seed <= 3; seed++) {
      const crowd = { writesPerDay, cache, dataCenters: 30, views: 600, outage: "none" } as const;
      const result = await runHostile(seed, {
        ...crowd,
        quota: "free",
        faultRate: 0,
        staleness: 1,
      });
      assertEquals(result.problems, [], explain(result));
    }
  });
}

const BUSY: readonly (readonly [string, Partial<NetworkOptions>])[] = [
  ["busy", {}],
  ["busy without a cache", { edgeCache: "none" }],
  ["busy without a cache, of isolates that die young", { edgeCache: "none", idleMs: 60_000 }],
  ["with a 50-fold spike", { viewsPerDay: 600, spike: { hour: 20, hours: 1, factor: 50 } }],
  ["with faults and kills", { killRate: 0.05, kv: { faults: { rate: 0.05 }, staleness: 2 } }],
];
for (const [n, [name, changes]] of BUSY.entries()) {
  Deno.test(`budget, lists, signups and counts hold in a network ${name}`, async () => {
    const options = { seed: n + 1, viewsPerDay: 1_500, dataCenters: 40, ...changes };
    const { days, rejections } = await simulateNetwork({ ...options, design: scrimp() });
    assertEquals(rejections, 0);
    for (const { overCount, refused, writes, lists, signups } of days) {
      assertEquals([overCount, refused], [0, 0]);
      assert(writes <= 404, `${writes} writes`);
      assert(lists <= 600, `${lists} lists`);
      assert(signups > 0);
    }
  });
}

for (const [viewsPerDay, dataCenters] of [[1_500, 30], [5_000, 50], [20_000, 250]] as const) {
  const name = `${viewsPerDay} views over ${dataCenters} data centers and all patterns on`;
  Deno.test(`no signup is refused with ${name}`, async () => {
    const result = await simulatePatterns({ seed: 1, viewsPerDay, dataCenters });
    const { writes, signups, refused, rejections } = result;
    assert(writes <= 1_000 && signups > 0, result.text);
    assertEquals([refused, rejections], [0, 0]);
  });
}

Deno.test("views that grow too old to be stored are dropped, and the report says how many", async () => {
  for (let seed = 1; seed <= 24; seed++) {
    const options: DropsOptions = {
      seed,
      kind: seed % 2 === 0 ? "asleep" : "outage",
      cache: seed % 3 === 0 ? "none" : "sound",
      isolates: 1 + seed % 4,
      deathRate: seed % 5 === 0 ? 0.1 : 0,
    };
    const { made, madeByDead, total, dropped, pending, rounded, rejections } = await runDrops(
      options,
    );
    const text = JSON.stringify({ ...options, made, madeByDead, total, dropped, pending });
    assertEquals(rejections, 0, text);
    assert(dropped > 0, text);
    const known = total + dropped + pending;
    assert(known <= made && known >= made - madeByDead - rounded, text);
  }
});

for (const cron of ["daily", "none"] as const) {
  Deno.test(`a budget of 100 writes holds over 250 data centers, cron ${cron}`, async () => {
    const options = { seed: 77, viewsPerDay: 3_000, dataCenters: 250, days: 3, cron };
    const { days, rejections } = await simulateNetwork({ ...options, design: scrimp(100) });
    assertEquals(rejections, 0);
    for (const { overCount, refused, writes, lists } of days) {
      assertEquals([overCount, refused], [0, 0]);
      assert(writes <= 101 + (cron === "daily" ? 4 : 0), `${writes} writes`);
      assert(lists < 1_000, `${lists} lists`);
    }
  });
}
