import { assert, assertEquals } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { limitRequest, RateLimiter, rateLimitHeaders } from "../lib/rate_limiter.ts";
import { handClock } from "./_limits_helpers.ts";

function post(headers: Record<string, string>): Request {
  return new Request("https://example.org/api/waitlist", { method: "POST", headers });
}

function ctx() {
  return {
    promises: [] as Promise<unknown>[],
    waitUntil(promise: Promise<unknown>) {
      this.promises.push(promise);
    },
  };
}

Deno.test("limitRequest() answers 429 as JSON with the standard headers", async () => {
  const clock = handClock();
  clock.advance(500);
  const kv = new MemoryKv({ now: clock.now });
  const limiter = new RateLimiter(kv, { limit: 2, windowMs: 60_000, clock, hashIds: "secret" });
  const request = post({ "cf-connecting-ip": "2001:db8::1" });
  const context = ctx();
  assertEquals(await limitRequest(limiter, request, context), undefined);
  assertEquals(
    await limitRequest(limiter, post({ "cf-connecting-ip": "2001:db8::2" }), context),
    undefined,
  );
  const response = await limitRequest(limiter, request, context);
  assert(response !== undefined);
  assertEquals(response.status, 429);
  assertEquals(await response.json(), {
    error: { code: "rateLimited", message: "Too many requests: try again in 60 s" },
  });
  const headers = Object.fromEntries(response.headers);
  assertEquals(headers["retry-after"], "60");
  assertEquals(headers["ratelimit"], '"default";r=0;t=60');
  assertEquals(headers["ratelimit-policy"], '"default";q=2;w=60');
  assertEquals(headers["cache-control"], "no-store");
  await Promise.all(context.promises);
  const stored = await kv.list();
  assertEquals(stored.keys.length, 1);
  assert(!JSON.stringify(stored).includes("2001"));
});

Deno.test("limitRequest() goes by CF-Connecting-IP alone", async () => {
  const limiter = new RateLimiter(undefined, { limit: 1, windowMs: 60_000, clock: handClock() });
  for (let i = 0; i < 3; i++) {
    const request = post({ "x-forwarded-for": "192.0.2.7", "x-real-ip": "192.0.2.7" });
    assertEquals(await limitRequest(limiter, request, ctx()), undefined);
  }
  const statuses = [];
  for (let i = 0; i < 3; i++) {
    const headers = { "cf-connecting-ip": "192.0.2.7", "x-forwarded-for": `192.0.2.${i}` };
    statuses.push((await limitRequest(limiter, post(headers), ctx()))?.status);
  }
  assertEquals(statuses, [undefined, 429, 429]);
});

Deno.test("limitRequest() gives malformed addresses one limit together", async () => {
  const limiter = new RateLimiter(undefined, { limit: 1, windowMs: 60_000, clock: handClock() });
  const statuses = [];
  for (const ip of ["", "nonsense", "1.2.3.4, 5.6.7.8"]) {
    statuses.push((await limitRequest(limiter, post({ "cf-connecting-ip": ip }), ctx()))?.status);
  }
  assertEquals(statuses, [undefined, 429, 429]);
});

Deno.test("rateLimitHeaders() sends no Retry-After with an admitted hit", async () => {
  const clock = handClock();
  clock.advance(1);
  const limiter = new RateLimiter(undefined, { limit: 5, windowMs: 1_500, clock });
  const headers = rateLimitHeaders(await limiter.limit("ann"));
  assertEquals([...headers], [
    ["ratelimit", '"default";r=4;t=2'],
    ["ratelimit-policy", '"default";q=5;w=2'],
  ]);
});

Deno.test("rateLimitHeaders() sends whole seconds, at least 1", () => {
  const base = {
    success: false,
    limit: 1,
    remaining: 0,
    resetMs: 1_800_000_000_000,
    degraded: false,
    pending: Promise.resolve(),
  };
  for (const [seconds, text] of [[0, "1"], [0.2, "1"], [1.5, "2"], [60, "60"]] as const) {
    const headers = rateLimitHeaders({ ...base, retryAfterSeconds: seconds, reason: "limit" });
    assertEquals(headers.get("retry-after"), text);
  }
});
