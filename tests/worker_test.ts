import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createWorker } from "../lib/worker/create_worker.ts";
import type { EdgeCache } from "../lib/views/edge_cache.ts";
import { dump, hang, kvAll, kvWith, makeSite, NOON, TODAY } from "./_core_site.ts";
import { BROWSER, mapCache, SITE } from "./_traffic_worker.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const QUOTA = "KV put() limit exceeded for the day.";

Deno.test("createWorker() answers 405 with Allow for other methods", async () => {
  const { isolate } = makeSite();
  const { ask } = isolate();
  for (
    const [method, path, allow] of [
      ["POST", "/api/traffic", "GET, HEAD"],
      ["DELETE", "/traffic", "GET, HEAD"],
      ["GET", "/api/waitlist", "POST"],
      ["HEAD", "/api/waitlist", "POST"],
      ["OPTIONS", "/api/waitlist", "POST"],
      ["PUT", "/api/health", "GET, HEAD"],
    ] as const
  ) {
    const response = await ask(path, { method });
    assertEquals([response.status, response.headers.get("allow")], [405, allow], path);
    await response.body?.cancel();
  }
});

Deno.test("createWorker() answers 400 with the accepted form", async () => {
  const { isolate } = makeSite();
  const { ask } = isolate();
  for (
    const [query, form] of [
      ["date=2026-02-30", "YYYY-MM-DD"],
      ["date=yesterday", "YYYY-MM-DD"],
      ["date=", "YYYY-MM-DD"],
      ["days=0", "1 to 90"],
      ["days=91", "1 to 90"],
      ["days=1.5", "1 to 90"],
      ["days=-1", "1 to 90"],
      ["days=", "1 to 90"],
      ["days=1e1", "1 to 90"],
    ] as const
  ) {
    const response = await ask(`/api/traffic?${query}`);
    assertEquals(response.status, 400, query);
    assertStringIncludes(Object(await response.json()).error.message, form);
  }
});

Deno.test("createWorker() answers HEAD as GET without a body, and counts neither", async () => {
  const { isolate, wait } = makeSite();
  const { ask, report } = isolate();
  const response = await ask("/api/traffic", { method: "HEAD" });
  assertEquals([response.status, await response.text()], [200, ""]);
  assertEquals((await ask("/about", { method: "HEAD", headers: BROWSER })).status, 200);
  await wait(MINUTE);
  const { total, skipped } = await report();
  assertEquals({ total, skipped }, { total: 0, skipped: { method: 1 } });
});

Deno.test("createWorker() answers 404 for unknown APIs without counting them", async () => {
  const { isolate, ctx } = makeSite();
  const response = await isolate().view("/api/<script>");
  assertEquals(response.status, 404);
  assertEquals(Object(await response.json()).error.code, "notFound");
  assertEquals(ctx.calls, 0);
});

Deno.test("createWorker() counts hostile addresses and referrers without throwing", async () => {
  const { isolate, wait, kv } = makeSite();
  const { view, report, errors } = isolate();
  const paths = ["/%", "/%zz", "/%E0%A4%A", "//", "/..;/", `/${"x".repeat(8_000)}`, "/%00"];
  for (const path of paths) assertEquals((await view(path)).status, 200);
  const referrers = [`https://a.example/${"r".repeat(8_192)}`, "not a URL", "https://", "é\u00ff"];
  for (const referer of referrers) assertEquals((await view("/r", { referer })).status, 200);
  for (const name of ["__proto__", "constructor", "toString", "other"]) await view(`/${name}`);
  await wait(MINUTE);
  const { total, paths: counted, refs } = await report();
  assertEquals(total, paths.length + referrers.length + 4);
  for (const name of ["/__proto__", "/constructor"]) assertEquals(counted[name], 1, name);
  assertEquals(counted["/tostring"], 1);
  assertEquals(counted["/other"], 1);
  assertEquals(refs["a.example"], 1);
  for (const counts of [counted, refs]) {
    assertEquals(Object.values(counts).reduce((sum, count) => sum + count, 0), total);
    for (const key of Object.keys(counts)) assert(key.length <= 48, key);
  }
  assertEquals(/r{49}|x{49}/.test(await dump(kv)), false);
  assertEquals(Object.hasOwn(Object.prototype, "/__proto__"), false);
  assertEquals(errors, []);
});

