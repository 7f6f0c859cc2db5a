import { assertEquals, assertNotMatch, assertStringIncludes } from "@std/assert";
import { reportText, sparkline, textBar } from "../scripts/_report_text.ts";
import { busyRange, dates, dayReport, fullDay, rangeOf, WARNING } from "./_report_fixtures.ts";

Deno.test("sparkline() and textBar() draw to scale", () => {
  assertEquals(sparkline([0, 7, 14]), "▁▅█");
  assertEquals(sparkline([0, 0]), "▁▁");
  assertEquals([textBar(1, 2, 4), textBar(1, 16, 4), textBar(0, 0, 4)], ["██", "▎", ""]);
});

Deno.test("reportText() shows days, lists, what the numbers are worth, and no color unless asked", () => {
  const report = busyRange(14);
  const text = reportText(report);
  assertStringIncludes(
    text,
    `${
      report.total.toLocaleString("en-US")
    } views from Tue 17 Nov to Mon 30 Nov so far, days in UTC`,
  );
  for (
    const part of ["Pages\n  /", "Sources\n", "google", "Not counted", "so far", "14 data centers"]
  ) {
    assertStringIncludes(text, part);
  }
  assertNotMatch(text, /\p{Cc}(?<!\n)/u);
  assertStringIncludes(reportText(report, { color: true }), "\x1b[1m");
});

Deno.test("reportText() gives the warning with its reasons", () => {
  const text = reportText(rangeOf([fullDay("2026-11-30", 50, { warning: WARNING })]));
  for (const part of [WARNING.message, ...WARNING.reasons, WARNING.innocent]) {
    assertStringIncludes(text, part);
  }
});

Deno.test("reportText() lets no stored key steer the terminal", () => {
  const key = "/\x1b]0;title\x07\x1b[31m\u202e\n".repeat(9);
  const text = reportText(rangeOf([fullDay("2026-11-30", 5, { paths: { [key]: 5 } })]));
  assertNotMatch(text, /\p{Cc}(?<!\n)|\u202e/u);
});

Deno.test("reportText() has a report of nothing", () => {
  const text = reportText(rangeOf(dates(3).map((date) => dayReport(date))));
  assertStringIncludes(text, "0 views from Sat 28 Nov");
  assertNotMatch(text, /NaN|undefined/);
  assertEquals(reportText({ days: [], total: 0, timeZone: "UTC", damaged: 0 }), "No days.");
});
