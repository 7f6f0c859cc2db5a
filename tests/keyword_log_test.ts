import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Budget } from "../lib/budget.ts";
import {
  KeywordLog,
  type KeywordLogOptions,
  normalizeQuery,
  putPlainSearch,
  readPlainSearches,
  redactQuery,
} from "../lib/keyword_log.ts";
import { utf8Length } from "../lib/kv/keys.ts";
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";

const START = Date.UTC(2026, 10, 30, 12);
const DAY = 86_400_000;

class Context {
  #work: Promise<unknown>[] = [];
  waitUntil(promise: Promise<unknown>) {
    this.#work.push(promise);
  }
  async settle(): Promise<number> {
    return (await Promise.all(this.#work.splice(0))).length;
  }
}

function setUp(options: KeywordLogOptions = {}) {
  const time = { now: START };
  const clock = { now: () => time.now };
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const kv = new MemoryKv(clock);
  const errors: unknown[] = [];
  const ctx = new Context();
  const onError = (error: unknown) => errors.push(error);
  const open = (more: KeywordLogOptions = {}, store: Kv = kv) =>
    new KeywordLog(store, { clock, random, onError, ...options, ...more });
  return { time, clock, random, kv, errors, ctx, open };
}

async function counts(log: KeywordLog, options = {}): Promise<Record<string, number>> {
  const { terms } = await log.top({ n: 1_000, ...options });
  return Object.fromEntries(terms.map(({ term, count }) => [term, count]));
}

/** A store in which `method` fails with `error` while `down` is true. */
function failing(kv: MemoryKv, method: "put" | "list" | "get") {
  const state = { down: true };
  const store: Kv = {
    get: (key: string) => kv.get(key),
    getWithMetadata: (key) => kv.getWithMetadata(key),
    put: (key, value, options) => kv.put(key, value, options),
    delete: (key) => kv.delete(key),
    list: (options) => kv.list(options),
  };
  const work = store[method] as (...args: unknown[]) => Promise<unknown>;
  const guarded = (...args: unknown[]) =>
    state.down ? Promise.reject(new Error("KV PUT failed: 429 Too Many Requests")) : work(...args);
  return { state, store: { ...store, [method]: guarded } as Kv };
}

Deno.test("log() makes one write of 10,000 searches", async () => {
  const { kv, ctx, open } = setUp();
  const log = open();
  for (let i = 0; i < 10_000; i++) log.log(`Term ${i % 137}`, ctx, { hits: i % 137 });
  assertEquals([await ctx.settle(), kv.operations.write], [0, 0]);
  const result = await log.flush();
  assertEquals([result.written, result.events, result.waiting], [true, 10_000, 0]);
  assertEquals(kv.operations, { read: 0, write: 1, list: 0, delete: 0 });
  const top = await log.top({ days: 1, n: 1_000 });
  assertEquals([top.total, top.terms.length, top.complete, top.lists], [10_000, 137, true, 1]);
  assertEquals(top.terms[0], { term: "term 0", count: 73, zeroHits: 73 });
  assertEquals(top.terms[1], { term: "term 1", count: 73, zeroHits: 0 });
  assertEquals((await log.top({ zeroHits: true })).terms.length, 1);
  assertEquals((await log.flush()).reason, "empty");
});

Deno.test("a flush is due with the first search after flushMs, in waitUntil", async () => {
  const { kv, time, ctx, open } = setUp({ flushMs: 60_000 });
  const log = open();
  log.log("one", ctx);
  time.now += 59_999;
  log.log("two", ctx);
  assertEquals(await ctx.settle(), 0);
  time.now += 1;
  log.log("three", ctx);
  assertEquals([await ctx.settle(), kv.operations.write], [1, 1]);
  assertEquals(await counts(log), { one: 1, two: 1 });
  await log.flush();
  assertEquals(await counts(log), { one: 1, three: 1, two: 1 });
});

Deno.test("log() caps distinct terms and bounds the writes that a flood can cause", async () => {
  const { kv, time, ctx, open } = setUp({ termsMax: 10, flushMs: 60_000 });
  const log = open();
  let flushes = 0;
  for (let i = 0; i < 86_400; i++) {
    log.log(`random ${i}`, ctx);
    flushes += await ctx.settle();
    time.now += 1_000;
  }
  assertEquals(flushes, kv.operations.write);
  assert(kv.operations.write <= log.writesPerDay, `${kv.operations.write}`);
  await log.flush();
  await log.flush();
  const { total, other } = await log.top({ days: 2, n: 1_000, listsMax: 100 });
  assertEquals(total, 86_400);
  assert(other > 0);
});

Deno.test("keystrokes of one session collapse to what was typed last", async () => {
  const type = async (steps: [string, number?, string?][], options: KeywordLogOptions = {}) => {
    const { time, ctx, open } = setUp(options);
    const log = open();
    for (const [query, waitMs = 300, session = "s"] of steps) {
      log.log(query, ctx, { session });
      time.now += waitMs;
    }
    await log.flush();
    return await counts(log);
  };
  const cases: [[string, number?, string?][], Record<string, number>][] = [
    [[["f"], ["fi"], ["fir"], ["fire"]], { fire: 1 }],
    [[["F"], ["Fi "], ["FIRE"], ["fire"]], { fire: 1 }],
    [[["fire"], ["fir"], ["firm"]], { firm: 1 }],
    [[["fire"], ["fir"], ["fi"]], { fire: 1 }],
    [[["tes"], ["test str"], ["test string"]], { "test string": 1 }],
    [[["fire", 4_001], ["fireplace"]], { fire: 1, fireplace: 1 }],
    [[["fire", 4_000], ["fireplace"]], { fireplace: 1 }],
    [[["fire", 1, "a"], ["fireplace", 1, "b"]], { fire: 1, fireplace: 1 }],
    [[["fire", 1, ""], ["fireplace", 1, ""]], { fire: 1, fireplace: 1 }],
    [[["fire"], ["water"]], { fire: 1, water: 1 }],
    [[["j"], ["john"], ["john@"], ["john@e"], ["john@example.com"]], {}],
    [[["4111"], ["4111 11"], ["4111 1111"], ["4111 1111 1111 1111"]], {}],
  ];
  for (const [steps, want] of cases) assertEquals(await type(steps), want, JSON.stringify(steps));
});

Deno.test("a typing session is not split by a flush that it makes due", async () => {
  const { time, ctx, open } = setUp({ flushMs: 1_000 });
  const log = open();
  for (const query of ["f", "fi", "fir", "fire", "fires"]) {
    log.log(query, ctx, { session: "s" });
    time.now += 500;
  }
  assertEquals(await ctx.settle(), 0);
  log.log("other", ctx);
  await ctx.settle();
  assertEquals(await counts(log), { fires: 1 });
});

Deno.test("normalizeQuery() makes variants one term", () => {
  const cases: [string, string][] = [
    ["  Fire\t\n FOX  ", "fire fox"],
    ["ＦＩＲＥ", "fire"],
    ["ﬁre", "fire"],
    ["fi\u200bre", "fire"],
    ["\u202efire\u202c", "fire"],
    ["fire\u0000", "fire"],
    ["\ufefffire", "fire"],
    ["fi\ud800re", "fire"],
    ["caf\u0065\u0301", "café"],
    ["STRASSE", "strasse"],
    ["\u0007\u200e \t", ""],
    ["", ""],
    ["火事", "火事"],
    ["__proto__", "__proto__"],
  ];
  for (const [query, want] of cases) {
    assertEquals(normalizeQuery(query), want, JSON.stringify(query));
  }
  for (
    const query of [
      "x".repeat(5_000),
      "é".repeat(500),
      "😀".repeat(500),
      "İ".repeat(90),
      "a ".repeat(64),
    ]
  ) {
    const term = normalizeQuery(query);
    assert(Array.from(term).length <= 64 && utf8Length(term) <= 128 && term.isWellFormed());
    assertEquals(normalizeQuery(term), term);
  }
});

Deno.test("redaction withholds addresses, phone and card numbers and nothing else", async () => {
  const personal = [
    "someone@example.com",
    "mail SOMEONE@Example.COM please",
    "someone＠example.com",
    "some\u200bone@exa\u200bmple.org",
    "someone @ example.org",
    "someone%40example.org",
    "someone (at) example.org",
    "someone at example dot com",
    "someone at example.com",
    "someone&#64;example.org",
    "4111111111111111",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "4111.1111.1111.1111",
    "4111–1111–1111–1111",
    "card 3782 822463 10005 exp",
    "４１１１ １１１１ １１１１ １１１１",
    "٤١١١١١١١١١١١١١١١",
    "41\u200b11111111111111",
    "+49 170 1234567",
    "(555) 123-4567",
    "555-1234",
    "00 44 20 7946 0958",
    "x".repeat(70) + " 4111 1111 1111 1111",
    "x".repeat(55) + " 4111111111111111",
    "DE89 3704 0044 0532 0130 00",
    "123-45-6789",
  ];
  const harmless = [
    "fire",
    "iphone 15",
    "2024",
    "windows 11 24h2",
    "rtx 4090",
    "2026-11-30",
    "2019-2024",
    "100000",
    "c++",
    "at the dot",
    "@handle",
    "1 2 3 4",
  ];
  const { kv, ctx, open } = setUp();
  const log = open();
  for (const query of personal) log.log(query, ctx);
  assertEquals(await log.flush().then(({ reason }) => reason), "empty");
  for (const query of harmless) log.log(query, ctx);
  await log.flush();
  const { keys } = await kv.list();
  const stored = JSON.stringify(keys) + await kv.get(keys[0]?.name ?? "");
  for (const query of personal) assertEquals(stored.includes(query), false, query);
  const top = await log.top({ n: 100 });
  assertEquals(top.terms.map(({ term }) => term).sort(), [...harmless].sort());
  assertEquals(top.redacted, personal.length);
  assertEquals(redactQuery("fire"), "fire");
  assertEquals(redactQuery("a@b"), undefined);
});

Deno.test("flushes of many isolates merge exactly, over days", async () => {
  const { kv, time, ctx, open } = setUp();
  const want: Record<string, number> = {};
  for (let i = 0; i < 60; i++) {
    const log = open();
    for (let j = 0; j < 40; j++) {
      const term = `term ${(i * 7 + j * j) % 23}`;
      log.log(term, ctx);
      want[term] = (want[term] ?? 0) + 1;
    }
    await log.flush();
    time.now += DAY / 20;
  }
  const reader = open();
  const sorted = (record: Record<string, number>) => Object.entries(record).sort();
  assertEquals(sorted(await counts(reader, { days: 4 })), sorted(want));
  assertEquals(kv.operations, { read: 0, write: 60, list: 4, delete: 0 });
  const two = await reader.top({ days: 1, n: 2, countMin: 2 });
  assertEquals([two.terms.length, two.lists], [2, 0]);
  for (const { name, expiration } of (await kv.list()).keys) {
    assert(/^kw:\d{8}:/.test(name));
    assert((expiration ?? 0) * 1_000 > time.now + 25 * DAY);
  }
});

Deno.test("large flushes are read by value, damaged ones left out, and bounds reported", async () => {
  const { kv, ctx, errors, open } = setUp();
  for (let i = 0; i < 5; i++) {
    const log = open();
    for (let j = 0; j < 60; j++) log.log(`a long term of isolate ${i} number ${j}`, ctx);
    await log.flush();
  }
  await kv.put("kw:20261130:x1", "not json", { metadata: { v: 9 } });
  await kv.put("kw:20261130:x2", '{"v":1,"t":[["a","b"]],"o":0,"r":0}');
  await kv.put("kw:20261130:x3", '{"v":1,"t":[["__proto__",2,1]],"o":0,"r":0}');
  const before = kv.operations.read;
  const top = await open().top({ days: 1, n: 1_000 });
  assertEquals([top.damaged, top.total, top.gets, top.complete], [2, 302, 8, true]);
  assertEquals(top.terms[0], { term: "__proto__", count: 2, zeroHits: 1 });
  assertEquals(kv.operations.read - before, 8);
  const some = await open().top({ days: 1, getsMax: 3 });
  assertEquals([some.gets, some.complete], [3, false]);
  const few = await open().top({ days: 7, listsMax: 2 });
  assertEquals([few.lists, few.complete], [2, false]);
  assertEquals(errors, []);
});

Deno.test("top() answers from the data center's cache, and its own flush shows", async () => {
  const { kv, time, ctx, open } = setUp();
  const kept = new Map<string, string>();
  const edgeCache = {
    get: (key: string) => Promise.resolve(kept.get(key)),
    set: (key: string, value: string) => Promise.resolve(void kept.set(key, value)),
  };
  const log = open({ edgeCache });
  log.log("fire", ctx);
  await log.flush();
  time.now += 1;
  assertEquals(await counts(log), { fire: 1 });
  const lists = kv.operations.list;
  assertEquals(await counts(open({ edgeCache })), { fire: 1 });
  assertEquals(await counts(log), { fire: 1 });
  assertEquals(kv.operations.list, lists);
  log.log("fire", ctx);
  await log.flush();
  assertEquals(await counts(log), { fire: 2 });
  time.now += 300_000;
  assertEquals(await counts(open({ edgeCache })), { fire: 2 });
  for (const key of kept.keys()) kept.set(key, "damaged");
  assertEquals(await counts(open({ edgeCache })), { fire: 2 });
  edgeCache.get = () => Promise.reject(new Error("cache"));
  assertEquals(await counts(open({ edgeCache })), { fire: 2 });
});

Deno.test("without a granted write counts are kept and the pause doubles", async () => {
  const ledger: Budget & { open: boolean; asked: number } = {
    open: false,
    asked: 0,
    take() {
      this.asked++;
      return { granted: this.open, retryAfterMs: this.open ? 0 : 7 };
    },
    note: () => {},
  };
  const { kv, time, ctx, open } = setUp({ budget: ledger, flushMs: 60_000 });
  const log = open();
  for (let i = 0; i < 3_600; i++) {
    log.log("fire", ctx);
    await ctx.settle();
    time.now += 1_000;
  }
  assertEquals([kv.operations.write, ledger.asked], [0, 10]);
  const refused = await log.flush();
  assertEquals([refused.reason, refused.retryAfterMs, refused.waiting], ["budget", 7, 3_600]);
  ledger.open = true;
  await log.flush();
  assertEquals(await counts(log), { fire: 3_600 });
});

Deno.test("a failed flush is repeated under the same key, so nothing counts twice", async () => {
  const { kv, ctx, errors, random, clock } = setUp();
  const keys: string[] = [];
  let lost = true;
  const store: Kv = {
    ...failing(kv, "put").store,
    put: async (key, value, options) => {
      keys.push(key);
      await kv.put(key, value, options);
      if (lost) throw new Error("Network connection lost.");
    },
  };
  const log = new KeywordLog(store, { clock, random, onError: (error) => errors.push(error) });
  log.log("fire", ctx);
  assertEquals((await log.flush()).reason, "store");
  log.log("fire", ctx);
  lost = false;
  assertEquals((await log.flush()).events, 2);
  assertEquals([new Set(keys).size, errors.length], [1, 1]);
  assertEquals(await counts(log), { fire: 2 });
});

Deno.test("searches during a flush go into the next; a long outage gives up the oldest days", async () => {
  const { kv, time, ctx, open } = setUp();
  const { state, store } = failing(kv, "put");
  const log = open({}, store);
  for (let day = 0; day < 6; day++) {
    log.log(`day ${day}`, ctx);
    await log.flush();
    time.now += DAY;
  }
  state.down = false;
  const results = [];
  for (let i = 0; i < 5; i++) results.push(await log.flush());
  assertEquals(results.map(({ events }) => events), [1, 1, 1, 1, 0]);
  assertEquals(results[0]?.dropped, 2);
  assertEquals(Object.keys(await counts(log, { days: 30 })).sort(), [
    "day 2",
    "day 3",
    "day 4",
    "day 5",
  ]);
  const both = open();
  both.log("a", ctx);
  const first = both.flush();
  both.log("b", ctx);
  assertEquals([(await first).events, (await both.flush()).events], [1, 1]);
});

Deno.test("a search before midnight counts for its day", async () => {
  const { time, ctx, open } = setUp();
  const log = open();
  time.now = Date.UTC(2026, 11, 1) - 1_000;
  log.log("late", ctx);
  time.now += 6_000;
  log.log("early", ctx);
  assertEquals(await ctx.settle(), 1);
  await log.flush();
  assertEquals(await counts(log, { days: 1 }), { early: 1 });
  assertEquals(await counts(log, { days: 2 }), { early: 1, late: 1 });
});

Deno.test("lingerMs flushes a lone search inside waitUntil", async () => {
  const { kv, time, ctx, open } = setUp();
  const clock = {
    now: () => time.now,
    sleep: (ms: number) => Promise.resolve(void (time.now += ms)),
  };
  const log = open({ clock, lingerMs: 5_000 });
  log.log("lone", ctx);
  await ctx.settle();
  assertEquals([kv.operations.write, time.now], [1, START + 5_000]);
  log.log("soon after", ctx);
  assertEquals(await ctx.settle(), 0);
});

Deno.test("log() never throws, whatever it is given", async () => {
  const { kv, ctx, errors, open } = setUp();
  const log = open({
    redact: (query) => {
      if (query === "boom") throw new Error("boom");
      return query;
    },
  });
  for (const query of [undefined, null, 5, {}, [], "", " ", "boom", "\ud800"]) {
    log.log(query as string, ctx);
  }
  log.log("fire", undefined as unknown as Context, { hits: NaN });
  log.log("fire", ctx, { hits: -1, session: 5 as unknown as string });
  assert(errors.length > 0);
  await log.flush();
  assertEquals((await log.top()).terms, [{ term: "fire", count: 2, zeroHits: 0 }]);
  assertEquals(kv.operations.write, 1);
  const { store } = failing(kv, "list");
  const down = await open({}, store).top();
  assertEquals([down.terms, down.complete], [[], false]);
});

Deno.test("the plain shape is written and read, foreign variants too", async () => {
  const { kv, clock, time, random, open } = setUp();
  const key = await putPlainSearch(kv, " Fire ", { hits: 2, clock, random });
  assert(
    /^search:\d{13}:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(
      key ?? "",
    ),
  );
  assertEquals(JSON.parse(await kv.get(key ?? "") ?? ""), {
    query: "fire",
    timestamp: START,
    hits: 2,
  });
  assertEquals((await kv.list()).keys[0]?.expiration, START / 1_000 + 30 * 86_400);
  assertEquals(await putPlainSearch(kv, "a@example.com", { clock, random }), undefined);
  assertEquals(await putPlainSearch(kv, "  ", { clock, random }), undefined);
  await kv.put(`search:${START - DAY}:u1`, '{"q":"Water","results":0}');
  await kv.put(`search:${(START - DAY) / 1_000}:u2`, '{"term":"air"}');
  await kv.put(`search:${new Date(START - 2 * DAY).toISOString()}:u3`, '"earth"');
  await kv.put(`search:${START}:u4`, "{broken");
  await kv.put(`search:${START}:u5`, '{"query":5}');
  await kv.put(`search:${START}:u6`, '{"query":"someone@example.com"}');
  await kv.put("search:nonsense", "x");
  await kv.put("searches:1:2", "x");
  const all = await readPlainSearches(kv);
  assertEquals(all.searches.map(({ query }) => query), [
    "earth",
    "Water",
    "air",
    "fire",
    "someone@example.com",
  ]);
  assertEquals([all.damaged, all.complete, all.lists, all.gets], [2, true, 1, 6]);
  const recent = await readPlainSearches(kv, { sinceMs: START - DAY, getsMax: 1 });
  assertEquals([recent.gets, recent.complete], [1, false]);
  const log = open();
  const top = await log.top({ searches: all.searches, days: 2 });
  assertEquals(top.terms.map(({ term, zeroHits }) => [term, zeroHits]), [["air", 0], ["fire", 0], [
    "water",
    1,
  ]]);
  assertEquals([top.redacted, top.damaged, top.lists], [1, 0, 2]);
  time.now += 31 * DAY;
  assertEquals(await kv.get(key ?? ""), null);
});

Deno.test("options that are none are refused", async () => {
  const { kv, open } = setUp();
  for (const name of ["ttlSeconds", "flushMs", "termsMax", "collapseMs", "cacheMs", "lingerMs"]) {
    for (const value of [NaN, -1, Infinity]) {
      assertThrows(() => new KeywordLog(kv, { [name]: value }), RangeError, name);
    }
  }
  for (const name of ["days", "n", "countMin", "listsMax"]) {
    const error = await open().top({ [name]: 0 }).catch((error) => error);
    assert(error instanceof RangeError && error.message.includes(name));
  }
});