Deno.test("createWorker() keeps 30 of 40 paths and the rest as other", async () => {
  const { isolate, wait } = makeSite();
  const { view, report } = isolate();
  for (let page = 0; page < 40; page++) await view(`/p${page}`);
  await wait(MINUTE);
  const { total, paths } = await report();
  assertEquals([total, Object.keys(paths).length, paths.other], [40, 31, 10]);
});

Deno.test("createWorker() counts a 304 and no 404", async () => {
  const { isolate, wait } = makeSite();
  const { view, report } = isolate({
    env: {
      ASSETS: {
        fetch: ({ url }) =>
          Promise.resolve(
            new Response(null, { status: url.includes("old") ? 304 : 404 }),
          ),
      },
    },
  });
  assertEquals((await view("/old")).status, 304);
  assertEquals((await view("/none")).status, 404);
  await wait(MINUTE);
  const { total, skipped } = await report();
  assertEquals({ total, skipped }, { total: 1, skipped: { notFound: 1 } });
});

Deno.test("createWorker() counts a second before midnight under the old day", async () => {
  const { isolate, wait } = makeSite(Date.UTC(2026, 10, 20, 23, 59, 59));
  const { view, report } = isolate();
  await view("/late");
  await wait(6_000);
  await view("/early");
  await wait(MINUTE);
  assertEquals((await report("2026-11-20")).paths, { "/late": 1 });
  assertEquals((await report("2026-11-21")).paths, { "/early": 1 });
});

Deno.test("createWorker() counts days of the site's own time zone", async () => {
  const { isolate, wait } = makeSite(Date.UTC(2026, 10, 20, 15, 59, 59));
  const { view, report } = isolate({ env: { TIME_ZONE: "Asia/Taipei" } });
  await view("/late");
  await wait(6_000);
  await view("/early");
  await wait(MINUTE);
  const { paths, timeZone } = await report("2026-11-20");
  assertEquals({ paths, timeZone }, { paths: { "/late": 1 }, timeZone: "Asia/Taipei" });
  assertEquals((await report("2026-11-21")).paths, { "/early": 1 });
});

Deno.test("createWorker() reports settings it cannot use, and goes on", async () => {
  const { isolate, wait } = makeSite();
  const { view, report, errors } = isolate({
    env: { TIME_ZONE: "Mars/Olympus", VIEWS_WRITES_PER_DAY: "many" },
  });
  assertEquals((await view()).status, 200);
  await wait(MINUTE);
  const { total, timeZone } = await report();
  assertEquals({ total, timeZone }, { total: 1, timeZone: "UTC" });
  assertEquals(errors.length, 2);
});

for (
  const [name, KV] of [
    ["no", undefined],
    ["a failing", kvAll(() => Promise.reject(new Error("KV PUT failed: 500 Internal")))],
    [
      "a throwing",
      kvAll(() => {
        throw new Error("Network connection lost.");
      }),
    ],
    ["a hanging", kvAll(hang)],
  ] as const
) {
  Deno.test(`createWorker() serves the same with ${name} KV, and stores it once it works`, async () => {
    const site = makeSite();
    const good = site.isolate();
    const bad = site.isolate({ env: { KV } as never, edgeCache: mapCache() });
    for (const path of ["/", "/about", "/%zz"]) {
      const [one, other] = [await good.view(path), await bad.view(path)];
      assertEquals(other.status, one.status);
      assertEquals(await other.bytes(), await one.bytes());
      assertEquals([...other.headers], [...one.headers]);
    }
    await site.wait(5 * MINUTE);
    assertEquals(site.sim.rejections, []);
    bad.env = good.env;
    await bad.view("/later");
    await site.wait(45 * MINUTE);
    await bad.view("/last");
    await site.wait(MINUTE);
    assertEquals((await good.report()).total, 8);
  });
}

Deno.test("createWorker() serves when waitUntil throws or there is no context", async () => {
  const { sim, kv } = makeSite();
  const errors: unknown[] = [];
  const worker = createWorker({
    clock: sim.clock,
    edgeCache: null,
    onError: (error) => errors.push(error),
  });
  const throwing = {
    waitUntil() {
      throw new TypeError("No context");
    },
  };
  for (const ctx of [throwing, undefined as never]) {
    const request = new Request("https://site.example/", { headers: BROWSER });
    const response = await worker.fetch(request, { KV: kv, ASSETS: SITE }, ctx);
    assertEquals([response.status, await response.text()], [200, "<h1>Page</h1>"]);
    await sim.runUntil(sim.clock.now() + MINUTE);
  }
  assertEquals(errors.length, 2);
});

