import { assertEquals } from "@std/assert";
import { BROWSER, mapCache, SITE, type TrafficWorker, trafficWorker } from "./_traffic_worker.ts";
import { busyRange } from "./_report_fixtures.ts";
import type { DayReport, RangeReport } from "../lib/views/types.ts";

const TOKEN = "s3cret";

function send(worker: TrafficWorker, days: readonly unknown[], token = TOKEN): Promise<Response> {
  return worker.ask("/api/import", {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: days.map((day) => `${typeof day === "string" ? day : JSON.stringify(day)}\n`).join(""),
  });
}

async function actions(response: Response): Promise<string[]> {
  const { days } = await response.json() as { days: { action: string }[] };
  return days.map(({ action }) => action);
}

const day = {
  v: 1,
  date: "2026-10-05",
  total: 3,
  paths: { "/a": 3 },
  refs: { direct: 2, other: 1 },
};

Deno.test("POST /api/import keeps the fuller of two days and changes nothing when repeated", async () => {
  const worker = trafficWorker({ ADMIN_TOKEN: TOKEN });
  assertEquals(await actions(await send(worker, [day])), ["write"]);
  assertEquals(await actions(await send(worker, [day])), ["keep"]);
  const less = { ...day, total: 1, paths: { "/a": 1 }, refs: { direct: 1 } };
  assertEquals(await actions(await send(worker, [less])), ["keep"]);
  const report: DayReport = await (await worker.ask("/api/traffic?date=2026-10-05")).json();
  assertEquals([report.total, report.paths, report.refs], [3, day.paths, day.refs]);
  assertEquals(worker.operations.put, 1);
});

Deno.test("POST /api/import shows at once", async () => {
  const worker = trafficWorker({ ADMIN_TOKEN: TOKEN }, mapCache());
  const total = async () => {
    const report: RangeReport = await (await worker.ask("/api/traffic?days=90")).json();
    return report.total;
  };
  assertEquals(await total(), 0);
  await worker.settle();
  await send(worker, [day]);
  assertEquals(await total(), 3);
});

Deno.test("POST /api/import of an export restores it elsewhere and leaves the source as it is", async () => {
  const source = trafficWorker({ ADMIN_TOKEN: TOKEN });
  await send(source, busyRange(25).days.map((each) => ({ ...each, v: 1 })));
  const exported = await (await source.ask("/api/export")).text();
  const copy = trafficWorker({ ADMIN_TOKEN: TOKEN });
  await send(copy, [exported]);
  assertEquals(await (await copy.ask("/api/export")).text(), exported);
  assertEquals(new Set(await actions(await send(source, [exported]))), new Set(["keep"]));
});

Deno.test("POST /api/import leaves alone what is being counted here", async () => {
  const worker = trafficWorker({ ADMIN_TOKEN: TOKEN, ASSETS: SITE });
  await worker.ask("/about", { headers: BROWSER });
  await worker.settle();
  const today = { ...day, date: "2026-11-30" };
  assertEquals(await actions(await send(worker, [today])), ["keep"]);
  const report: DayReport = await (await worker.ask("/api/traffic")).json();
  assertEquals(report.total, 1);
});

Deno.test("POST /api/import wants the token, even where the numbers are public", async () => {
  assertEquals((await send(trafficWorker({ ADMIN_TOKEN: TOKEN }), [day], "wrong")).status, 401);
  assertEquals((await send(trafficWorker(), [day])).status, 503);
});

Deno.test("POST /api/import takes nothing that does not add up", async () => {
  const worker = trafficWorker({ ADMIN_TOKEN: TOKEN });
  for (
    const bad of [
      "{",
      "null",
      "1",
      { ...day, date: "2026-02-30" },
      { ...day, date: "2020-01-01" },
      { ...day, date: "2026-12-24" },
      { ...day, date: 5 },
      { ...day, total: 4 },
      { ...day, total: -1 },
      { ...day, paths: { "/a": 1.5, "/b": 1.5 } },
      { ...day, refs: {} },
      { ...day, refs: null },
    ]
  ) {
    const response = await send(worker, [day, bad]);
    assertEquals([JSON.stringify(bad), response.status], [JSON.stringify(bad), 400]);
    const { error } = await response.json() as { error: { message: string } };
    assertEquals(error.message.startsWith("Cannot use line 2"), true);
  }
  assertEquals((await send(worker, Array(26).fill(day))).status, 400);
  assertEquals(worker.operations.put, 0);
});
