import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { formatAge, formatCount, formatDay, formatShare } from "../lib/worker/page/format.ts";
import { escapeHtml, markup } from "../lib/worker/page/html.ts";
import { rank, type TrafficView } from "../lib/worker/page/model.ts";
import { renderPage } from "../lib/worker/page/page.ts";
import { busyRange, dates, dayReport, fullRange, NOON, WARNING } from "./_report_fixtures.ts";

function viewOf(parts: Partial<TrafficView>): TrafficView {
  return {
    days: busyRange(7).days,
    before: [],
    period: { days: 7 },
    filter: undefined,
    site: "example.org",
    readAt: NOON,
    writesMax: 400,
    signedIn: false,
    ...parts,
  };
}

/** The page without its style, tags turned into spaces. */
function textOf(page: string): string {
  return page.replace(/<style>.*?<\/style>/s, "").replace(/<title>.*?<\/title>/g, "")
    .replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
}

Deno.test("markup escapes every value but markup", () => {
  const bad = `<b a="1" c='2'>&`;
  assertEquals(
    markup`<p title="${bad}">${[markup`<i>${bad}</i>`, 1, undefined, false]}</p>`.text,
    '<p title="&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;"><i>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;</i>1</p>',
  );
});

Deno.test("markup takes no object for markup that only looks like it", () => {
  const forged = { text: "<script>" } as unknown as string;
  assertNotMatch(markup`${forged}`.text, /<script/);
});

Deno.test("escapeHtml() shows controls and marks of direction", () => {
  assertEquals(escapeHtml("a\u0000b\u202ec\u200c"), "a\ufffdb\ufffdc\u200c");
});

Deno.test("format functions write what a person reads", () => {
  assertEquals(
    [0, 999, 1000, 1234567].map((count) => formatCount(count)),
    ["0", "999", "1,000", "1,234,567"],
  );
  assertEquals(
    [[1, 3], [1, 1000], [0, 5], [1, 0]].map(([a = 0, b = 0]) => formatShare(a, b)),
    ["33 %", "< 1 %", "0 %", ""],
  );
  assertEquals(formatDay("2026-11-09"), "Mon 9 Nov");
  assertEquals([1, 89, 720, 7200, 180_000].map((seconds) => formatAge(seconds)), [
    "1 second",
    "89 seconds",
    "12 minutes",
    "2 hours",
    "2 days",
  ]);
});

Deno.test("rank() sums by key, other last, ties by key", () => {
  const days = [
    dayReport("2026-11-29", { paths: { "/b": 1, "/a": 1, other: 9, "/zero": 0 } }),
    dayReport("2026-11-30", { paths: { "__proto__x": 2, "/b": 4 } }),
  ];
  assertEquals(rank(days, (day) => day.paths), [["/b", 5], ["__proto__x", 2], ["/a", 1], [
    "other",
    9,
  ]]);
});

Deno.test("renderPage() shows the sums of the report", () => {
  const { days, total } = busyRange(30);
  const text = textOf(renderPage(viewOf({ days, period: { days: 30 } })));
  assertStringIncludes(text, `${formatCount(total)} views so far`);
  assertStringIncludes(text, "Days in UTC");
  assertStringIncludes(text, "Data of 14 data centers , the oldest 12 minutes old");
  assertStringIncludes(text, "137 of 400 writes a day");
  assertStringIncludes(text, "Not stored yet 7");
});

Deno.test("renderPage() compares full days with as many before and leaves today out", () => {
  const all = dates(14).map((date, i) => dayReport(date, { total: i < 7 ? 10 : 20 }));
  const page = renderPage(viewOf({ days: all.slice(7), before: all.slice(0, 7) }));
  assertStringIncludes(
    textOf(page),
    "▲ 100 % more without today: 120, after 60 on the same 6 days",
  );
});

Deno.test("renderPage() does not divide by a period without views", () => {
  const all = dates(14).map((date, i) => dayReport(date, { total: i < 7 ? 0 : 20 }));
  const page = renderPage(viewOf({ days: all.slice(7), before: all.slice(0, 7) }));
  assertNotMatch(page, /NaN|Infinity/);
});

Deno.test("renderPage() has words for a site without views", () => {
  const page = renderPage(viewOf({ days: dates(7).map((date) => dayReport(date)) }));
  assertStringIncludes(page, "No views. Open a page");
  assertNotMatch(page, /NaN|Infinity|undefined|<path/);
});

Deno.test("renderPage() says what was damaged and lost", () => {
  const days = busyRange(7).days.map((day, i) =>
    i === 2 ? { ...day, damaged: 2, dropped: 3 } : day
  );
  const text = textOf(renderPage(viewOf({ days })));
  assertStringIncludes(text, "2 stored values could not be read");
  assertStringIncludes(text, "Lost 3");
  assertStringIncludes(text, "unreadable values, 3 lost");
});

Deno.test("renderPage() gives a warning with its reasons and the innocent explanation", () => {
  const days = busyRange(7).days.map((day, i) => i === 3 ? { ...day, warning: WARNING } : day);
  const text = textOf(renderPage(viewOf({ days })));
  for (const sentence of [WARNING.message, ...WARNING.reasons, WARNING.innocent]) {
    assertStringIncludes(text, sentence.replaceAll("'", "&#39;"));
  }
});

Deno.test("renderPage() narrowed to a page says why sources are not known", () => {
  const page = renderPage(viewOf({ filter: { by: "path", key: "/pricing" } }));
  assertStringIncludes(textOf(page), "no visit can be pieced together");
  assertStringIncludes(page, 'href="?days=30&amp;path=%2Fpricing"');
});

Deno.test("renderPage() of a day links to its neighbors within what is kept only", () => {
  const links = (date: string) =>
    [
      ...renderPage(viewOf({ days: [dayReport(date)], period: { date } })).matchAll(
        /href="\?date=([\d-]+)"/g,
      ),
    ].map(([, day]) => day);
  assertEquals(links("2026-11-20"), ["2026-11-19", "2026-11-21"]);
  assertEquals(links("2026-11-30"), ["2026-11-29"]);
  assertEquals(links("2026-09-01"), ["2026-09-02"]);
});

Deno.test("renderPage() never lets a stored value become markup", () => {
  const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
  const day = dayReport("2026-11-30", {
    total: 3,
    paths: { [evil]: 3 },
    refs: { [evil]: 3 },
    kinds: { [evil]: 3 },
    skipped: { [evil]: 3 },
    note: evil,
    timeZone: evil,
    warning: { code: evil, message: evil, reasons: [evil], innocent: evil },
  });
  const page = renderPage(
    viewOf({ days: [day, day], filter: { by: "path", key: evil }, site: evil }),
  );
  assertNotMatch(
    page.replace(/<script>setInterval.*?<\/script>/s, ""),
    /<script|<img|onerror=[^&]*>/,
  );
});

Deno.test("renderPage() of 90 full days weighs at most 60 KB", () => {
  const { days } = fullRange(90);
  const page = renderPage(viewOf({ days, period: { days: 90 } }));
  assertEquals(new TextEncoder().encode(page).length <= 60_000, true);
});

Deno.test("renderPage() asks nothing of other hosts and has nothing inline that a policy forbids", () => {
  const page = renderPage(viewOf({ signedIn: true }));
  assertNotMatch(page, /\b(src|href)="(https?:)?\/\//);
  assertNotMatch(page, /\sstyle=|\son\w+=/);
  assertMatch(page, /<meta name="robots" content="noindex,nofollow">/);
});