Deno.test("createWorker() counts without request.cf", async () => {
  const { isolate, wait, kv } = makeSite();
  await isolate({ colo: null }).view();
  await wait(MINUTE);
  const { keys } = await kv.list({ prefix: `views:${TODAY}:X-` });
  assertEquals(keys.length, 1);
});

Deno.test("createWorker() puts no odd data center into a key", async () => {
  const { isolate, wait, kv } = makeSite();
  await isolate({ colo: "a:b/../c" }).view();
  await wait(MINUTE);
  const { keys } = await kv.list({ prefix: `views:${TODAY}:X-` });
  assertEquals(keys.length, 1);
});

Deno.test("createWorker() adds up two data centers", async () => {
  const { isolate, wait } = makeSite();
  const [london, paris] = [isolate(), isolate({ colo: "CDG", edgeCache: mapCache() })];
  for (let view = 0; view < 3; view++) await london.view("/a");
  for (let view = 0; view < 4; view++) await paris.view("/b");
  await wait(2 * MINUTE);
  const { total, paths, freshness } = await london.report();
  assertEquals({ total, paths }, { total: 7, paths: { "/a": 3, "/b": 4 } });
  assertEquals([freshness.dataCenters, freshness.shards], [2, 2]);
});

Deno.test("createWorker() keeps an isolate's place where scheduled() comes first", async () => {
  const { isolate, wait, kv, ctx } = makeSite();
  const { worker, view, env } = isolate();
  await worker.scheduled({}, env, ctx);
  await view();
  await wait(MINUTE);
  const { keys } = await kv.list({ prefix: `views:${TODAY}:` });
  assertEquals(keys.map(({ name }) => name.split(":")[2]?.slice(0, 4)), ["LHR-"]);
});

Deno.test("scheduled() rolls up and never rejects", async () => {
  const { isolate, wait, kv, ctx } = makeSite();
  const { worker, view, env, errors } = isolate();
  await view();
  await wait(MINUTE);
  await worker.scheduled({}, env, ctx);
  assertEquals(JSON.parse(await kv.get(`traffic:${TODAY}`) ?? "").total, 1);
  await worker.scheduled({}, {}, ctx);
  await worker.scheduled({}, { KV: kvAll(() => Promise.reject(new Error("down"))) }, ctx);
  assertEquals(errors.length, 4);
});

Deno.test("createWorker() asks no more when the day's writes are gone, until midnight", async () => {
  const { isolate, wait, kv } = makeSite();
  let puts = 0;
  let refused = true;
  const KV = kvWith(kv, {
    put: (key, value, options) => {
      puts++;
      return refused ? Promise.reject(new Error(QUOTA)) : kv.put(key, value, options);
    },
  });
  const { view, report } = isolate({ env: { KV }, edgeCache: mapCache() });
  for (let minute = 0; minute < 11 * 60; minute++) {
    await view();
    await wait(MINUTE);
  }
  assertEquals(puts, 1);
  refused = false;
  await wait(HOUR + 2 * MINUTE);
  for (let more = 0; more < 3; more++) {
    await view("/next");
    await wait(2 * MINUTE);
  }
  assertEquals((await report(TODAY)).total, 660);
  assertEquals((await report("2026-11-21")).total, 3);
});

Deno.test("createWorker() takes back nothing for a put that failed and was stored", async () => {
  const { isolate, wait, kv } = makeSite();
  let puts = 0;
  const KV = kvWith(kv, {
    put: async (key, value, options) => {
      await kv.put(key, value, options);
      if (puts++ < 2) throw new Error("Network connection lost.");
    },
  });
  const { view, report } = isolate({ env: { KV } });
  for (let view_ = 0; view_ < 5; view_++) {
    await view();
    await wait(MINUTE);
    assert((await report()).total <= view_ + 1);
  }
  await wait(HOUR);
  await view();
  await wait(MINUTE);
  assertEquals((await report()).total, 6);
});

Deno.test("createWorker() backs off when KV answers 429", async () => {
  const { isolate, wait, kv } = makeSite();
  let puts = 0;
  const KV = kvWith(kv, {
    put: () => {
      puts++;
      return Promise.reject(new Error("KV PUT failed: 429 Too Many Requests"));
    },
  });
  const { view } = isolate({ env: { KV } });
  for (let minute = 0; minute < 600; minute++) {
    await view();
    await wait(MINUTE);
  }
  assert(puts >= 5 && puts <= 30, `${puts} puts`);
});

