import { assert, assertEquals, assertGreater, assertRejects, assertThrows } from "@std/assert";
import type { Budget } from "../lib/budget.ts";
import { utf8Length } from "../lib/kv/keys.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { RateLimiter, type RateLimiterOptions } from "../lib/rate_limiter.ts";
import { handClock, seeded, watch } from "./_limits_helpers.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function setUp(options: Partial<RateLimiterOptions> = {}) {
  const clock = handClock();
  const memory = new MemoryKv({ now: clock.now });
  const watched = watch(memory, clock.now);
  const make = (more: Partial<RateLimiterOptions> = {}) =>
    new RateLimiter(watched.kv, { limit: 10, windowMs: MINUTE_MS, clock, ...options, ...more });
  const hit = async (limiter: RateLimiter, id = "ann", cost = 1) => {
    const result = await limiter.limit(id, { cost });
    await result.pending;
    return result;
  };
  const burst = async (limiter: RateLimiter, hits: number, id = "ann") => {
    let admitted = 0;
    for (let i = 0; i < hits; i++) admitted += (await hit(limiter, id)).success ? 1 : 0;
    return admitted;
  };
  return { clock, memory, watched, make, hit, burst };
}

for (const algorithm of ["sliding", "fixed"] as const) {
  Deno.test(`limit() admits the limit and no more, ${algorithm}`, async () => {
    const { clock, make, burst } = setUp({ algorithm });
    const limiter = make();
    assertEquals(await burst(limiter, 30), 10);
    clock.advance(MINUTE_MS - 1);
    assertEquals(await burst(limiter, 30), 0);
    clock.advance(1);
    assertEquals(await burst(limiter, 30), 10);
  });

  Deno.test(`limit() never denies steady hits at or under the limit, ${algorithm}`, async () => {
    const cases = [
      [10, MINUTE_MS, 30_000],
      [10, MINUTE_MS, 6_000],
      [1, MINUTE_MS, MINUTE_MS],
      [
        3,
        10_000,
        3_334,
      ],
      [5, 1_000, 200],
      [1, 86_400_000, 86_400_000],
      [7, 3_600_000, 514_286],
    ] as const;
    for (const [limit, windowMs, everyMs] of cases) {
      const { clock, make, hit } = setUp({ limit, windowMs, algorithm });
      const limiter = make();
      clock.advance(17_123);
      for (let i = 0; i < Math.min(2_880, DAY_MS * 3 / everyMs); i++) {
        assert((await hit(limiter)).success, `${limit} in ${windowMs} ms, hit ${i}`);
        clock.advance(everyMs);
      }
    }
  });
}

Deno.test("limit() admits two a minute for a day under ten a minute, and writes nothing", async () => {
  const { clock, make, burst, watched } = setUp();
  const limiter = make();
  let admitted = 0;
  for (let i = 0; i < 2_880; i++) {
    admitted += await burst(limiter, 1);
    clock.advance(30_000);
  }
  assertEquals(admitted, 2_880);
  assertEquals(watched.writes, 0);
});

Deno.test("limit() lets a client that keeps knocking in again after the window, writing nothing", async () => {
  const { clock, make, hit, burst, watched } = setUp();
  const limiter = make();
  assertEquals(await burst(limiter, 10), 10);
  const { reads, writes } = watched;
  const { resetMs } = await hit(limiter);
  for (let i = 0; i < 590; i++) {
    clock.advance(100);
    const result = await hit(limiter);
    assertEquals([result.success, result.reason, result.resetMs], [false, "limit", resetMs]);
  }
  assertEquals([watched.reads, watched.writes], [reads, writes]);
  clock.advance(1_000);
  assertEquals((await hit(limiter)).success, true);
});

