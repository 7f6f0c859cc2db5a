import { assert, assertEquals } from "@std/assert";
import { KvWorld, type KvWorldOptions } from "../lib/kv/kv_world.ts";
import { RateLimiter, type RateLimiterOptions } from "../lib/rate_limiter.ts";
import { seededRandom } from "../lib/sim/random.ts";
import {
  ISOLATES_PER_LOCATION,
  LIMIT_CASES,
  LOCATIONS,
  simulateLimit,
} from "../scripts/simulate_limits.ts";
import { handClock } from "./_limits_helpers.ts";

const ISOLATES = LOCATIONS.length * ISOLATES_PER_LOCATION;

function setUp(world: Omit<KvWorldOptions, "now">, options: Partial<RateLimiterOptions> = {}) {
  const clock = handClock();
  const kv = new KvWorld({ ...world, now: clock.now });
  const random = seededRandom(world.seed);
  const make = (location: string) =>
    new RateLimiter(kv.location(location), {
      limit: 10,
      windowMs: 60_000,
      clock,
      random,
      ...options,
    });
  return { clock, kv, make, random };
}

for (const limit of LIMIT_CASES) {
  Deno.test(`RateLimiter holds its bounds at ${limit.name} from ${ISOLATES} isolates`, async () => {
    const minutes = limit.limit > 12 ? 12 : 40;
    const load = limit.limit > 12 ? 6 : 12;
    const common = { seed: 7, minutes, limit, load };
    const ours = await simulateLimit({ ...common, design: "ours" });
    const memory = await simulateLimit({ ...common, design: "memory" });
    assert(ours.most <= limit.limit * ISOLATES, `most ${ours.most}`);
    assert(ours.mean <= limit.limit * 3, `mean ${ours.mean}`);
    assert(ours.mean < memory.mean / 2, `mean ${ours.mean}, from memory alone ${memory.mean}`);
  });

  Deno.test(`RateLimiter denies nobody under ${limit.name}, from ${ISOLATES} isolates`, async () => {
    const minutes = limit.limit > 12 ? 12 : 30;
    const quiet = { ...limit, limit: limit.limit * 2 };
    const ours = await simulateLimit({ seed: 7, minutes, limit: quiet, load: 0.4, design: "ours" });
    assertEquals(ours.denied, 0);
  });
}

Deno.test("RateLimiter holds its bounds while operations fail", async () => {
  const [limit] = LIMIT_CASES;
  assert(limit !== undefined);
  for (const faultRate of [0.1, 0.5, 1]) {
    const ours = await simulateLimit({
      seed: 3,
      minutes: 10,
      limit,
      load: 12,
      design: "ours",
      faultRate,
    });
    assert(ours.most <= limit.limit * ISOLATES, `most ${ours.most}`);
  }
});

Deno.test("simulateLimit() gives the same outcome for the same seed", async () => {
  const [limit] = LIMIT_CASES;
  assert(limit !== undefined);
  const run = (seed: number) =>
    simulateLimit({ seed, minutes: 5, limit, load: 6, design: "ours", faultRate: 0.1 });
  assertEquals(await run(5), await run(5));
});

Deno.test("limit() rejects for no fault, and leaves no rejection unhandled", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const { clock, kv, make, random } = setUp({
      seed,
      faults: { rate: 0.4, faults: ["500", "503", "429", "network", "quota"] },
    });
    const limiters = LOCATIONS.map(make);
    const admitted = new Map<string, number>();
    for (let i = 0; i < 300; i++) {
      clock.advance(Math.floor(random() * 2_000));
      const index = Math.floor(random() * limiters.length);
      const result = await limiters[index]?.limit("ann");
      await result?.pending;
      const window = `${index} ${Math.floor(clock.now() / 60_000)}`;
      if (result?.success) admitted.set(window, (admitted.get(window) ?? 0) + 1);
    }
    for (const count of admitted.values()) assert(count <= 10);
    assert(kv.operations.write < 300);
  }
});

Deno.test("limit() goes on from memory when the account's writes and reads are spent", async () => {
  const { clock, kv, make } = setUp({ seed: 1 });
  kv.spend("write", 1_000);
  kv.spend("read", 100_000);
  const limiter = make("LHR");
  for (let minute = 0; minute < 30; minute++) {
    let admitted = 0;
    for (let i = 0; i < 20; i++) {
      const result = await limiter.limit("ann");
      await result.pending;
      assert(result.degraded);
      if (result.success) admitted++;
    }
    assertEquals(admitted, 10);
    clock.advance(60_000);
  }
  assert(kv.operations.write <= 1 && kv.operations.read <= 2);
});

Deno.test("limit() waits for no store that hangs, without waitForStore", async () => {
  const { kv, make } = setUp({ seed: 1 }, { waitForStore: false });
  kv.fail({ fault: "hang", times: 1_000 });
  const limiter = make("LHR");
  const results = [];
  for (let i = 0; i < 12; i++) results.push((await limiter.limit("ann")).success);
  assertEquals(results.filter((success) => success).length, 10);
});

Deno.test("limit() makes up for writes that took place though they failed", async () => {
  const { clock, kv, make } = setUp({ seed: 4, staleness: 0 });
  kv.fail({ fault: "network", operation: "write", effect: "after", times: 3 });
  const limiter = make("LHR");
  for (let window = 0; window < 5; window++) {
    let admitted = 0;
    for (let i = 0; i < 15; i++) {
      const result = await limiter.limit("ann");
      await result.pending;
      if (result.success) admitted++;
      clock.advance(100);
    }
    assertEquals(admitted, 10);
    clock.advance(58_500);
  }
});
