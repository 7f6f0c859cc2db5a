import { assertEquals } from "@std/assert";
import { createWorker, type EdgeCache, type Env } from "../lib/worker/create_worker.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { DayReport } from "../lib/views/types.ts";
import { NOON } from "./_report_fixtures.ts";
import { BROWSER, mapCache, SITE, type TrafficWorker, trafficWorker } from "./_traffic_worker.ts";

const PUT_FAILED = "KV PUT failed: 503 Service Unavailable";

async function view(worker: TrafficWorker): Promise<void> {
  await worker.ask("/about", { headers: BROWSER });
}

async function reportOf(worker: TrafficWorker, query = ""): Promise<DayReport> {
  const response = await worker.ask(`/api/traffic${query}`);
  assertEquals(response.status, 200);
  return await response.json();
}

Deno.test("a write that failed and was stored all the same is not pending as well", async () => {
  const worker = trafficWorker({ ASSETS: SITE });
  const put = worker.kv.put.bind(worker.kv);
  worker.kv.put = async (...args) => {
    await put(...args);
    throw new Error(PUT_FAILED);
  };
  await view(worker);
  await worker.settle();
  const { total, pending } = await reportOf(worker);
  assertEquals([total, pending], [1, 0]);
});

Deno.test("no day to come has views that wait", async () => {
  const worker = trafficWorker({ ASSETS: SITE });
  worker.kv.put = () => Promise.reject(new Error(PUT_FAILED));
  await view(worker);
  assertEquals((await reportOf(worker)).pending, 1);
  assertEquals((await reportOf(worker, "?date=2099-01-01")).pending, 0);
});

Deno.test("a report of the day before does not take over the new day's views", async () => {
  const worker = trafficWorker({ ASSETS: SITE });
  worker.now = Date.parse("2026-03-01T23:59:50Z");
  await view(worker);
  await worker.settle();
  worker.now = Date.parse("2026-03-01T23:59:58Z");
  await reportOf(worker);
  worker.now = Date.parse("2026-03-02T00:00:01Z");
  worker.kv.put = () => Promise.reject(new Error(PUT_FAILED));
  await view(worker);
  const before = await reportOf(worker, "?date=2026-03-01");
  assertEquals([before.total, before.pending, before.partial], [1, 0, false]);
  const now = await reportOf(worker);
  assertEquals([now.date, now.total, now.pending], ["2026-03-02", 0, 1]);
});

Deno.test("views that wait past midnight are shown under their day", async () => {
  const worker = trafficWorker({ ASSETS: SITE }, mapCache());
  worker.now = Date.parse("2026-03-01T23:59:58Z");
  worker.kv.put = () => Promise.reject(new Error(PUT_FAILED));
  await view(worker);
  worker.now = Date.parse("2026-03-02T00:00:01Z");
  const before = await reportOf(worker, "?date=2026-03-01");
  assertEquals([before.total, before.pending], [0, 1]);
  assertEquals((await reportOf(worker)).pending, 0);
});

Deno.test("a cache that holds anything at all does not break a report", async () => {
  const days = Array.from({ length: 14 }, () => ({ date: "2020-01-01" }));
  for (
    const text of [
      "{}",
      "null",
      '{"at":',
      JSON.stringify({ at: NOON }),
      JSON.stringify({ at: NOON, report: { days: [] } }),
      JSON.stringify({ at: NOON, report: { days, stored: [] } }),
    ]
  ) {
    const cache: EdgeCache = { ...mapCache(), get: () => Promise.resolve(text) };
    const { date, total } = await reportOf(trafficWorker({}, cache));
    assertEquals([date, total], [new Date(NOON).toISOString().slice(0, 10), 0]);
  }
  const broken = (): never => {
    throw new Error("No cache");
  };
  assertEquals((await reportOf(trafficWorker({}, { get: broken, set: broken }))).total, 0);
});

Deno.test("any number of right tokens pass at once, and five wrong ones", async () => {
  const worker = trafficWorker({ TRAFFIC_PRIVATE: "1", ADMIN_TOKEN: "right" });
  const statuses = async (token: string, ip: string) => {
    const headers = { authorization: `Bearer ${token}`, "cf-connecting-ip": ip };
    const all = Array.from({ length: 12 }, () => worker.ask("/api/traffic", { headers }));
    const answers = await Promise.all(all);
    return answers.map(({ status }) => status).sort();
  };
  assertEquals(await statuses("right", "192.0.2.1"), Array(12).fill(200));
  assertEquals(await statuses("wrong", "192.0.2.2"), [
    ...Array(5).fill(401),
    ...Array(7).fill(429),
  ]);
  assertEquals(await statuses("right", "192.0.2.2"), Array(12).fill(429));
});

function join(env: Env, email: string): Promise<Response> {
  const clock = { now: () => NOON, sleep: () => Promise.resolve() };
  const worker = createWorker({ clock, edgeCache: null });
  const body = JSON.stringify({ email });
  const request = new Request("https://example.org/api/waitlist", { method: "POST", body });
  return worker.fetch(request, env, { waitUntil: () => {} });
}

Deno.test("a read that throws at once does not keep a signup from being stored", async () => {
  const kv = new MemoryKv({ now: () => NOON });
  const get = (): never => {
    throw new Error("KV GET failed: 500 Internal Server Error");
  };
  const put = kv.put.bind(kv);
  const KV = { get, put } as unknown as MemoryKv;
  assertEquals((await join({ KV }, "someone@example.org")).status, 202);
  assertEquals((await kv.list({ prefix: "waitlist:" })).keys.length, 1);
});

Deno.test("an address with a character that nobody can type is none", async () => {
  const KV = new MemoryKv({ now: () => NOON });
  for (const email of ["a\u0000b@example.org", "\ud800@example.org", "a@exam\u202eple.org"]) {
    assertEquals((await join({ KV }, email)).status, 400);
  }
  assertEquals((await join({ KV }, "grüße@käse.example")).status, 202);
});

Deno.test("two messages without an id are two, whatever the source of chance", async () => {
  const worker = trafficWorker();
  for (const content of ["One?", "Two?"]) {
    await worker.ask("/api/chat/t", { method: "POST", body: JSON.stringify({ content }) });
  }
  const { messages } = await (await worker.ask("/api/chat/t")).json() as { messages: unknown[] };
  assertEquals(messages.length, 4);
});