Deno.test("limit() admits a client that waited as long as it was told", async () => {
  for (const algorithm of ["sliding", "fixed"] as const) {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seeded(seed);
      const limit = 1 + Math.floor(random() * 12);
      const windowMs = [700, 1_000, 7_001, MINUTE_MS, 90_000][Math.floor(random() * 5)] ?? 1;
      const { clock, make, hit } = setUp({ limit, windowMs, algorithm });
      const limiter = make();
      for (let i = 0; i < 60; i++) {
        clock.advance(Math.floor(random() * windowMs / limit));
        const cost = 1 + Math.floor(random() * limit);
        const result = await hit(limiter, "ann", cost);
        if (result.success) continue;
        assert(Number.isInteger(result.retryAfterSeconds) && result.retryAfterSeconds >= 1);
        assert(result.retryAfterSeconds <= Math.ceil(2 * Math.max(windowMs, 600_000) / 1000));
        clock.advance(result.retryAfterSeconds * 1000);
        assert((await hit(limiter, "ann", cost)).success, `seed ${seed}, hit ${i}`);
      }
    }
  }
});

Deno.test("limit() holds the bound in every stretch of a window's length", async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seeded(seed);
    const limit = 1 + Math.floor(random() * 20);
    const { clock, make, hit } = setUp({ limit });
    const limiter = make();
    const admitted: number[] = [];
    for (let i = 0; i < 400; i++) {
      clock.advance(Math.floor(random() ** 4 * MINUTE_MS / 2));
      if ((await hit(limiter)).success) admitted.push(clock.now());
    }
    for (const at of admitted) {
      const inWindow = admitted.filter((ms) =>
        Math.floor(ms / MINUTE_MS) === Math.floor(at / MINUTE_MS)
      );
      const inStretch = admitted.filter((ms) => ms > at - MINUTE_MS && ms <= at);
      assert(inWindow.length <= limit, `window: seed ${seed}`);
      assert(inStretch.length < 2 * limit || limit === 1, `stretch: seed ${seed}`);
    }
  }
});

Deno.test("limit() counts hits that come at once, one by one", async () => {
  const { make } = setUp({ limit: 3 });
  const limiter = make();
  const results = await Promise.all(Array.from({ length: 20 }, () => limiter.limit("ann")));
  assertEquals(results.filter(({ success }) => success).length, 3);
});

Deno.test("limit() tells what is left and when", async () => {
  const { clock, make, hit } = setUp({ limit: 3 });
  const limiter = make();
  clock.advance(20_000);
  const { pending: _, ...first } = await hit(limiter);
  assertEquals(first, {
    success: true,
    limit: 3,
    remaining: 2,
    resetMs: Date.UTC(2026, 0, 1, 0, 1),
    resetSeconds: 40,
    windowMs: MINUTE_MS,
    retryAfterSeconds: 0,
    degraded: false,
  });
  assertEquals((await hit(limiter, "ann", 2)).remaining, 0);
  const denied = await hit(limiter);
  assertEquals([denied.success, denied.remaining, denied.reason], [false, 0, "limit"]);
  assertEquals(denied.retryAfterSeconds, 60);
});

Deno.test("limit() counts by cost and admits what still fits", async () => {
  const { make, hit } = setUp();
  const limiter = make();
  assertEquals((await hit(limiter, "ann", 8)).remaining, 2);
  assertEquals((await hit(limiter, "ann", 3)).success, false);
  assertEquals((await hit(limiter, "ann", 2)).success, true);
  for (const cost of [0, -1, 1.5, 11, NaN, Infinity]) {
    await assertRejects(() => limiter.limit("ann", { cost }), RangeError, "whole number");
  }
});

Deno.test("limit() carries verdicts to other isolates, in one write", async () => {
  for (const limit of [1, 2, 3, 10, 100]) {
    const { make, burst, watched } = setUp({ limit });
    assertEquals(await burst(make(), limit + 5), limit);
    assertEquals(watched.writes, 1);
    assertEquals(await burst(make(), 5), 0, `limit ${limit}`);
    assertEquals(watched.writes, 1);
  }
});

Deno.test("limit() carries batches to other isolates", async () => {
  const { clock, make, hit, watched } = setUp({ limit: 100 });
  const [one, two] = [make(), make()];
  for (let i = 0; i < 75; i++) {
    await hit(one);
    clock.advance(100);
  }
  assertGreater(watched.writes, 0);
  const { remaining } = await two.peek("ann");
  assert(remaining < 50, `remaining ${remaining}`);
  const eager = setUp({ limit: 100, flushEvery: 5 });
  assertEquals(await eager.burst(eager.make(), 5), 5);
  assertEquals((await eager.make().peek("ann")).remaining, 95);
});

