import { MemoryKv, withPageViews } from "@scrimp/kv";
import { KvWorld } from "@scrimp/kv/kv-world";
import { RateLimiter } from "@scrimp/kv/rate-limiter";

const clock = { now: () => 0, sleep: () => new Promise<void>((resolve) => setTimeout(resolve)) };
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

const handler = withPageViews(
  (_request, _env: { KV: MemoryKv }, _ctx: { waitUntil(promise: Promise<unknown>): void }) =>
    new Response("<h1>Page</h1>", { headers: { "content-type": "text/html" } }),
  { clock },
);
const waiting: Promise<unknown>[] = [];
const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
for (const path of ["/", "/about"]) {
  const request = new Request(`https://site.example${path}`, {
    headers: { "user-agent": browser },
  });
  await handler(request, { KV: kv }, ctx);
}
await Promise.all(waiting);
const { keys } = await kv.list({ prefix: "views:1970-01-01:" });
const { total, paths } = JSON.parse(await kv.get(keys[0]?.name ?? "") ?? "{}");

console.log(JSON.stringify({
  value,
  other: await world.location("LHR").get("b"),
  limited: [first.success, second.success],
  views: { total, paths },
}));
