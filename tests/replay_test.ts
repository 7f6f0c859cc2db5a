import { assertEquals } from "@std/assert";
import { replay } from "../scripts/replay.ts";
import { parseLogLine } from "../scripts/_log_lines.ts";

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36";

function line(asked: string, status = 200, referrer = "-", agent = CHROME): string {
  return `203.0.113.7 - ann [10/Nov/2026:23:59:59 +0000] "${asked}" ${status} 512 "${referrer}" "${agent}"`;
}

/** A log as a stream of chunks that cut lines, and characters, in two. */
function stream(text: string, chunkBytes = 1000): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, at += chunkBytes));
    },
  });
}

Deno.test("parseLogLine() reads the combined format with its escapes", () => {
  const entry = parseLogLine(
    `2001:db8::1 - - [01/Mar/2026:01:30:00 +0200] "GET /caf\\xC3\\xA9?q=\\"x\\" HTTP/2.0" 304 - "https://example.org/\\x22" "A \\"B\\" C" "extra"`,
    "site.example",
  );
  assertEquals(entry?.ms, Date.UTC(2026, 1, 28, 23, 30));
  assertEquals(entry?.request.method, "GET");
  assertEquals(entry?.request.url, `https://site.example/caf\xc3\xa9?q="x"`);
  assertEquals(entry?.request.headers.get("user-agent"), `A "B" C`);
  assertEquals(entry?.request.headers.get("referer"), `https://example.org/"`);
  assertEquals(entry?.response.status, 304);
});

Deno.test("parseLogLine() reads Logpush's and tail's JSON", () => {
  const logpush = parseLogLine(
    JSON.stringify({
      ClientRequestMethod: "GET",
      ClientRequestHost: "site.example",
      ClientRequestURI: "/about?x=1",
      ClientRequestReferer: "https://t.co/",
      ClientRequestUserAgent: CHROME,
      RequestHeaders: { "Sec-Fetch-Dest": "document" },
      EdgeResponseStatus: 200,
      EdgeResponseContentType: "text/html",
      EdgeStartTimestamp: 1_794_268_800_000_000_000,
    }),
    "x",
  );
  assertEquals(logpush?.request.url, "https://site.example/about?x=1");
  assertEquals(logpush?.ms, 1_794_268_800_000);
  assertEquals(logpush?.request.headers.get("sec-fetch-dest"), "document");
  assertEquals(logpush?.response.headers.get("content-type"), "text/html");
  const tail = parseLogLine(
    JSON.stringify({
      outcome: "ok",
      eventTimestamp: 1_794_268_800_000,
      event: {
        request: { method: "GET", url: "https://site.example/a.json", headers: { referer: "" } },
        response: { status: 200 },
      },
    }),
    "x",
  );
  assertEquals(tail?.ms, 1_794_268_800_000);
  assertEquals(tail?.request.headers.has("referer"), false);
  assertEquals(tail?.response.headers.get("content-type"), "application/octet-stream");
});

Deno.test("parseLogLine() gives undefined for what is no request", () => {
  for (
    const text of [
      "",
      "nonsense",
      "{",
      "{}",
      "[]",
      "null",
      `{"event":{"request":{}}}`,
      `{"event":{"request":{"method":"GET","url":"/no"},"response":{"status":200}},"eventTimestamp":1}`,
      `{"ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeResponseStatus":200}`,
      `{"ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeResponseStatus":200,"EdgeStartTimestamp":"x"}`,
      `203.0.113.7 - - [10/Nov/2026] "GET / HTTP/1.1" 200 1 "-" "-"`,
    ]
  ) {
    assertEquals(parseLogLine(text, "x"), undefined, text);
  }
});

Deno.test("replay() counts a log by day, reason, page and source", async () => {
  const log = [
    line("GET /About/?fbclid=x HTTP/1.1", 200, "https://www.google.com/"),
    line("GET /about.html HTTP/1.1", 304),
    line("GET / HTTP/1.1", 200, "https://site.example/about"),
    line("HEAD / HTTP/1.1"),
    line("GET /.env HTTP/1.1", 404),
    line("GET /style.css HTTP/1.1"),
    line("GET /feed.xml HTTP/1.1"),
    line("GET /about HTTP/1.1", 200, "-", "curl/8.4.0"),
    line("GET /about HTTP/1.1", 200, "-", "-"),
    line("\\x16\\x03\\x01", 400),
    "nonsense",
    "",
  ].join("\r\n");
  const result = await replay(stream(log, 7), { host: "site.example" });
  const { total, paths, refs, kinds, skipped } = result.all;
  assertEquals([result.lines, result.unreadable, total], [11, 1, 3]);
  assertEquals(paths, { "/about": 2, "/": 1 });
  assertEquals(refs, { google: 1, direct: 1, internal: 1 });
  assertEquals(kinds, { unverified: 3 });
  assertEquals(skipped, { method: 2, notFound: 1, asset: 1, notHtml: 1, bot: 2 });
  assertEquals(result.days.map(({ date, total }) => [date, total]), [["2026-11-10", 3]]);
});

Deno.test("replay() counts days of the site's zone", async () => {
  const result = await replay(stream(line("GET / HTTP/1.1")), { timeZone: "Europe/Berlin" });
  assertEquals(result.days.map(({ date }) => date), ["2026-11-11"]);
});

Deno.test("replay() keeps what it holds bounded, however many keys and however long a line", async () => {
  const lines = Array.from({ length: 5_000 }, (_, n) => line(`GET /p${n} HTTP/1.1`));
  lines.push("x".repeat(200_000), line("GET /last HTTP/1.1"));
  const told: number[] = [];
  const result = await replay(stream(lines.join("\n"), 65_536), {
    onProgress: (count) => told.push(count),
  });
  assertEquals([result.lines, result.unreadable, result.all.total], [5_002, 1, 5_001]);
  assertEquals(Object.keys(result.all.paths).length <= 1_001, true);
  assertEquals(Object.keys(result.days[0]?.paths ?? {}).length, 31);
  assertEquals(told, [5_002]);
});

Deno.test("replay() warns of a day of scanners", async () => {
  const log = Array.from({ length: 24 }, (_, n) => line(`GET /${n % 3} HTTP/1.1`)).join("\n");
  const { days } = await replay(stream(log));
  assertEquals(days.map(({ warning }) => warning?.code), ["automated"]);
});