Deno.test("limit() carries a verdict into the next window", async () => {
  const { clock, make, hit, burst } = setUp();
  clock.advance(50_000);
  await burst(make(), 10);
  clock.advance(15_000);
  assertEquals((await hit(make())).success, false);
});

Deno.test("limit() does at most one read, and one write in pending", async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seeded(seed);
    const limit = 1 + Math.floor(random() * 15);
    const { clock, make, watched } = setUp({ limit });
    const limiters = [make(), make(), make()];
    for (let i = 0; i < 300; i++) {
      const limiter = limiters[Math.floor(random() * 3)] ?? make();
      clock.advance(Math.floor(random() ** 3 * 20_000));
      const before = { ...watched };
      const result = await limiter.limit("ann");
      await result.pending;
      assert(watched.reads <= before.reads + 1, `reads: seed ${seed}, hit ${i}`);
      assert(watched.writes <= before.writes + 1, `writes: seed ${seed}, hit ${i}`);
    }
  }
});

Deno.test("limit() writes a key at most once a second", async () => {
  const { clock, make, hit, watched } = setUp({ limit: 40, flushEvery: 1 });
  const limiter = make();
  for (let i = 0; i < 400; i++) {
    await hit(limiter);
    clock.advance(137);
  }
  for (const times of watched.writtenMs.values()) {
    times.forEach((ms, i) => assert(ms - (times[i - 1] ?? -Infinity) >= 1000));
  }
  assertGreater(watched.writes, 3);
});

Deno.test("limit() writes nothing for denied hits, at any pace", async () => {
  for (const stepMs of [0, 1, 7, 20, 33, 100, 333, 1_000, 2_500]) {
    for (const limit of [1, 2, 5, 10, 60, 100]) {
      const { clock, make, hit, watched } = setUp({ limit });
      const limiter = make();
      let hits = 0;
      while ((await hit(limiter)).success && hits++ < 200) clock.advance(stepMs);
      const { writes } = watched;
      for (let i = 0; i < 20; i++) {
        clock.advance(1_000);
        if ((await hit(limiter)).success) break;
        assertEquals(watched.writes, writes, `limit ${limit}, every ${stepMs} ms`);
      }
    }
  }
});

Deno.test("limit() makes up for a verdict that had to wait, once", async () => {
  const { clock, make, burst, watched } = setUp({ flushEvery: 5 });
  const limiter = make();
  assertEquals(await burst(limiter, 20), 10);
  assertEquals(watched.writes, 1);
  clock.advance(1_000);
  assertEquals(await burst(limiter, 20), 0);
  assertEquals(watched.writes, 2);
  assertEquals(await burst(make(), 3), 0);
});

Deno.test("limit() stores whole lifetimes of at least 60 s, in valid keys", async () => {
  const ids = [
    ":",
    "%",
    "~",
    "a:b",
    "🙂".repeat(200),
    "\ud800",
    "\udc00x",
    "x".repeat(10_000),
    ".",
    "..",
    "\0",
  ];
  for (const windowMs of [1, 900, 10_000, MINUTE_MS, 90_500, DAY_MS]) {
    const { make, burst, watched, memory } = setUp({ limit: 2, windowMs });
    const limiter = make();
    for (const id of ids) {
      const factor = Math.ceil(MINUTE_MS / windowMs);
      if (factor < 100) await burst(limiter, 5, id);
    }
    for (const ttl of watched.ttls) assert(Number.isInteger(ttl) && (ttl ?? 0) >= 60);
    const { keys } = await memory.list();
    for (const { name } of keys) assert(utf8Length(name) <= 512);
    if (windowMs >= MINUTE_MS) assertEquals(new Set(keys.map(({ name }) => name)).size, ids.length);
  }
});

Deno.test("limit() denies each hostile id after the limit, and keeps ids apart", async () => {
  const { make, burst } = setUp({ limit: 3 });
  const limiter = make();
  for (
    const id of ["x".repeat(600), "x".repeat(601), "a:b", "a%3Ab", "u:1", "u:10", "__proto__", " "]
  ) {
    assertEquals(await burst(limiter, 20, id), 3, id);
  }
});

