import { KvWorld } from "@scrimp/kv/kv-world";
import { assertEquals } from "@std/assert";
import { countNaively, createCounter } from "./counter.ts";

const LOCATIONS = ["LHR", "NRT", "GRU"];
const ROUNDS = 10;

/** Lets all locations see a page a second apart, every two minutes. */
async function visit(world: KvWorld, view: (location: string) => Promise<void>): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    for (const location of LOCATIONS) {
      await view(location);
      world.advance(1_500);
    }
    world.advance(120_000);
  }
}

Deno.test("the naive counter loses what others wrote meanwhile", async () => {
  const world = new KvWorld({ seed: 1 });
  await visit(world, (location) => countNaively(world.location(location)));
  const views = Number(await world.location("LHR").get("views"));
  assertEquals(views < ROUNDS * LOCATIONS.length, true, `${views}`);
});

Deno.test("a key for each location keeps every view", async () => {
  const world = new KvWorld({ seed: 1 });
  const counters = new Map(
    LOCATIONS.map((name) => [name, createCounter(world.location(name), name)]),
  );
  await visit(world, async (location) => await counters.get(location)?.());
  const stored = LOCATIONS.map((name) => world.location("AMS").get(`views:${name}`));
  assertEquals(await Promise.all(stored), LOCATIONS.map(() => `${ROUNDS}`));
});

Deno.test("the day's writes are spent at a thousand views", async () => {
  const world = new KvWorld({ seed: 1 });
  const count = createCounter(world.location("LHR"), "LHR");
  let refused = 0;
  for (let view = 0; view < 1_010; view++) {
    world.advance(1_500);
    await count().catch(() => refused++);
  }
  assertEquals(refused, 10);
});
