import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { explain } from "../lib/views/explain.ts";
import type { SkipReason } from "../lib/views/types.ts";
import { explainCommand } from "../scripts/explain.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const PAGE = "https://site.example/about";

function ask(headers: Record<string, string> = {}, init: RequestInit = {}, url = PAGE): Request {
  return new Request(url, { ...init, headers: { "user-agent": FIREFOX, ...headers } });
}

function html(status = 200, type = "text/html"): Response {
  return new Response(null, { status, headers: { "content-type": type } });
}

const SKIPPED: readonly (readonly [SkipReason, Request, Response])[] = [
  ["method", ask({}, { method: "POST" }), html()],
  ["notFound", ask(), html(404)],
  ["status", ask(), html(503)],
  ["wellKnown", ask({}, {}, "https://site.example/.well-known/x"), html()],
  ["notHtml", ask(), html(200, "image/png")],
  ["api", ask({}, {}, "https://site.example/api/x"), html()],
  ["asset", ask({}, {}, "https://site.example/x.png"), html()],
  ["prefetch", ask({ "sec-purpose": "prefetch" }), html()],
  ["subrequest", ask({ "sec-fetch-dest": "iframe" }), html()],
  ["bot", ask({ "user-agent": "curl/8.4.0" }), html()],
];

for (const [reason, request, response] of SKIPPED) {
  Deno.test(`explain() says why a request is skipped as ${reason}`, () => {
    const { verdict, because, header, assumed } = explain(request, response);
    assertEquals(verdict, { counted: false, reason });
    assertEquals(header, `skipped; reason=${reason}`);
    assertMatch(because, /^[A-Z].*\.$/);
    assertEquals(assumed, false);
  });
}

Deno.test("explain() says what a view is counted as", () => {
  assertEquals(explain(ask({ referer: "https://t.co/x", "sec-fetch-dest": "document" }), html()), {
    verdict: { counted: true, path: "/about", referrer: "twitter", kind: "browser" },
    because: "A page view of /about, source twitter, by a browser that says that it navigates.",
    header: "counted; path=/about",
    assumed: false,
  });
});

Deno.test("explain() takes a page for the response where there is none, and the site's rules", () => {
  const explained = explain(ask({ referer: "https://spam.example/" }), undefined, {
    spamReferrers: ["spam.example"],
  });
  assertEquals(explained.verdict, { counted: false, reason: "spam" });
  assertEquals(explained.assumed, true);
});

Deno.test("explain() leaves the response's body alone and gives the same twice", async () => {
  const response = new Response("<h1>About</h1>", { headers: { "content-type": "text/html" } });
  const request = ask();
  assertEquals(explain(request, response), explain(request, response));
  assertEquals(await response.text(), "<h1>About</h1>");
});

Deno.test("explain() writes a header that any path fits in", () => {
  const { header } = explain(ask({}, {}, "https://site.example/caf%C3%A9 x"), html());
  assertEquals(header, "counted; path=/caf%C3%A9%20x");
});

Deno.test("explainCommand() takes a browser's navigation, and headers in its place", () => {
  assertStringIncludes(
    explainCommand(["https://site.example/About/"], {}),
    "counted; path=/about\n",
  );
  for (
    const [args, wanted] of [
      [["--header", "User-Agent: curl/8"], "skipped; reason=bot"],
      [["--header", "user-agent:"], "skipped; reason=bot"],
      [["--bare"], "skipped; reason=bot"],
      [["--header", "Sec-Purpose: prefetch"], "skipped; reason=prefetch"],
      [["--status", "404"], "skipped; reason=notFound"],
      [["--type", "image/png"], "skipped; reason=notHtml"],
      [["--type", ""], "skipped; reason=notHtml"],
      [["--method", "head"], "skipped; reason=method"],
    ] as const
  ) {
    assertStringIncludes(explainCommand([PAGE, ...args], {}), wanted);
  }
});

Deno.test("explainCommand() prints JSON, help, and refuses what is no request", () => {
  const { verdict } = JSON.parse(explainCommand([PAGE, "--json"], { keepCase: true }));
  assertEquals(verdict.path, "/about");
  assertStringIncludes(explainCommand(["--help"], {}), "Usage: deno task explain URL");
  for (
    const args of [[], ["about"], ["ftp://x/"], [PAGE, PAGE], [PAGE, "--status", "9"], [
      PAGE,
      "--header",
      "no",
    ], [PAGE, "--nonsense"]]
  ) {
    assertThrows(() => explainCommand(args, {}), TypeError);
  }
});