Deno.test("limit() rejects an empty id, and what is no string", async () => {
  const { make } = setUp();
  for (const id of ["", undefined, null, 7, {}]) {
    await assertRejects(() => make().limit(id as string), TypeError, "Client id");
    await assertRejects(() => make().peek(id as string), TypeError, "Client id");
  }
});

Deno.test("RateLimiter() refuses options that would switch the limit off", () => {
  for (const bad of [NaN, 0, -1, Infinity, 1.5, "10", undefined, null]) {
    const value = bad as number;
    assertThrows(() => new RateLimiter(undefined, { limit: value, windowMs: 1 }), RangeError);
    assertThrows(() => new RateLimiter(undefined, { limit: 1, windowMs: value }), RangeError);
    if (bad === undefined) continue;
    const fine = { limit: 1, windowMs: 1 };
    assertThrows(() => new RateLimiter(undefined, { ...fine, flushEvery: value }), RangeError);
    assertThrows(() => new RateLimiter(undefined, { ...fine, keysMax: value }), RangeError);
  }
  const fine = { limit: 1, windowMs: 1 };
  assertThrows(() => new RateLimiter(undefined, { ...fine, hashIds: "" }), TypeError);
});

Deno.test("limit() keeps to its own count while the store fails, and rejects never", async () => {
  for (const failing of ["reads", "writes", "all"] as const) {
    for (
      const text of [
        "KV GET failed: 503 Service Unavailable",
        "KV put() limit exceeded for the day.",
        "KV PUT failed: 429 Too Many Requests",
        "boom",
      ]
    ) {
      const errors: unknown[] = [];
      const { clock, make, burst, watched } = setUp({ onError: (error) => errors.push(error) });
      watched.failing = failing;
      watched.error = new Error(text);
      const limiter = make();
      for (let minute = 0; minute < 5; minute++) {
        assertEquals(await burst(limiter, 20), 10);
        clock.advance(MINUTE_MS);
      }
      assertEquals(errors[0], watched.error);
    }
  }
});

Deno.test("limit() says that it is degraded while the store fails", async () => {
  const { clock, make, hit, watched } = setUp();
  const limiter = make();
  watched.failing = "reads";
  assertEquals((await hit(limiter)).degraded, true);
  watched.failing = "none";
  clock.advance(1_000);
  assertEquals((await hit(limiter)).degraded, false);
});

Deno.test("limit() with onStoreError open admits while the store fails, and only then", async () => {
  const { clock, make, hit, burst, watched } = setUp({ onStoreError: "open" });
  watched.failing = "all";
  const limiter = make();
  assertEquals(await burst(limiter, 30), 30);
  assertEquals((await hit(limiter)).degraded, true);
  watched.failing = "none";
  clock.advance(MINUTE_MS * 2);
  assertEquals(await burst(limiter, 30), 10);
});

Deno.test("limit() with onStoreError closed denies while the store fails, and only then", async () => {
  const { clock, make, hit, burst, watched } = setUp({ onStoreError: "closed" });
  watched.failing = "all";
  const limiter = make();
  const together = await Promise.all(Array.from({ length: 8 }, () => limiter.limit("ann")));
  assertEquals(together.filter(({ success }) => success).length, 0);
  const denied = await hit(limiter);
  assertEquals([denied.success, denied.reason, denied.degraded], [false, "store", true]);
  assertEquals([denied.retryAfterSeconds, denied.remaining], [1, 0]);
  assertEquals((await limiter.peek("ann")).reason, "store");
  watched.failing = "none";
  clock.advance(1_000);
  assertEquals(await burst(limiter, 30), 10);
});

Deno.test("limit() waits for the next day when the day's writes are spent", async () => {
  const { clock, make, burst, watched } = setUp();
  clock.advance(DAY_MS / 2);
  watched.failing = "writes";
  watched.error = new Error("KV put() limit exceeded for the day.");
  const limiter = make();
  for (let i = 0; i < 60; i++) {
    await burst(limiter, 12, `client ${i}`);
    clock.advance(MINUTE_MS);
  }
  assertEquals(watched.writes, 1);
  watched.failing = "none";
  clock.set(Date.UTC(2026, 0, 2));
  await burst(limiter, 12);
  assertEquals(watched.writes, 2);
});

