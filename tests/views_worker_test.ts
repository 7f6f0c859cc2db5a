import { assertEquals } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { DayReport } from "../lib/views/types.ts";
import { createWorker } from "../lib/worker/create_worker.ts";
import type { Env } from "../lib/worker/env.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36";
const BARE = { "user-agent": CHROME };
const NAVIGATION = {
  ...BARE,
  "accept-language": "en-GB",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
};

/** A Worker whose site answers every path with a page, but for paths with `missing` in them. */
function site(vars: Record<string, string> = {}) {
  let now = NOON;
  let sleepers: { at: number; wake: () => void }[] = [];
  const clock = {
    now: () => now,
    sleep: (ms: number) => new Promise<void>((wake) => sleepers.push({ at: now + ms, wake })),
  };
  const kv = new MemoryKv({ now: clock.now });
  const worker = createWorker({ clock, random: () => 0.5, edgeCache: null });
  const waiting: Promise<unknown>[] = [];
  const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
  const env: Env = {
    ...vars,
    KV: kv,
    ASSETS: {
      fetch: (request) =>
        Promise.resolve(
          new Response("<h1>Page</h1>", {
            status: request.url.includes("missing") ? 404 : 200,
            headers: { "content-type": "text/html; charset=utf-8" },
          }),
        ),
    },
  };
  async function get(path: string, headers: Record<string, string> = NAVIGATION) {
    return await worker.fetch(new Request(`https://site.example${path}`, { headers }), env, ctx);
  }
  async function report(date = "2026-11-20"): Promise<DayReport> {
    let settled = false;
    const all = Promise.all(waiting).finally(() => settled = true);
    for (let turn = 0; turn < 100 && !settled; turn++) {
      now += 1000;
      for (const { at, wake } of sleepers) if (at <= now) wake();
      sleepers = sleepers.filter(({ at }) => at > now);
      await new Promise((done) => setTimeout(done, 0));
    }
    await all;
    return await (await get(`/api/traffic?date=${date}`)).json();
  }
  return { kv, get, report };
}

Deno.test("createWorker() warns of 24 direct views by no verifiable browser", async () => {
  const { get, report } = site();
  for (let view = 0; view < 24; view++) await get(`/page-${view % 5}`, BARE);
  const { total, warning } = await report();
  assertEquals([total, warning?.code], [24, "automated"]);
});

Deno.test("createWorker() does not warn of a spike by browsers, nor of five views", async () => {
  const spike = site();
  for (let view = 0; view < 200; view++) await spike.get("/", NAVIGATION);
  assertEquals((await spike.report()).warning, null);
  const few = site();
  for (let view = 0; view < 5; view++) await few.get("/", BARE);
  assertEquals((await few.report()).warning, null);
});

Deno.test("createWorker() makes one number of probes and stores none of their paths", async () => {
  const { kv, get, report } = site();
  for (let probe = 0; probe < 300; probe++) await get(`/missing/${probe}.php`, BARE);
  const { total, paths, skipped } = await report();
  assertEquals({ total, paths, skipped }, { total: 0, paths: {}, skipped: { notFound: 300 } });
  const { keys } = await kv.list();
  for (const { name, metadata } of keys) {
    const stored = `${name} ${await kv.get(name)} ${JSON.stringify(metadata)}`;
    assertEquals(/missing|\.php/.test(stored), false);
  }
});

Deno.test("createWorker() marks pages just when debugging is on", async () => {
  const { get } = site({ SCRIMP_DEBUG: "1" });
  assertEquals((await get("/About/")).headers.get("x-scrimp"), "counted; path=/about");
  assertEquals((await get("/about", {})).headers.get("x-scrimp"), "skipped; reason=bot");
  assertEquals((await site().get("/about")).headers.get("x-scrimp"), null);
});

Deno.test("createWorker() applies templates to days that were stored before", async () => {
  const { kv, report } = site({ PATH_TEMPLATES: "/post/:id, bad, /*/bad" });
  const day = { date: "2026-11-02", total: 6, paths: { "/post/1": 2, "/post/2": 3, "/": 1 } };
  await kv.put("traffic:2026-11-02", JSON.stringify({ ...day, refs: { direct: 6 } }));
  const { total, paths } = await report("2026-11-02");
  assertEquals({ total, paths }, { total: 6, paths: { "/post/:id": 5, "/": 1 } });
});

Deno.test("createWorker() keeps no query and no header but the referrer's host", async () => {
  const { kv, get, report } = site();
  await get("/post?utm_source=SECRET1&fbclid=SECRET2#SECRET3", {
    ...NAVIGATION,
    "accept-language": "SECRET4",
    "cookie": "id=SECRET5",
    "referer": "https://user:SECRET6@www.example.org/SECRET7?q=SECRET8#SECRET9",
    "user-agent": `${CHROME} SECRET10`,
  });
  const { paths, refs } = await report();
  assertEquals({ paths, refs }, { paths: { "/post": 1 }, refs: { "example.org": 1 } });
  const { keys } = await kv.list();
  for (const { name, metadata } of keys) {
    const stored = `${name} ${await kv.get(name)} ${JSON.stringify(metadata)}`;
    assertEquals(/secret/i.test(stored), false);
  }
});
