import { assert, assertEquals, assertThrows } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { PageViews, type PageViewsOptions } from "../lib/page_views.ts";
import { Simulation } from "../lib/sim/mod.ts";
import { hang, kvWith, NOON, TODAY } from "./_core_site.ts";
import { BROWSER, mapCache } from "./_traffic_worker.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function counter(options: PageViewsOptions = {}) {
  const sim = new Simulation({ seed: 1, startMs: NOON });
  const kv = new MemoryKv({ now: sim.clock.now });
  const errors: unknown[] = [];
  const views = new PageViews(kv, {
    clock: sim.clock,
    random: sim.random,
    onError: (error) => errors.push(error),
    ...options,
  });
  const record = (path = "/", headers: Record<string, string> = BROWSER) =>
    views.record(new Request(`https://site.example${path}`, { headers }), page());
  const stored = async () => {
    let total = 0;
    const { keys } = await kv.list({ prefix: "views:" });
    for (const { name } of keys) total += JSON.parse(await kv.get(name) ?? "").total;
    return total;
  };
  const wait = (ms: number) => sim.runUntil(sim.clock.now() + ms);
  return { sim, kv, views, errors, record, stored, wait };
}

function page(): Response {
  return new Response("<h1>Page</h1>", { headers: { "content-type": "text/html" } });
}

Deno.test("PageViews refuses settings that make no sense", () => {
  for (const value of [0, -1, 1.5, NaN, Infinity]) {
    assertThrows(
      () => new PageViews(undefined, { writesPerDay: value }),
      RangeError,
      "writesPerDay",
    );
    assertThrows(() => new PageViews(undefined, { keysMax: value }), RangeError, "keysMax");
  }
  for (const lingerMs of [-1, NaN, 25_001]) {
    assertThrows(() => new PageViews(undefined, { lingerMs }), RangeError, "lingerMs");
  }
  assertThrows(() => new PageViews(undefined, { timeZone: "Mars" }), RangeError, "Mars");
  assertEquals(new PageViews(undefined, { timeZone: "Asia/Taipei" }).timeZone, "Asia/Taipei");
});

Deno.test("record() is synchronous and touches memory only", async () => {
  const { views, record, kv, sim } = counter();
  assertEquals(record("/About/"), {
    counted: true,
    path: "/about",
    referrer: "direct",
    kind: "browser",
  });
  assertEquals(record("/", {}), { counted: false, reason: "bot" });
  assertEquals([views.isFlushDue(), views.status().pending], [true, 1]);
  assertEquals(kv.operations, { read: 0, write: 0, list: 0, delete: 0 });
  assertEquals([sim.scheduled, await views.pending(TODAY)], [0, 1]);
});

Deno.test("flush() stores after the linger, with one list and one write", async () => {
  const { views, record, kv, sim, stored, wait } = counter({ edgeCache: mapCache() });
  record();
  sim.spawn(views.flush());
  await wait(1_999);
  assertEquals(kv.operations.write, 0);
  record();
  await wait(1);
  assertEquals([kv.operations.write, kv.operations.list, views.status().pending], [1, 1, 0]);
  assertEquals(await stored(), 2);
});

Deno.test("flush() does nothing where nothing was counted", async () => {
  const { views, kv, sim } = counter();
  await views.flush();
  assertEquals([sim.scheduled, kv.operations.read, views.isFlushDue()], [0, 0, false]);
});

Deno.test("a view while a flush is in flight is counted once, in the next one", async () => {
  const { views, record, sim, kv, stored, wait } = counter();
  let release = () => {};
  views.kv = kvWith(kv, {
    put: async (...args) => {
      await new Promise<void>((resolve) => release = resolve);
      await kv.put(...args);
    },
  });
  record();
  sim.spawn(views.flush());
  await wait(3 * SECOND);
  record();
  record();
  assertEquals(views.isFlushDue(), true);
  sim.spawn(views.flush());
  release();
  await wait(8 * SECOND);
  release();
  await wait(MINUTE);
  assertEquals([await stored(), views.status().pending, sim.pending], [3, 0, 0]);
});

Deno.test("flush() ends within what waitUntil allows, whatever comes in", async () => {
  const { views, record, sim, wait, stored } = counter();
  record();
  const start = sim.clock.now();
  let ended = 0;
  sim.spawn(views.flush().then(() => ended = sim.clock.now() - start));
  for (let n = 0; n < 60; n++) {
    await wait(500);
    record();
  }
  await wait(MINUTE);
  assert(ended > 0 && ended <= 30_000, `${ended} ms`);
  assertEquals(views.isFlushDue(), true);
  sim.spawn(views.flush());
  await wait(MINUTE);
  assertEquals(await stored(), 61);
});

