import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { DayReport, RangeReport } from "../lib/views/types.ts";
import { busyRange, fullRange } from "./_report_fixtures.ts";
import { BROWSER, mapCache, SITE, type TrafficWorker, trafficWorker } from "./_traffic_worker.ts";

async function store({ kv }: TrafficWorker, days: readonly DayReport[]): Promise<void> {
  for (const { date, total, paths, refs, kinds, skipped } of days) {
    await kv.put(`traffic:${date}`, JSON.stringify({ date, total, paths, refs, kinds, skipped }));
  }
}

Deno.test("GET /traffic shows what GET /api/traffic says", async () => {
  const worker = trafficWorker();
  await store(worker, busyRange(60).days);
  const report: RangeReport = await (await worker.ask("/api/traffic?days=30")).json();
  const page = await (await worker.ask("/traffic?days=30")).text();
  assertEquals(
    report.total,
    busyRange(60).days.slice(30).reduce((sum, { total }) => sum + total, 0),
  );
  assertStringIncludes(page, `<strong>${report.total.toLocaleString("en-US")}</strong>`);
});

Deno.test("GET /traffic sends a strict policy, noindex and an ETag that is honored", async () => {
  const worker = trafficWorker();
  const response = await worker.ask("/traffic");
  const policy = response.headers.get("content-security-policy") ?? "";
  assertMatch(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; script-src 'sha256-/);
  assertEquals(response.headers.get("x-robots-tag"), "noindex, nofollow");
  const tag = response.headers.get("etag") ?? "";
  const again = await worker.ask("/traffic", { headers: { "if-none-match": `W/"x", W/${tag}` } });
  assertEquals([again.status, await again.text()], [304, ""]);
});

Deno.test("GET /traffic refuses what makes no sense, as a page", async () => {
  const worker = trafficWorker();
  for (
    const [query, status] of [
      ["days=0", 400],
      ["days=91", 400],
      ["days=x", 400],
      ["date=2026-02-30", 400],
      ["date=2026-11-01&days=3", 400],
      ["date=2020-01-01", 200],
      ["date=2030-01-01", 200],
      ["date=2026-11-30", 200],
      ["days=45", 200],
    ] as const
  ) {
    const response = await worker.ask(`/traffic?${query}`);
    assertEquals([query, response.status], [query, status]);
    assertStringIncludes(response.headers.get("content-type") ?? "", "text/html");
    await response.text();
  }
});

Deno.test("500 refreshes in a minute cost at most 2 lists", async () => {
  for (const path of ["/traffic", "/traffic?days=90", "/api/traffic?days=7", "/badge.svg"]) {
    for (const cache of [null, mapCache()]) {
      const worker = trafficWorker({ ASSETS: SITE }, cache);
      for (let i = 0; i < 3; i++) await worker.ask(`/page-${i}`, { headers: BROWSER });
      await worker.settle();
      worker.operations.list = 0;
      for (let i = 0; i < 500; i++) {
        await worker.ask(path);
        worker.now += 60_000 / 500;
      }
      assertEquals(worker.operations.list <= 2, true, `${path}: ${worker.operations.list} lists`);
    }
  }
});

Deno.test("asking for days that are not kept spends no lists", async () => {
  const worker = trafficWorker();
  for (let year = 1900; year < 2100; year++) {
    await worker.ask(`/api/traffic?date=${year}-01-01`);
    await worker.ask(`/traffic?date=${year}-12-31`);
  }
  assertEquals(worker.operations.list, 1);
});

Deno.test("500 readers at once cost one list", async () => {
  const worker = trafficWorker();
  await Promise.all(Array.from({ length: 500 }, () => worker.ask("/api/traffic?days=7")));
  assertEquals(worker.operations.list, 1);
});

Deno.test("isolates of a data center share a reading", async () => {
  const cache = mapCache();
  const [first, second] = [trafficWorker({}, cache), trafficWorker({}, cache)];
  await store(first, busyRange(7).days);
  const report = await (await first.ask("/api/traffic?days=7")).json();
  await first.settle();
  assertEquals(await (await second.ask("/api/traffic?days=7")).json(), report);
  assertEquals(second.operations.list, 0);
});

Deno.test("a day of refreshing every minute leaves most lists to the counter", async () => {
  const worker = trafficWorker();
  worker.now -= 43_200_000;
  for (let minute = 0; minute < 1439; minute++) {
    await worker.ask("/traffic");
    worker.now += 60_000;
  }
  assertEquals(worker.operations.list < 300, true, `${worker.operations.list} lists`);
});

Deno.test("what is counted shows at once, waiting or stored", async () => {
  const worker = trafficWorker({ ASSETS: SITE });
  for (let views = 1; views <= 3; views++) {
    await worker.ask("/about", { headers: BROWSER });
    const now: DayReport = await (await worker.ask("/api/traffic")).json();
    assertEquals(now.total + now.pending, views);
    await worker.settle();
    const later: DayReport = await (await worker.ask("/api/traffic")).json();
    assertEquals(later.total + later.pending, views);
  }
});

Deno.test("a store that fails leaves the last report standing", async () => {
  const worker = trafficWorker();
  await store(worker, busyRange(7).days);
  const { total }: RangeReport = await (await worker.ask("/api/traffic?days=7")).json();
  worker.kv.list = () => Promise.reject(new Error("KV list() limit exceeded for the day."));
  worker.now += 3_600_000;
  const answer = await worker.ask("/api/traffic?days=7");
  assertEquals((await answer.json() as RangeReport).total, total);
});

Deno.test("GET /traffic without a store that answers is a page all the same", async () => {
  const worker = trafficWorker();
  worker.kv.list = () => Promise.reject(new Error("KV GET failed: 503 Service Unavailable"));
  const response = await worker.ask("/traffic");
  assertEquals(response.status, 503);
  assertStringIncludes(response.headers.get("content-type") ?? "", "text/html");
});

Deno.test("GET /api/traffic answers errors that name the accepted form", async () => {
  const worker = trafficWorker();
  for (const query of ["days=0", "days=1.5", "date=tomorrow", "date=", "days="]) {
    const response = await worker.ask(`/api/traffic?${query}`);
    assertEquals([query, response.status], [query, 400]);
    assertMatch(
      (await response.json() as { error: { message: string } }).error.message,
      /expected (an integer from 1 to 90|a day as)/,
    );
  }
});

Deno.test("GET /api/traffic lets other origins read it only when told", async () => {
  const header = "access-control-allow-origin";
  assertEquals((await trafficWorker().ask("/api/traffic")).headers.get(header), null);
  const open = trafficWorker({ TRAFFIC_CORS: "*" });
  assertEquals((await open.ask("/api/traffic")).headers.get(header), "*");
});

Deno.test("GET /api/traffic.csv has a line a number and no formulas", async () => {
  const worker = trafficWorker();
  const paths = { "=1+1": 2, "/a,b": 1, '"q"': 1 };
  await store(worker, [{ ...busyRange(1).days[0] as DayReport, total: 4, paths, refs: {} }]);
  const response = await worker.ask("/api/traffic.csv?date=2026-11-30");
  const lines = (await response.text()).split("\r\n");
  assertEquals(lines.slice(0, 2), ["date,kind,name,count", '2026-11-30,total,"",4']);
  assertEquals(lines.slice(4, 7), [
    `2026-11-30,paths,"'=1+1",2`,
    '2026-11-30,paths,"/a,b",1',
    '2026-11-30,paths,"""q""",1',
  ]);
  assertMatch(response.headers.get("content-type") ?? "", /^text\/csv/);
});

Deno.test("GET /badge.svg and /count.js count all, or one page", async () => {
  const worker = trafficWorker();
  await store(worker, busyRange(3).days);
  const { total, days } = busyRange(3);
  const about = days.reduce((sum, { paths }) => sum + (paths["/about"] ?? 0), 0);
  const number = (count: number) => count.toLocaleString("en-US");
  const badge = await worker.ask("/badge.svg");
  assertEquals(badge.headers.get("content-type"), "image/svg+xml");
  assertStringIncludes(await badge.text(), `>${number(total)}</text>`);
  const one = await (await worker.ask("/badge.svg?path=/about&days=3")).text();
  assertStringIncludes(one, `aria-label="${number(about)} views"`);
  assertEquals(
    await (await worker.ask("/count.js?path=/about")).text(),
    `document.currentScript.replaceWith("${number(about)}")`,
  );
  for (const path of ["__proto__", "constructor", "/none", "<svg onload=alert(1)>"]) {
    const text = await (await worker.ask(`/count.js?path=${encodeURIComponent(path)}`)).text();
    assertEquals(text, 'document.currentScript.replaceWith("0")');
  }
  assertEquals((await worker.ask("/badge.svg?date=2026-11-30")).status, 400);
});

Deno.test("GET /api/export has all days with numbers, one a line", async () => {
  const worker = trafficWorker();
  await store(worker, fullRange(90).days.slice(10));
  const lines = (await (await worker.ask("/api/export")).text()).trimEnd().split("\n");
  const days = lines.map((line) => JSON.parse(line));
  assertEquals(days.length, 80);
  assertEquals(days[0].date, "2026-09-12");
  assertEquals(days.every(({ v }) => v === 1), true);
});
