import { assert, assertEquals } from "@std/assert";
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { Env } from "../lib/worker/env.ts";
import type { RouteContext } from "../lib/worker/route.ts";
import { matchRoute } from "../lib/worker/router.ts";
import { chatRoutes } from "../lib/worker/routes/chat.ts";
import { feedRoutes } from "../lib/worker/routes/feed.ts";
import { searchRoutes } from "../lib/worker/routes/search.ts";
import { WriteBudget } from "../lib/write_budget.ts";

const START = Date.UTC(2026, 10, 30, 12);
const ROUTES = [...searchRoutes, ...chatRoutes, ...feedRoutes];
const PAGES = {
  pages: [
    { path: "/a", title: "Fire safety", text: "Where the extinguishers hang." },
    { path: "/b", title: "Water", text: "It puts out a fire. Fire is hot." },
    { path: 5, title: "broken", text: "fire" },
  ],
};
const TOKEN = { authorization: "Bearer s3cret" };

/** One isolate that has these routes. */
function isolate(
  options: { kv?: Kv | null; assets?: Response; shares?: Record<string, number> } = {},
) {
  const time = { now: START };
  const clock = { now: () => time.now, sleep: () => Promise.resolve() };
  const memory = new MemoryKv(clock);
  const kv = options.kv === null ? undefined : options.kv ?? memory;
  const kept = new Map<string, unknown>();
  const work: Promise<unknown>[] = [];
  const errors: unknown[] = [];
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const budget = new WriteBudget({
    now: clock.now,
    random,
    ...(options.shares ? { shares: options.shares } : {}),
  });
  const assets = options.assets ?? Response.json(PAGES);
  const env: Env = {
    ADMIN_TOKEN: "s3cret",
    ASSETS: { fetch: () => Promise.resolve(assets.clone()) },
    ...(kv ? { KV: kv } : {}),
  };
  const call = async (path: string, init: RequestInit = {}) => {
    const request = new Request(`https://example.org${path}`, init);
    const url = new URL(request.url);
    const match = matchRoute(ROUTES, request.method, url.pathname);
    if (!match || !("route" in match)) throw new Error(`No route for ${path}`);
    const context = {
      request,
      url,
      params: match.params,
      env,
      ctx: { waitUntil: (promise: Promise<unknown>) => void work.push(promise) },
      kv,
      edgeCache: null,
      clock,
      random,
      budget,
      report: (error: unknown) => void errors.push(error),
      once<T>(name: string, make: () => T): T {
        if (!kept.has(name)) kept.set(name, make());
        return kept.get(name) as T;
      },
    } as unknown as RouteContext;
    const response = await match.route.handle(context);
    // deno-lint-ignore no-explicit-any
    const body = await response.json() as any;
    await Promise.all(work.splice(0));
    return { status: response.status, body, response };
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call(path, {
      method: "POST",
      headers,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { call, post, memory, time, errors };
}

/** Asserts a JSON error of the fixed form. */
function assertError(answer: { status: number; body: unknown }, status: number, code?: string) {
  const { error } = answer.body as { error: { code: string; message: string } };
  assertEquals(answer.status, status, JSON.stringify(answer.body));
  assert(typeof error.message === "string" && error.message.length > 5);
  if (code) assertEquals(error.code, code);
}

Deno.test("GET and POST /api/search answer from the pages and log the query", async () => {
  const { call, post, memory } = isolate();
  const found = await call("/api/search?q=%20FIRE%20");
  assertEquals(found.body.count, 2);
  assertEquals(found.body.results[0].path, "/a");
  for (const q of ["w", "wa", "wat"]) await post("/api/search", { q, session: "s" });
  await post("/api/search", { query: "unicorn" });
  await post("/api/search", "q=fire", { "content-type": "application/x-www-form-urlencoded" });
  await post("/api/search", { q: "someone@example.com" });
  const { body } = await call("/api/keywords?days=1", { headers: TOKEN });
  assertEquals(body.terms, [
    { term: "fire", count: 2, zeroHits: 0 },
    { term: "unicorn", count: 1, zeroHits: 1 },
    { term: "wat", count: 1, zeroHits: 0 },
  ]);
  assertEquals(body.redacted, 1);
  const zero = await call("/api/keywords?zeroHits=1&n=1", { headers: TOKEN });
  assertEquals(zero.body.terms.length, 1);
  assert(memory.operations.write <= 2);
});

Deno.test("keystrokes from one address are one search, and no address is stored", async () => {
  const { call, memory } = isolate();
  const type = (q: string, ip: string) =>
    call(`/api/search?q=${q}`, { headers: { "cf-connecting-ip": ip } });
  for (const q of ["f", "fi", "fir", "fire"]) await type(q, "192.0.2.7");
  await type("fire", "192.0.2.8");
  const { body } = await call("/api/keywords", { headers: TOKEN });
  assertEquals(body.terms, [{ term: "fire", count: 2, zeroHits: 0 }]);
  const { keys } = await memory.list();
  for (const { name, metadata } of keys) {
    assertEquals(
      `${name}${JSON.stringify(metadata)}${await memory.get(name)}`.includes("192.0"),
      false,
    );
  }
});

Deno.test("/api/search works without pages and without a store", async () => {
  for (
    const assets of [
      new Response("<html>"),
      Response.json({ pages: 5 }),
      new Response("", { status: 404 }),
    ]
  ) {
    const { call } = isolate({ assets });
    assertEquals((await call("/api/search?q=fire")).body.results, []);
    const { body } = await call("/api/keywords", { headers: TOKEN });
    assertEquals(body.terms, [{ term: "fire", count: 1, zeroHits: 0 }]);
  }
  const { call } = isolate({ kv: null });
  assertEquals((await call("/api/search?q=fire")).body.count, 2);
  assertError(await call("/api/keywords", { headers: TOKEN }), 503, "noStore");
});

Deno.test("/api/search and /api/keywords refuse what they cannot use", async () => {
  const { call, post, memory } = isolate();
  for (const query of ["", "?q=", "?q=%20", `?q=${"x".repeat(201)}`, "?query=x"]) {
    assertError(await call(`/api/search${query}`), 400, "badQuery");
  }
  for (const body of [{}, { q: 5 }, { q: "" }, { q: null }, { q: ["x"] }]) {
    assertError(await post("/api/search", body), 400, "badQuery");
  }
  for (const session of [5, "", "x".repeat(65), {}]) {
    assertError(await post("/api/search", { q: "x", session }), 400, "badSession");
  }
  for (const body of ["", "{", "null", "[]", "5", '"x"']) {
    assertError(await post("/api/search", body), 400, "badJson");
  }
  assertError(await post("/api/search", "x".repeat(16_385)), 413, "tooLarge");
  assertError(await call("/api/keywords"), 401, "unauthorized");
  assertError(await call("/api/keywords", { headers: { authorization: "Bearer no" } }), 401);
  for (
    const query of [
      "days=0",
      "days=91",
      "days=x",
      "days=",
      "n=0",
      "n=1e9",
      "countMin=-1",
      "days=1.5",
    ]
  ) {
    assertError(await call(`/api/keywords?${query}`, { headers: TOKEN }), 400, "badParameter");
  }
  assertEquals(memory.operations.write, 0);
});

Deno.test("/api/chat/:thread appends once, echoes and loads", async () => {
  const { call, post, memory } = isolate();
  const said = await post("/api/chat/abc", { id: "m1", content: "Hello" });
  assertEquals([said.status, said.body.written, said.body.added], [200, true, 2]);
  assertEquals(said.body.reply, { id: "m1-r", role: "assistant", content: "Hello" });
  assertEquals(memory.operations, { read: 1, write: 1, list: 0, delete: 0 });
  const again = await post("/api/chat/abc", { id: "m1", content: "Something else" });
  assertEquals([again.body.reason, again.body.reply.content], ["known", "Hello"]);
  assertEquals(memory.operations.write, 1);
  await post("/api/chat/abc", { content: "no id" });
  const loaded = await call("/api/chat/abc");
  assertEquals(loaded.body.messages.length, 4);
  assertEquals(loaded.body.messages[0], { id: "m1", role: "user", content: "Hello" });
  assertEquals((await call("/api/chat/other")).body.messages, []);
});

Deno.test("/api/chat/:thread keeps hostile names apart and bounds what it stores", async () => {
  const { call, post, time, memory } = isolate();
  const names = ["a%3Ab", "a", "..%2F..", "__proto__", "%F0%9F%98%80", "%25", "%zz", "~x"];
  for (const name of names) await post(`/api/chat/${name}`, { id: "1", content: name });
  for (const name of names) {
    assertEquals((await call(`/api/chat/${name}`)).body.messages[0].content, name);
  }
  for (let i = 0; i < 80; i++) {
    time.now += 60_000;
    await post("/api/chat/long", { id: `${i}`, content: "x".repeat(4_000) });
  }
  const { messages } = (await call("/api/chat/long")).body;
  assert(messages.length <= 100);
  assertEquals(messages[0].role, "user");
  for (const { name } of (await memory.list()).keys) {
    assert((await memory.get(name) ?? "").length <= 131_072);
  }
});

Deno.test("/api/chat/:thread refuses what it cannot use", async () => {
  const { call, post, memory } = isolate();
  for (
    const body of [{}, { content: 5 }, { content: "" }, { content: "  " }, { content: null }, {
      content: [],
    }]
  ) {
    assertError(await post("/api/chat/t", body), 400, "badContent");
  }
  for (const id of [5, "", {}, "x".repeat(101), null].filter((id) => id !== null)) {
    assertError(await post("/api/chat/t", { id, content: "x" }), 400, "badId");
  }
  assertError(await post("/api/chat/t", { content: "x".repeat(4_001) }), 413, "tooLarge");
  assertError(await post("/api/chat/t", { content: "x".repeat(20_000) }), 413, "tooLarge");
  assertError(await post("/api/chat/t", "not json"), 400, "badJson");
  for (const name of ["", "%20", "x".repeat(101)]) {
    assertError(await call(`/api/chat/${name}`), 400, "badThread");
    assertError(await post(`/api/chat/${name}`, { content: "x" }), 400, "badThread");
  }
  assertEquals(memory.operations.write, 0);
  await memory.put("chat:t", "somebody else's");
  assertError(await call("/api/chat/t"), 409, "unreadable");
  assertError(await post("/api/chat/t", { content: "x" }), 409, "unreadable");
  assertEquals(await memory.get("chat:t"), "somebody else's");
  const bare = isolate({ kv: null });
  assertError(await bare.call("/api/chat/t"), 503, "noStore");
});

Deno.test("/api/chat/:thread says when nothing could be stored", async () => {
  const spent = isolate({ shares: { chat: 0 } });
  const kept = await spent.post("/api/chat/t", { id: "1", content: "x" });
  assertEquals([kept.status, kept.body.reason], [202, "budget"]);
  assertEquals((await spent.call("/api/chat/t")).body.messages.length, 2);
  const broken = () => Promise.reject(new Error("KV GET failed: 503 x"));
  const down = isolate({ kv: { ...isolate().memory, get: broken, put: broken } as unknown as Kv });
  const late = await down.post("/api/chat/t", { id: "1", content: "x" });
  assertEquals([late.status, late.body.reason], [202, "store"]);
  assertEquals((await down.call("/api/chat/t")).body.degraded, true);
});

Deno.test("/api/feed shows pages, and takes posts with the token", async () => {
  const { call, post, time, memory } = isolate();
  assertEquals((await call("/api/feed")).body, {
    items: [],
    cursor: null,
    short: false,
    degraded: false,
  });
  const at = ["2026-11-01T00:00:00Z", START - 5, undefined];
  for (let i = 0; i < 9; i++) {
    const made = await post("/api/feed", {
      title: `Post ${i}`,
      text: "x",
      url: "/about",
      at: at[i % 3],
    }, TOKEN);
    assertEquals(made.status, 201);
    time.now += 1_000;
  }
  const first = (await call("/api/feed")).body;
  assertEquals(first.items.length, 6);
  const lists = memory.operations.list;
  const second = (await call(`/api/feed?cursor=${encodeURIComponent(first.cursor)}&show=100`)).body;
  assertEquals([second.items.length, second.cursor], [3, null]);
  assertEquals(memory.operations.list, lists);
  const all = [...first.items, ...second.items];
  assertEquals(new Set(all.map(({ id }) => id)).size, 9);
});

Deno.test("/api/feed refuses what it cannot use", async () => {
  const { call, post, memory } = isolate();
  await post("/api/feed", { title: "one", id: "1" }, TOKEN);
  for (const cursor of ["", "x", "..%2F", "%F0%9F%98%80", "x".repeat(5_000)]) {
    assertError(await call(`/api/feed?cursor=${cursor}`), 400, "badCursor");
  }
  for (const show of ["0", "x", "-1", "101", "1.5", "", "NaN"]) {
    assertError(await call(`/api/feed?show=${show}`), 400, "badShow");
  }
  assertError(await post("/api/feed", { title: "x" }), 401, "unauthorized");
  assertError(await post("/api/feed", { title: "x" }, { authorization: "Bearer x" }), 401);
  const bad = [
    {},
    { title: 5 },
    { title: " " },
    { title: "x".repeat(201) },
    { title: "x", id: "" },
    { title: "x", id: 5 },
    { title: "x", text: 5 },
    { title: "x", text: "x".repeat(4_001) },
    { title: "x", url: "javascript:alert(1)" },
    { title: "x", url: "//evil.example" },
    { title: "x", at: "yesterday" },
    { title: "x", at: 1_780_000_000 },
    { title: "x", at: {} },
    { title: "x", at: null },
  ];
  for (const body of bad) assertError(await post("/api/feed", body, TOKEN), 400, "badItem");
  assertError(await post("/api/feed", "{", TOKEN), 400, "badJson");
  assertEquals(memory.operations.write, 1);
  const broken = () => Promise.reject(new Error("KV PUT failed: 503 x"));
  const down = isolate({ kv: { ...isolate().memory, put: broken } as unknown as Kv });
  const refused = await down.post("/api/feed", { title: "x" }, TOKEN);
  assertError(refused, 503, "notStored");
  assert(Number(refused.response.headers.get("retry-after")) >= 1);
  assertError(await isolate({ kv: null }).call("/api/feed"), 503, "noStore");
});