Deno.test("limit() asks a failing store for writes less and less", async () => {
  const { clock, make, burst, watched } = setUp();
  watched.failing = "writes";
  const limiter = make();
  for (let i = 0; i < 1_000; i++) {
    await burst(limiter, 11, `client ${i}`);
    clock.advance(10_000);
  }
  assert(watched.writes < 16, `writes ${watched.writes}`);
});

Deno.test("limit() asks the budget, and stays in memory when refused", async () => {
  const taken: string[] = [];
  let granted = false;
  const budget: Budget = {
    take: (purpose, operation = "write") => {
      taken.push(`${purpose} ${operation}`);
      const grant = granted || operation === "read";
      return { granted: grant, retryAfterMs: grant ? 0 : 5_000 };
    },
    note: () => {},
  };
  const { clock, make, burst, hit, watched } = setUp({ budget });
  const limiter = make();
  assertEquals(await burst(limiter, 20), 10);
  assertEquals(watched.writes, 0);
  assertEquals(taken.filter((text) => text === "limits write").length, 1);
  assertEquals(taken.filter((text) => text === "limits read").length, watched.reads);
  granted = true;
  clock.advance(5_000);
  assertEquals((await hit(limiter)).success, false);
  assertEquals(watched.writes, 1);
});

Deno.test("limit() takes stored text that it cannot read as absent, and reports it", async () => {
  const start = Date.UTC(2026, 0, 1);
  const index = start / MINUTE_MS;
  const key = `rl:10-60000:ann:${start / (10 * MINUTE_MS)}`;
  const now = [start, start, [["x", 5]]];
  const text = (levels: unknown, v: unknown = 1) => JSON.stringify({ v, levels });
  const damaged = [
    "",
    "{",
    "null",
    "7",
    "[]",
    "{}",
    text([[index, now, []]], 2),
    text("x"),
    text({}),
  ];
  const useless = [
    ...[[], [7], [[]], [null], [["x", now]], [[index + 0.5, now]], [[index, "x"]], [[index, [5]]]],
    ...[-5, 0, 1.5, "5", null, 1e300].map((n) => [[index, [start, start, [["x", n]]]]]),
    ...[[start - 1, start], [start, start + MINUTE_MS], [start + 1, start], ["a", "b"]]
      .map((moments) => [[index, [...moments, [["x", 5]]]]]),
    [[index, [start, start, [[5, 5]]]]],
    [[index, [start, start, { x: 5 }]]],
    [[index - 7, [start, start, [["x", 5]]]]],
  ].map((levels) => text(levels));
  for (const stored of [...damaged, ...useless]) {
    const errors: unknown[] = [];
    const { make, burst, memory } = setUp({ onError: (error) => errors.push(error) });
    await memory.put(key, stored);
    assertEquals(await burst(make(), 20), 10, stored);
    assertEquals(errors.length > 0, damaged.includes(stored), stored);
  }
  const { make, burst, memory } = setUp();
  await memory.put(key, text([[index, [...now, "more"], [], "more"], ["more"]]));
  assertEquals(await burst(make(), 20), 5);
  await memory.put(key, text([[index, [start, start, [["__proto__", 4], ["x", 5]]], []]]));
  assertEquals(await burst(make(), 20), 1);
});

Deno.test("limit() asks the limiter in front, after memory and before KV", async () => {
  const asked: string[] = [];
  let success = true;
  const first = {
    limit: ({ key }: { key: string }) => {
      asked.push(key);
      return Promise.resolve({ success });
    },
  };
  const { clock, make, burst, hit, watched } = setUp({ first });
  const limiter = make();
  assertEquals(await burst(limiter, 20), 10);
  assertEquals(asked.length, 10);
  clock.advance(MINUTE_MS);
  success = false;
  const { reads, writes } = watched;
  const denied = await hit(limiter);
  assertEquals([denied.success, denied.reason, denied.remaining], [false, "binding", 0]);
  assertEquals(denied.retryAfterSeconds, 60);
  assertEquals([watched.reads, watched.writes], [reads, writes]);
  success = true;
  assertEquals(await burst(limiter, 20), 10);
});