Deno.test("createWorker() follows the article's schedule while lists fail", async () => {
  const { isolate, wait, kv } = makeSite(Date.UTC(2026, 10, 20));
  let puts = 0;
  let lists = 0;
  const KV = kvWith(kv, {
    put: (key, value, options) => {
      puts++;
      return kv.put(key, value, options);
    },
    list: () => {
      lists++;
      return Promise.reject(new Error("KV LIST failed: 500 Internal"));
    },
  });
  const { view } = isolate({ env: { KV }, edgeCache: mapCache() });
  for (let minute = 0; minute < 23 * 60; minute++) {
    await view();
    await wait(MINUTE);
  }
  assert(puts >= 2 && puts <= 48, `${puts} puts`);
  assert(lists <= 60, `${lists} lists`);
});

Deno.test("createWorker() gives up a flush that never comes back", async () => {
  const { isolate, wait, kv } = makeSite();
  let hangs = true;
  const KV = kvWith(kv, { put: (...args) => hangs ? hang() : kv.put(...args) });
  const { view, report, errors } = isolate({ env: { KV } });
  await view();
  await wait(MINUTE);
  hangs = false;
  await view();
  await wait(MINUTE);
  await view();
  await wait(MINUTE);
  assertEquals((await report()).total, 3);
  assertStringIncludes(String(errors[0]), "no answer in time");
});

for (
  const [name, edgeCache] of [
    ["a cache that keeps nothing", {
      get: () => Promise.resolve(undefined),
      set: () => Promise.resolve(),
    }],
    ["a cache that rejects", {
      get: () => Promise.reject(new Error("Cache API failed")),
      set: () => Promise.reject(new Error("Cache API failed")),
    }],
    ["a cache that throws", {
      get: () => {
        throw new Error("Cache API failed");
      },
      set: () => {
        throw new Error("Cache API failed");
      },
    }],
    ["a cache of garbage", { get: () => Promise.resolve("<html>"), set: () => Promise.resolve() }],
    ["a cache of another version", {
      get: () => Promise.resolve('{"v":2,"day":"2026-11-20","shards":[]}'),
      set: () => Promise.resolve(),
    }],
    ["a cache of half a state", {
      get: () =>
        Promise.resolve(
          '{"v":1,"day":"2026-11-20","shards":[],"network":{"at":1e15},"lesson":{"at":0},' +
            '"leaseUntil":0,"blockedUntil":0,"restUntil":0,"refusals":0}',
        ),
      set: () => Promise.resolve(),
    }],
    ["a cache of numbers", {
      get: () => Promise.resolve(5 as never),
      set: () => Promise.resolve(),
    }],
  ] as [string, EdgeCache][]
) {
  Deno.test(`createWorker() counts with ${name}`, async () => {
    const { isolate, wait, sim } = makeSite();
    const { view } = isolate({ edgeCache });
    for (let n = 0; n < 3; n++) {
      assertEquals((await view()).status, 200);
      await wait(MINUTE);
    }
    assertEquals((await isolate().report()).total, 3);
    assertEquals(sim.rejections, []);
  });
}

Deno.test("createWorker() conserves what two isolates of a data center count", async () => {
  const { isolate, wait, kv } = makeSite();
  const edgeCache = mapCache();
  const [one, two] = [isolate({ edgeCache }), isolate({ edgeCache })];
  for (let n = 0; n < 30; n++) {
    await Promise.all([one.view("/a"), two.view("/b"), two.view("/b")]);
    await wait(7_000);
  }
  await wait(HOUR);
  await one.view("/a");
  await wait(MINUTE);
  const { total, paths } = await two.report();
  assertEquals({ total, paths }, { total: 91, paths: { "/a": 31, "/b": 60 } });
  assertEquals((await kv.list({ prefix: "views:" })).keys.length, 1);
});

Deno.test("createWorker() carries on where a dead isolate stopped", async () => {
  const { isolate, wait } = makeSite();
  const edgeCache = mapCache();
  const refuses = { KV: kvAll(() => Promise.reject(new Error("down"))) };
  const dead = isolate({ edgeCache, env: refuses });
  for (let n = 0; n < 5; n++) await dead.view("/dead");
  await wait(MINUTE);
  const born = isolate({ edgeCache });
  await born.view("/born");
  await wait(HOUR);
  await born.view("/born");
  await wait(MINUTE);
  assertEquals((await born.report()).paths, { "/dead": 5, "/born": 2 });
});

