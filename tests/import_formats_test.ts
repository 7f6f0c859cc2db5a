import { assertEquals, assertThrows } from "@std/assert";
import { readCsv } from "../scripts/_csv.ts";
import { type Days, finishDays, readImport } from "../scripts/_import_formats.ts";
import { fullDay } from "./_report_fixtures.ts";

const SITE = "https://example.org";

function read(...texts: string[]) {
  const days: Days = new Map();
  const files = texts.map((text) => readImport(text, days, SITE).format);
  return { files, days: finishDays(days) };
}

Deno.test("readCsv() reads quotes, commas, line breaks and both line ends", () => {
  const rows = readCsv('\ufeff"a",b\r\n"x, ""y""\nz",1\n\n"",2\r\nlast');
  assertEquals(rows.map((row) => [...row.values()]), [['x, "y"\nz', "1"], ["", "2"], ["last", ""]]);
});

Deno.test("readCsv() of a quote that never ends runs to the end", () => {
  assertEquals(readCsv('a\n"x\ny').map((row) => row.get("a")), ["x\ny"]);
  assertEquals(readCsv(""), []);
});

Deno.test("readImport() reads GoatCounter: views by path and source, bots aside, no events", () => {
  const head =
    "2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,Screen size,Location,FirstVisit,Date";
  const hit = (path: string, event: string, bot: number, referrer: string, date: string) =>
    `${path},"A, title",${event},,Firefox 140,Linux,abc,${bot},${referrer},h,"1,1,1",US,true,${date}`;
  const { files, days } = read([
    head,
    hit("/About/", "false", 0, "www.example.net/a?q=secret", "2026-11-01T23:59:59Z"),
    hit("/about", "false", 0, "Hacker News", "2026-11-01T10:00:00Z"),
    hit("/", "false", 0, "", "2026-11-01T10:00:00Z"),
    hit("/", "false", 0, "example.org/about", "2026-11-02T10:00:00Z"),
    hit("click", "true", 0, "", "2026-11-02T10:00:00Z"),
    hit("/", "false", 150, "", "2026-11-02T10:00:00Z"),
  ].join("\n"));
  assertEquals(files, ["GoatCounter"]);
  assertEquals(days.map(({ date, total }) => [date, total]), [["2026-11-01", 3], [
    "2026-11-02",
    1,
  ]]);
  assertEquals(days[0]?.paths, { "/about": 2, "/": 1 });
  assertEquals(Object.keys(days[0]?.refs ?? {}).length, 3);
  assertEquals(days[0]?.refs["example.net"], 1);
  assertEquals(days[1]?.refs, { internal: 1 });
  assertEquals(days[1]?.skipped, { bot: 1 });
  assertEquals(days[1]?.kinds, { unverified: 1 });
});

Deno.test("readImport() puts the files of a Plausible export together", () => {
  const { files, days } = read(
    '"date","hostname","page","visits","visitors","pageviews"\n"2026-11-01","example.org","/docs/",2,2,5\n"2026-11-01","example.org","/",1,1,2\n',
    '"date","source","referrer","utm_source","utm_medium","utm_campaign","utm_content","utm_term","pageviews","visitors","visits","visit_duration","bounces"\n"2026-11-01","DuckDuckGo","duckduckgo.com","","","","","",4,1,1,19,0\n"2026-11-01","","","","","","","",2,1,1,19,0\n',
    '"date","visitors","pageviews","bounces","visits","visit_duration"\n"2026-11-01",3,8,0,3,70\n"2026-11-02",1,1,1,1,0\n',
  );
  assertEquals(files, ["Plausible pages", "Plausible sources", "Plausible visitors"]);
  assertEquals(days.map(({ total }) => total), [8, 1]);
  assertEquals(days[0]?.paths, { "/docs": 5, "/": 2, other: 1 });
  assertEquals(days[0]?.refs, { duckduckgo: 4, direct: 2, other: 2 });
  assertEquals(days[1]?.paths, { other: 1 });
});

Deno.test("readImport() reads the article's buckets in every wrapping", () => {
  const bucket = { date: "2026-11-01", total: 3, paths: { "/a": 3 }, refs: { direct: 2 } };
  const text = JSON.stringify(bucket);
  const key = "traffic:2026-11-01";
  const expected = { ...read(text).days[0] };
  assertEquals(expected.refs, { direct: 2, other: 1 });
  for (
    const wrapped of [
      JSON.stringify({ [key]: bucket }),
      JSON.stringify({ [key]: text }),
      JSON.stringify([{ key, value: text }]),
      JSON.stringify([{ name: key, value: { ...bucket, date: undefined } }]),
      `${text}\n`,
      JSON.stringify([bucket]),
    ]
  ) {
    assertEquals(read(wrapped).days, [expected], wrapped);
  }
});

Deno.test("readImport() of an export changes nothing", () => {
  const days = ["2026-11-01", "2026-11-02"].map((date) => {
    const { total, paths, refs, kinds, skipped, dropped } = fullDay(date, 100);
    return { v: 1 as const, date, total, paths, refs, kinds, skipped, dropped };
  });
  assertEquals(read(days.map((day) => `${JSON.stringify(day)}\n`).join("")).days, days);
});

Deno.test("finishDays() keeps 30 pages, the most viewed ones", () => {
  const paths = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`/${i}`, i + 1]));
  const [day] = read(JSON.stringify({ date: "2026-11-01", total: 1275, paths, refs: {} })).days;
  assertEquals(Object.keys(day?.paths ?? {}).length, 31);
  assertEquals(day?.paths.other, 20 * 21 / 2);
  assertEquals(day?.refs, { other: 1275 });
});

Deno.test("readImport() says so when it cannot tell what a file is", () => {
  for (const text of ["", "hello", "a,b\n1,2", "<html>"]) {
    assertThrows(() => read(text), Error, "Cannot tell what this is");
  }
  assertEquals(read('{"x":1}').days, []);
  assertEquals(read('{"traffic:2026-11-01":"{broken"}').days, []);
});

Deno.test("readImport() passes over numbers and days that are none", () => {
  const { days } = read(
    "date,page,pageviews\n2026-11-01,/a,-5\nyesterday,/a,5\n2026-11-01,/b,x\n2026-11-01,__proto__,2\n",
  );
  assertEquals(days.map(({ total }) => total), [2]);
});