Deno.test("limit() leaves out a limiter in front that fails", async () => {
  const first = { limit: () => Promise.reject(new Error("No binding")) };
  const { make, burst, hit } = setUp({ first });
  const limiter = make();
  assertEquals((await hit(limiter)).degraded, true);
  assertEquals(await burst(limiter, 20), 9);
});

Deno.test("limit() forgets the client that was not seen for longest", async () => {
  const { clock, make, burst, hit } = setUp({ keysMax: 3, limit: 4 });
  const limiter = make();
  assertEquals(await burst(limiter, 9, "blocked"), 4);
  for (let i = 0; i < 100; i++) await hit(limiter, `other ${i}`);
  clock.advance(1);
  assertEquals(await burst(limiter, 9, "blocked"), 0);
});

Deno.test("limit() hands its write to waitUntil, called as a method", async () => {
  const { make, watched } = setUp({ limit: 1 });
  const ctx = {
    promises: [] as Promise<unknown>[],
    waitUntil(promise: Promise<unknown>) {
      this.promises.push(promise);
    },
  };
  watched.failing = "writes";
  await make().limit("ann", { ctx });
  assertEquals(await Promise.all(ctx.promises), [undefined]);
});

Deno.test("limit() survives a reporter that throws", async () => {
  const onError = () => {
    throw new Error("Reporter failed");
  };
  const { make, burst, watched } = setUp({ onError });
  watched.failing = "all";
  assertEquals(await burst(make(), 20), 10);
});

Deno.test("limit() with hashIds stores no id, and another key each day", async () => {
  const { clock, make, burst, memory } = setUp({ hashIds: "secret" });
  const limiter = make();
  await burst(limiter, 20, "192.0.2.7");
  assertEquals(await burst(make(), 3, "192.0.2.7"), 0);
  clock.set(Date.UTC(2026, 0, 1) + 1);
  const [key] = (await memory.list()).keys;
  assert(!key?.name.includes("192.0.2"));
  clock.advance(DAY_MS);
  await burst(limiter, 20, "192.0.2.7");
  const [other, ...rest] = (await memory.list()).keys;
  assertEquals(rest, []);
  assert(key?.name.split(":")[2] !== other?.name.split(":")[2]);
});

Deno.test("peek() says what limit() would, counts nothing and writes nothing", async () => {
  const { make, burst, watched } = setUp();
  const limiter = make();
  for (let i = 0; i < 30; i++) assertEquals((await limiter.peek("ann")).remaining, 10);
  assertEquals(await burst(limiter, 20), 10);
  const { writes } = watched;
  assertEquals((await limiter.peek("ann")).success, false);
  assertEquals((await make().peek("ann")).success, false);
  assertEquals(watched.writes, writes);
});

Deno.test("limit() without waitForStore answers though the store never does", async () => {
  const clock = handClock();
  const hang = () => new Promise<never>(() => {});
  const kv = { ...watch(new MemoryKv({ now: clock.now }), clock.now).kv, get: hang, put: hang };
  const options = { limit: 3, windowMs: MINUTE_MS, clock, waitForStore: false };
  const limiter = new RateLimiter(kv, options);
  const results = [];
  for (let i = 0; i < 5; i++) results.push((await limiter.limit("ann")).success);
  assertEquals(results, [true, true, true, false, false]);
});

Deno.test("limit() without waitForStore carries verdicts, one hit later", async () => {
  const { make, burst, watched } = setUp({ waitForStore: false });
  assertEquals(await burst(make(), 20), 10);
  assertEquals([watched.reads, watched.writes], [3, 1]);
  assertEquals(await burst(make(), 20), 1);
});

Deno.test("limit() works without a store", async () => {
  const clock = handClock();
  const limiter = new RateLimiter(undefined, { limit: 2, windowMs: 1_000, clock });
  const results = [];
  for (let i = 0; i < 4; i++) results.push((await limiter.limit("ann")).success);
  assertEquals(results, [true, true, false, false]);
});

Deno.test("limit() survives a clock that goes back", async () => {
  const { clock, make, burst } = setUp();
  const limiter = make();
  await burst(limiter, 5);
  clock.advance(-3 * MINUTE_MS);
  assertEquals(await burst(limiter, 20), 5);
});