Deno.test("createWorker() never counts twice what a resurrected isolate brings back", async () => {
  const { isolate, wait } = makeSite();
  const entries = new Map<string, string>();
  const edgeCache: EdgeCache = {
    get: (key) => Promise.resolve(entries.get(key)),
    set: (key, value) => Promise.resolve(void entries.set(key, value)),
  };
  const [frozen, other] = [isolate({ edgeCache }), isolate({ edgeCache })];
  for (let n = 0; n < 5; n++) await frozen.view("/frozen");
  await wait(MINUTE);
  const old = new Map(entries);
  for (let n = 0; n < 5; n++) await other.view("/other");
  await wait(MINUTE);
  for (const [key, value] of old) entries.set(key, value);
  await frozen.view("/frozen");
  await wait(MINUTE);
  entries.clear();
  await other.view("/other");
  await wait(MINUTE);
  await frozen.view("/frozen");
  await wait(MINUTE);
  assertEquals((await other.report()).paths, { "/frozen": 7, "/other": 6 });
});

Deno.test("createWorker() stays small under hostile traffic", async () => {
  const { isolate, wait, kv } = makeSite(Date.UTC(2026, 10, 20));
  const entries = new Map<string, string>();
  const edgeCache: EdgeCache = {
    get: (key) => Promise.resolve(entries.get(key)),
    set: (key, value) => Promise.resolve(void entries.set(key, value)),
  };
  const { view } = isolate({ edgeCache });
  let page = 0;
  for (let minute = 0; minute < 60; minute++) {
    for (let n = 0; n < 40; n++) {
      const referer = `https://h${page}.example/`;
      await view(`/${"x".repeat(40)}${page++}`, { referer });
    }
    await wait(MINUTE);
  }
  for (const [key, text] of entries) assert(text.length < 40_000, `${key}: ${text.length}`);
  for (const { name } of (await kv.list()).keys) {
    assert((await kv.get(name) ?? "").length < 6_000, name);
  }
});

Deno.test("createWorker() lets go of old days through a year without a store", async () => {
  const { isolate, wait } = makeSite();
  const sizes: number[] = [];
  const entries = new Map<string, string>();
  const edgeCache: EdgeCache = {
    get: (key) => Promise.resolve(entries.get(key)),
    set: (key, value) => Promise.resolve(void entries.set(key, value)),
  };
  const { view, ask } = isolate({
    edgeCache,
    env: { KV: kvAll(() => Promise.reject(new Error("down"))) },
  });
  for (let day = 0; day < 365; day++) {
    await view(`/day${day}`);
    await wait(24 * HOUR);
    sizes.push(Object(await (await ask("/api/health")).json()).views.lost);
  }
  assertEquals(sizes.at(-1), 365 - 3);
});

Deno.test("createWorker() stores nothing of headers and queries", async () => {
  const { isolate, wait, kv } = makeSite();
  const entries = new Map<string, string>();
  const edgeCache: EdgeCache = {
    get: (key) => Promise.resolve(entries.get(key)),
    set: (key, value) => Promise.resolve(void entries.set(key, value)),
  };
  const { view } = isolate({ edgeCache });
  await view("/a?q=SECRET1&__proto__=SECRET2", {
    "cookie": "SECRET3",
    "accept-language": "SECRET4",
    "cf-connecting-ip": "203.0.113.77",
    "x-forwarded-for": "203.0.113.77",
    "referer": "https://u:SECRET5@host.example/SECRET6?SECRET7",
  });
  await view("/a", { "user-agent": "SECRET8 bot", "purpose": "prefetch SECRET9" });
  await wait(MINUTE);
  const all = await dump(kv) + [...entries].flat().join(" ");
  assertStringIncludes(all, "host.example");
  assertEquals(/secret|203\.0|Mozilla|Firefox/i.test(all), false);
});

Deno.test("createWorker() loses each dropped view once", async () => {
  const { isolate, wait } = makeSite();
  const edgeCache = mapCache();
  const KV = kvAll(() => Promise.reject(new Error("down")));
  const all = [isolate({ edgeCache, env: { KV } }), isolate({ edgeCache, env: { KV } })];
  for (let n = 0; n < 5; n++) for (const { view } of all) await view();
  await wait(MINUTE);
  let lost = 0;
  for (const { view, ask } of all) {
    await wait(4 * 24 * HOUR);
    await view();
    await wait(MINUTE);
    lost += Object(await (await ask("/api/health")).json()).views.lost;
  }
  assert(lost <= 11, `${lost} lost`);
  assertEquals(NOON % MINUTE, 0);
});
