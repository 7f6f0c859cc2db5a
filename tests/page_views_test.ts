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

Deno.test("a KV that hangs is given up after a while, and what waits is stored later", async () => {
  // Without a lesson a day is paced as if it were the first; a write is tried again.
  for (const [operation, failures] of [["get", 0], ["list", 1], ["put", 2]] as const) {
    const { views, record, sim, kv, wait, stored, errors } = counter({ edgeCache: mapCache() });
    views.kv = kvWith(kv, { [operation]: hang });
    record();
    sim.spawn(views.flush());
    await wait(MINUTE);
    const early = operation === "put" ? 0 : 1;
    assertEquals([await stored(), sim.pending], [early, 0], operation);
    views.kv = kv;
    record();
    sim.spawn(views.flush());
    await wait(MINUTE);
    assertEquals([await stored(), views.status().pending], [2, 0], operation);
    assertEquals(errors.length, failures, operation);
  }
});

Deno.test("a cache that hangs counts as none after a few seconds, and is found again", async () => {
  for (const operation of ["get", "set"] as const) {
    const cache = mapCache();
    const edgeCache = { ...cache };
    const { views, record, sim, wait, stored, errors } = counter({ edgeCache });
    Object.assign(edgeCache, { [operation]: hang });
    record();
    sim.spawn(views.flush());
    await wait(10 * SECOND);
    assertEquals([await stored(), views.status().edgeCache, errors.length > 0], [1, false, true]);
    Object.assign(edgeCache, cache);
    await wait(6 * MINUTE);
    record();
    sim.spawn(views.flush());
    await wait(MINUTE);
    assertEquals([await stored(), views.status().edgeCache, sim.rejections], [2, true, []]);
    assert(await cache.get(`views:${TODAY}`) !== undefined);
  }
});

Deno.test("a cache that fails when nobody waits for it any more does no harm", async () => {
  const { views, record, sim, wait, stored } = counter({
    edgeCache: {
      get: () => Promise.resolve(undefined),
      set: () => sim.clock.sleep(20 * SECOND).then(() => Promise.reject(new Error("too late"))),
    },
  });
  record();
  sim.spawn(views.flush());
  await wait(MINUTE);
  assertEquals([await stored(), sim.rejections], [1, []]);
});

Deno.test("isolates that write at the same moment end with the sum of both", async () => {
  for (const late of [0, 1]) {
    const cache = mapCache();
    const pass = () => sim.clock.sleep(20);
    const edgeCache = {
      get: (key: string) => pass().then(() => cache.get(key)),
      set: (key: string, value: string, ttl: number) =>
        pass().then(() => cache.set(key, value, ttl)),
    };
    const { sim, kv, views, wait, stored } = counter({ edgeCache });
    const other = new PageViews(kv, { clock: sim.clock, random: sim.random, edgeCache });
    const look = (isolate: PageViews, times: number) => {
      for (let n = 0; n < times; n++) {
        isolate.record(new Request("https://site.example/", { headers: BROWSER }), page());
      }
      sim.spawn(isolate.flush());
    };
    for (const isolate of [views, other]) {
      look(isolate, 1);
      await wait(MINUTE);
    }
    assertEquals([await stored(), kv.operations.write], [2, 2]);
    let puts = 0;
    // Of the two writes the first or the second takes its time, and lands last.
    views.kv = other.kv = kvWith(kv, {
      put: async (...args) => {
        if (puts++ === late) await sim.clock.sleep(300);
        await kv.put(...args);
      },
    });
    look(views, 2);
    look(other, 5);
    await wait(3 * SECOND);
    assertEquals([puts, views.status().pending > 0 || other.status().pending > 0], [2, true]);
    await wait(MINUTE);
    assertEquals([await stored(), views.status().pending, puts], [9, 0, 3]);
  }
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