Deno.test("a flush that never comes back does not stop the next one", async () => {
  const { views, record, sim, kv, wait, stored, errors } = counter();
  views.kv = kvWith(kv, { list: hang });
  record();
  sim.spawn(views.flush());
  await wait(MINUTE);
  assertEquals(await stored(), 0);
  views.kv = kv;
  for (let n = 0; n < 3; n++) {
    record();
    sim.spawn(views.flush());
    await wait(MINUTE);
  }
  assertEquals([await stored(), errors.length], [4, 1]);
});

Deno.test("requests that are not counted do not keep the cache busy", async () => {
  let calls = 0;
  const cache = mapCache();
  const { views, record, sim, wait } = counter({
    edgeCache: {
      get: (key) => {
        calls++;
        return cache.get(key);
      },
      set: (key, value, ttl) => cache.set(key, value, ttl),
    },
  });
  for (let n = 0; n < 600; n++) {
    record("/", {});
    if (views.isFlushDue()) sim.spawn(views.flush());
    await wait(SECOND);
  }
  assert(calls <= 130, `${calls} reads of the cache`);
  await wait(MINUTE);
});

Deno.test("count() records, and flushes in waitUntil", async () => {
  const { views, sim, stored, wait } = counter();
  const ctx = {
    calls: 0,
    waitUntil(promise: Promise<unknown>) {
      this.calls++;
      sim.spawn(promise);
    },
  };
  const request = new Request("https://site.example/", { headers: BROWSER });
  assertEquals(views.count(request, page(), ctx).counted, true);
  assertEquals(views.count(request, page(), ctx).counted, true);
  assertEquals(ctx.calls, 1);
  await wait(MINUTE);
  assertEquals(await stored(), 2);
});

Deno.test("count() does not throw when waitUntil does", async () => {
  const { views, errors, wait } = counter();
  const request = new Request("https://site.example/", { headers: BROWSER });
  const ctx = {
    waitUntil() {
      throw new TypeError("Illegal invocation");
    },
  };
  assertEquals(views.count(request, page(), ctx).counted, true);
  assertEquals(errors.length, 1);
  await wait(MINUTE);
});

Deno.test("status() tells of the network once it was listed", async () => {
  const { views, record, sim, wait } = counter({ edgeCache: mapCache(), colo: "LHR" });
  const none = { networkWrites: null, dataCenters: null, listedAt: null };
  assertEquals(views.status(), {
    day: TODAY,
    pending: 0,
    lost: 0,
    edgeCache: true,
    ...none,
  });
  for (let n = 0; n < 2; n++) {
    record();
    sim.spawn(views.flush());
    await wait(2 * MINUTE);
  }
  const { networkWrites, dataCenters, listedAt } = views.status();
  assertEquals([networkWrites, dataCenters, listedAt], [2, 1, NOON + 2 * MINUTE + 2 * SECOND]);
  assertEquals(counter().views.status().edgeCache, false);
});

Deno.test("keysMax bounds what is stored", async () => {
  const { views, record, sim, kv, wait } = counter({ keysMax: 2 });
  for (let n = 0; n < 9; n++) record(`/p${n % 5}`);
  sim.spawn(views.flush());
  await wait(MINUTE);
  const { keys } = await kv.list({ prefix: "views:" });
  const { paths } = JSON.parse(await kv.get(keys[0]?.name ?? "") ?? "");
  assertEquals(paths, { "/p0": 2, "/p1": 2, other: 5 });
});

Deno.test("pending() makes the next flush store what a dead isolate left in the cache", async () => {
  const edgeCache = mapCache();
  const dead = counter({ edgeCache, colo: "LHR" });
  dead.views.kv = undefined;
  dead.record();
  dead.sim.spawn(dead.views.flush());
  await dead.wait(MINUTE);

  const { views, sim, wait, stored } = counter({ edgeCache, colo: "LHR" });
  assertEquals(views.isFlushDue(), false);
  assertEquals(await views.pending(TODAY), 1);
  assertEquals(views.isFlushDue(), true);
  sim.spawn(views.flush());
  await wait(MINUTE);
  assertEquals([await stored(), await views.pending(TODAY)], [1, 0]);
});

Deno.test("flush() is not put off by views that keep coming", async () => {
  for (const everyMs of [200, 1_200, 1_900]) {
    const { views, sim, stored, record, wait } = counter({ edgeCache: mapCache() });
    for (let at = 0; at < 30 * SECOND; at += everyMs) {
      record();
      if (views.isFlushDue()) sim.spawn(views.flush());
      await wait(everyMs);
    }
    assert(await stored() > 0, `a view every ${everyMs} ms`);
  }
});
