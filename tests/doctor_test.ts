import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { advise, routingOf } from "../scripts/_worker_first.ts";
import { findPages } from "../scripts/_pages.ts";
import { examine } from "../scripts/doctor.ts";

const SITE = "https://site.example/";

/** A site: path to body, or to a response. */
function fakeSite(answers: Record<string, string | Response>) {
  const asked: string[] = [];
  const fetch = (url: string, init: RequestInit = {}) => {
    const { pathname, search } = new URL(url);
    asked.push(pathname + search);
    const answer = answers[pathname + search] ?? new Response("", { status: 404 });
    const response = typeof answer === "string" ? new Response(answer) : answer.clone();
    const ahead = new Headers(init.headers).has("sec-purpose");
    if (ahead && response.headers.get("x-scrimp") === MARK["x-scrimp"] && pathname !== "/hit") {
      response.headers.set("x-scrimp", "skipped; reason=prefetch");
    }
    return Promise.resolve(response);
  };
  return { asked, fetch };
}

function page(headers: Record<string, string> = {}, status = 200): Response {
  const type = { "content-type": "text/html; charset=utf-8" };
  return new Response(status === 301 ? null : "<h1>Page</h1>", {
    status,
    headers: { ...type, ...headers },
  });
}

const MARK = { "x-scrimp": "skipped; reason=bot" };

Deno.test("findPages() reads the sitemap that robots.txt names, and the ones that it names", async () => {
  const { fetch } = fakeSite({
    "/robots.txt": "User-agent: *\nSitemap: https://site.example/maps.xml\n",
    "/maps.xml": "<sitemapindex><sitemap><loc>/map-1.xml</loc></sitemap></sitemapindex>",
    "/map-1.xml": `<urlset><url><loc> https://site.example/a?x=1&amp;y=2 </loc></url>
      <url><loc><![CDATA[https://site.example/b]]></loc></url>
      <url><loc>https://elsewhere.example/</loc></url>
      <url><loc>https://site.example/c.png</loc></url></urlset>`,
  });
  assertEquals(await findPages(fetch, SITE, { pagesMax: 10 }), {
    urls: ["https://site.example/", "https://site.example/a?x=1&y=2", "https://site.example/b"],
    source: "the sitemap",
  });
});

Deno.test("findPages() follows the front page's links where there is no sitemap", async () => {
  const { fetch } = fakeSite({
    "/": `<a href="/a#x">A</a> <a class=b href='b'>B</a> <a href=/c>C</a> <a href="#d">D</a>
      <a href="mailto:x@site.example">M</a> <a href="/style.css">S</a> <a href="/a">A</a>`,
  });
  const { urls, source } = await findPages(fetch, SITE, { pagesMax: 3 });
  assertEquals(source, "the links on the front page");
  assertEquals(urls, [SITE, "https://site.example/a", "https://site.example/b"]);
});

Deno.test("findPages() takes a list", async () => {
  const { fetch, asked } = fakeSite({});
  const { urls } = await findPages(fetch, SITE, {
    list: "/a\n\n https://site.example/b \n",
    pagesMax: 9,
  });
  assertEquals(urls, [SITE, "https://site.example/a", "https://site.example/b"]);
  assertEquals(asked, []);
});

Deno.test("examine() finds what is counted, missed, cached, skipped, broken and leads on", async () => {
  const { fetch } = fakeSite({
    "/": page(MARK),
    "/missed": page(),
    "/hit": page(MARK),
    "/aged": page({ ...MARK, age: "7" }),
    "/feed": new Response("{}", { headers: { "content-type": "application/json" } }),
    "/json": page({ "x-scrimp": "skipped; reason=notHtml" }),
    "/old": page({ location: "/new" }, 301),
    "/traffic": page(),
    "/api/traffic": page(),
  });
  const list = "/missed\n/hit\n/aged\n/feed\n/json\n/old\n/gone\n/api/traffic";
  const { pages, advice } = await examine(SITE, { fetch, list, workerFirst: ["/*", "!/missed"] });
  assertEquals(pages.map(({ path, finding }) => `${path} ${finding}`), [
    "/ counted",
    "/missed missed",
    "/hit cached",
    "/aged cached",
    "/feed skipped",
    "/json skipped",
    "/old redirect",
    "/gone broken",
    "/api/traffic skipped",
  ]);
  assertStringIncludes(pages[1]?.because ?? "", '"!/missed" keeps it from the Worker');
  assertStringIncludes(advice.join("\n"), '# "!/missed" is gone');
  assertEquals(advice.length, 3);
});

Deno.test("examine() has no advice for a site that is well", async () => {
  const { fetch } = fakeSite({ "/": page(MARK), "/a": page(MARK) });
  const { pages, advice } = await examine(SITE, { fetch, list: "/a", workerFirst: ["/*"] });
  assertEquals(pages.map(({ finding }) => finding), ["counted", "counted"]);
  assertEquals(advice, []);
});

Deno.test("examine() asks to turn the mark on where there is none", async () => {
  const { fetch } = fakeSite({ "/": page(), "/a": page() });
  const { pages, advice } = await examine(SITE, { fetch, list: "/a" });
  assertEquals(pages.map(({ finding }) => finding), ["unmarked", "unmarked"]);
  assertStringIncludes(advice[0] ?? "", 'SCRIMP_DEBUG = "1"');
  assertStringIncludes(advice[1] ?? "", 'run_worker_first = ["/*"]');
});

Deno.test("examine() says to deploy where wrangler.toml is right and the site is not", async () => {
  const { fetch } = fakeSite({ "/": page(MARK), "/a": page() });
  const { advice } = await examine(SITE, { fetch, list: "/a", workerFirst: ["/*"] });
  assertEquals(advice.length, 1);
  assertStringIncludes(advice[0] ?? "", "deno task deploy");
});

Deno.test("examine() says that it is a bot, and follows nothing", async () => {
  const inits: RequestInit[] = [];
  await examine(SITE, {
    list: "",
    fetch: (_url, init = {}) => {
      inits.push(init);
      return Promise.resolve(page(MARK));
    },
  });
  assertEquals(inits.length, 2);
  assertEquals(inits[0]?.redirect, "manual");
  assert(/bot/.test(new Headers(inits[0]?.headers).get("user-agent") ?? ""));
});

Deno.test("routingOf() lets a rule with an exclamation mark win", () => {
  const rules = ["/*", "!/images/*", "!/a.b"];
  assertEquals(routingOf(rules, "/x/y"), { worker: true, rule: "/*" });
  assertEquals(routingOf(rules, "/images/x"), { worker: false, rule: "!/images/*" });
  assertEquals(routingOf(rules, "/a.b"), { worker: false, rule: "!/a.b" });
  assertEquals(routingOf(rules, "/axb").worker, true);
  assertEquals(routingOf(["/blog/*"], "/about"), { worker: false });
  assertEquals(routingOf(true, "/about").worker, true);
  assertEquals(routingOf(undefined, "/about"), { worker: false });
});

Deno.test("advise() adds what is missing, takes out what is in the way, and leaves the rest", () => {
  assertEquals(advise(["/*"], ["/a"]), "");
  assertEquals(
    advise(["/blog/*", "!/images/*", "!/old/*"], ["/about", "/old/x", "/blog/y"]),
    `run_worker_first = [
  # "!/old/*" is gone: it kept pages from the Worker
  "/about",   # new
  "/old/x",   # new
  "/blog/*",
  "!/images/*",
]`,
  );
});
