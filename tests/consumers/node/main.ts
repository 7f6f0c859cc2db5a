import { MemoryKv, PageViews } from "@scrimp/kv";
import { KvWorld } from "@scrimp/kv/kv-world";
import { RateLimiter } from "@scrimp/kv/rate-limiter";

const clock = { now: () => 0, sleep: () => Promise.resolve() };
const kv = new MemoryKv({ now: clock.now });
await kv.put("a", "1");
const value: string | null = await kv.get("a");

// @ts-expect-error: a value is text
kv.put("a", 1).catch(() => {});

const world = new KvWorld({ seed: 1, now: clock.now });
await world.location("LHR").put("b", "2");
const limiter = new RateLimiter(undefined, { limit: 1, windowMs: 60_000, clock });
const first = await limiter.limit("198.51.100.1");
const second = await limiter.limit("198.51.100.1");

console.log(JSON.stringify({
  value,
  other: await world.location("LHR").get("b"),
  limited: [first.success, second.success],
  pageViews: typeof PageViews,
}));
