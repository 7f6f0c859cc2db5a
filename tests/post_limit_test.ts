import { assert, assertEquals } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { limitPost } from "../lib/worker/post_limit.ts";
import type { RouteContext } from "../lib/worker/route.ts";
import { WriteBudget } from "../lib/write_budget.ts";
import { handClock, seeded } from "./_limits_helpers.ts";

function setUp(env: Record<string, unknown> = {}) {
  const clock = { ...handClock(), sleep: () => Promise.resolve() };
  const kv = new MemoryKv({ now: clock.now });
  const kept = new Map<string, unknown>();
  const waiting: Promise<unknown>[] = [];
  const errors: unknown[] = [];
  const base = {
    env: { KV: kv, ...env },
    ctx: { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) },
    clock,
    random: seeded(1),
    budget: new WriteBudget({ now: clock.now, random: seeded(2) }),
    report: (error: unknown) => void errors.push(error),
    once<T>(name: string, make: () => T): T {
      if (!kept.has(name)) kept.set(name, make());
      return kept.get(name) as T;
    },
  };
  const send = async (method: string, ip: string | null, times: number) => {
    const statuses = [];
    for (let i = 0; i < times; i++) {
      const headers = ip === null ? {} : { "cf-connecting-ip": ip };
      const request = new Request("https://example.org/api/waitlist", { method, headers });
      const context = { ...base, request } as unknown as RouteContext;
      statuses.push((await limitPost(context))?.status);
      await Promise.all(waiting.splice(0));
    }
    return statuses.filter((status) => status === 429).length;
  };
  return { clock, kv, send, errors };
}

Deno.test("limitPost() limits POSTs of an address, and nothing else", async () => {
  const { clock, send, errors } = setUp({ ADMIN_TOKEN: "secret" });
  assertEquals(await send("GET", "192.0.2.1", 50), 0);
  assertEquals(await send("POST", null, 50), 0);
  assertEquals(await send("POST", "192.0.2.1", 25), 5);
  assertEquals(await send("POST", "192.0.2.2", 25), 5);
  clock.advance(60_000);
  assertEquals(await send("POST", "192.0.2.1", 20), 0);
  assertEquals(errors, []);
});

Deno.test("limitPost() stores no address, and nothing at all without a secret", async () => {
  const { kv, send } = setUp({ HASH_SECRET: "secret" });
  await send("POST", "192.0.2.1", 25);
  const { keys } = await kv.list();
  assertEquals(keys.length, 1);
  assert(!JSON.stringify(keys).includes("192.0.2"));
  const bare = setUp();
  assertEquals(await bare.send("POST", "192.0.2.1", 25), 5);
  assertEquals(bare.kv.operations, { read: 0, write: 0, list: 0, delete: 0 });
});

Deno.test("limitPost() goes by POSTS_PER_MINUTE, if that is a limit", async () => {
  assertEquals(await setUp({ POSTS_PER_MINUTE: "3" }).send("POST", "192.0.2.1", 9), 6);
  for (const bad of ["", "0", "-1", "many", "1.5"]) {
    assertEquals(await setUp({ POSTS_PER_MINUTE: bad }).send("POST", "192.0.2.1", 25), 5);
  }
});

Deno.test("limitPost() asks the binding first", async () => {
  let asked = 0;
  const RATE_LIMIT = { limit: () => Promise.resolve({ success: ++asked < 3 }) };
  assertEquals(await setUp({ RATE_LIMIT }).send("POST", "192.0.2.1", 5), 3);
});

Deno.test("limitPost() spends little of the day's writes", async () => {
  const { clock, kv, send } = setUp({ HASH_SECRET: "secret" });
  for (let minute = 0; minute < 1_440; minute += 5) {
    await send("POST", `192.0.2.${minute % 50}`, 22);
    clock.advance(300_000);
  }
  assert(kv.operations.write <= 71, `writes ${kv.operations.write}`);
});
