import { assert, assertEquals, assertNotMatch } from "@std/assert";
import fc from "fast-check";
import { createClassifier, debugHeader } from "../lib/views/classify.ts";
import { explain } from "../lib/views/explain.ts";
import { applyTemplates, createPathKey, createPathTemplates } from "../lib/views/paths.ts";
import { createReferrerKey } from "../lib/views/referrers.ts";
import { emptyTally, OTHER, tallyVerdict } from "../lib/views/tally.ts";
import { trafficWarning } from "../lib/views/warning.ts";

const SEED = { seed: 20261130, numRuns: 1000 };
const REASONS = new Set([
  "method",
  "status",
  "notFound",
  "notHtml",
  "prefetch",
  "bot",
  "subrequest",
  "asset",
  "api",
  "spam",
  "wellKnown",
]);

/** Text made of what paths are made of, and of what they should not be. */
const piece = fc.oneof(
  fc.constantFrom("/", "//", "index", ".html", ".htm", "%", "%2F", "%25", "%e4%b8%ad", "%zz", "?"),
  fc.constantFrom("#", "..", "page=", "&", "ﬁ", "İ", "ß", "Σ", "e\u0301", "\u202e", "\ud800", "😀"),
  fc.constantFrom(
    " ",
    "%20",
    "%C2%A0",
    "\u3000",
    "%E2%80%8B",
    "\u00ad",
    "\ufe0f",
    "\u200d",
    "\u034f",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.webSegment(),
);
const anyTarget = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join("")}`);
const anyOptions = fc.record({
  queryParams: fc.constantFrom([], ["page"], ["page", "q"]),
  pathTemplates: fc.constantFrom([], ["/a/:id"], ["/:x", "/d/*"]),
  keepCase: fc.boolean(),
  keepUnicode: fc.boolean(),
});
const anyHeader = fc.oneof(
  fc.constantFrom("", "prefetch", "document", "empty", "navigate", "1", "text/html", "curl/8"),
  fc.webUrl(),
  fc.string(),
).map((value) => value.replace(/[^\x20-\x7e]/g, "").trim());
const NAMES = [
  "user-agent",
  "referer",
  "sec-purpose",
  "purpose",
  "x-moz",
  "sec-fetch-dest",
  "sec-fetch-mode",
  "rsc",
  "x-requested-with",
  "content-type",
];
const anyHeaders = fc.dictionary(fc.constantFrom(...NAMES), anyHeader).map((given) =>
  new Headers(given)
);

Deno.test("createPathKey() is idempotent, bounded and never throws for any path and options", () => {
  fc.assert(
    fc.property(anyTarget, anyOptions, (target, options) => {
      const pathKey = createPathKey(options);
      const key = pathKey(target);
      assert(key === OTHER || (key.startsWith("/") && key.length <= 48));
      if (key !== OTHER) assertEquals(pathKey(key), key);
      assertNotMatch(key, /\p{DI}|[^\S ]| {2}| $/u);
    }),
    SEED,
  );
});

Deno.test("createPathKey() ignores what cannot be seen, wherever it is in a path", () => {
  const unseen = fc.constantFrom(
    ..."\u00ad\u034f\u115f\u180b\u200b\u200c\u200d\u2060\u3164\ufe0f\uffa0",
    "\u{e0041}",
  );
  fc.assert(
    fc.property(fc.webSegment(), fc.webSegment(), unseen, fc.boolean(), (a, b, given, keepCase) => {
      const pathKey = createPathKey({ keepCase });
      const key = pathKey(`/${a}${b}`);
      for (const text of [given, encodeURIComponent(given)]) {
        assertEquals(pathKey(`/${a}${text}${b}`), key);
        assertEquals(pathKey(`/${text}${a}${b}`), key);
        assertEquals(pathKey(`/${a}${b}${text}`), key);
        assertEquals(pathKey(`/${a}${b}/index${text}.html`), key);
        assertEquals(pathKey(`/${a}${b}%20${text}/%C2%A0`), key);
      }
    }),
    SEED,
  );
});

Deno.test("createPathKey() ignores case, slashes at the end, index and .html for any path", () => {
  fc.assert(
    fc.property(fc.array(fc.webSegment(), { minLength: 1, maxLength: 4 }), (segments) => {
      const pathKey = createPathKey();
      const path = `/${segments.join("/")}`;
      const key = pathKey(path);
      for (
        const tail of ["/", "//", "/index", "/index.html", "/INDEX.HTM", "?x=1", "#x", "/?a#b"]
      ) {
        assertEquals(pathKey(path + tail), key);
      }
    }),
    SEED,
  );
});

Deno.test("createReferrerKey() is bounded, pure and never throws for any header and address", () => {
  fc.assert(
    fc.property(
      fc.oneof(anyHeader, fc.string({ unit: "binary" }), fc.constant(null)),
      fc.webUrl({ withQueryParameters: true }),
      fc.boolean(),
      (referrer, url, groupReferrers) => {
        const referrerKey = createReferrerKey({ groupReferrers });
        const key = referrerKey(referrer, url);
        assert(key.length <= 48 && /^[a-z\d._-]+$/.test(key));
        assertEquals(referrerKey(referrer, url), key);
      },
    ),
    SEED,
  );
});

Deno.test("createReferrerKey() keeps nothing of a referrer but its host", () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (referrer) => {
      const key = createReferrerKey({ groupReferrers: false })(referrer, "https://site.example/");
      const host = new URL(referrer).hostname.replace(/^www\./, "");
      assert(key === OTHER || key === host);
    }),
    SEED,
  );
});

Deno.test("createClassifier() never throws, and skips for one known reason or counts", () => {
  const classify = createClassifier();
  const tally = emptyTally();
  let made = 0;
  fc.assert(
    fc.property(
      fc.constantFrom("GET", "GET", "GET", "HEAD", "POST", "gEt", ""),
      anyTarget,
      anyHeaders,
      fc.oneof(fc.constantFrom(200, 200, 304, 404), fc.integer()),
      anyHeaders,
      (method, target, headers, status, answered) => {
        const request = { method, url: `https://site.example${target}`, headers };
        const verdict = classify(request, { status, headers: answered });
        assert(verdict.counted || REASONS.has(verdict.reason));
        assertEquals(explain(request, { status, headers: answered }).verdict, verdict);
        new Headers({ "x-scrimp": debugHeader(verdict) });
        tallyVerdict(tally, verdict);
        made += 1;
      },
    ),
    SEED,
  );
  const sum = (map: Map<string, number>) => [...map.values()].reduce((a, b) => a + b, 0);
  assertEquals(sum(tally.paths), tally.total);
  assertEquals(sum(tally.refs), tally.total);
  assertEquals(sum(tally.kinds), tally.total);
  assertEquals(sum(tally.skipped) + tally.total, made);
});

Deno.test("applyTemplates() keeps the sum of any counts", () => {
  const templates = createPathTemplates(["/a/:id", "/__proto__/*"]);
  fc.assert(
    fc.property(fc.dictionary(anyTarget, fc.nat()), (paths) => {
      const sum = (counts: Record<string, number>) =>
        Object.values(counts).reduce((total, count) => total + count, 0);
      const merged = applyTemplates(paths, templates);
      assertEquals(sum(merged), sum(paths));
      assertEquals(applyTemplates(merged, templates), merged);
    }),
    SEED,
  );
});

Deno.test("trafficWarning() never warns of few views, of browsers or of the direct share alone", () => {
  fc.assert(
    fc.property(fc.nat(100_000), fc.nat(100), (total, percent) => {
      const browser = Math.ceil(total * (0.21 + percent / 200));
      const kinds = { browser: Math.min(total, browser), unverified: Math.max(0, total - browser) };
      const day = { total, paths: { "/": total }, refs: { direct: total }, dropped: 0 };
      assertEquals(trafficWarning({ ...day, kinds, skipped: { notFound: total } }), null);
      const pages = { "/": total / 2, "/a": total / 2 };
      const refs = { direct: total * 0.98, internal: total * 0.02 };
      assertEquals(
        trafficWarning({ ...day, paths: pages, refs, kinds: {}, skipped: {} }) !== null &&
          total > 20,
        false,
      );
    }),
    SEED,
  );
});

Deno.test("createClassifier() says the same of a request whatever it was asked before", () => {
  const target = fc.tuple(
    fc.constantFrom(
      "/",
      "/a",
      "/A/",
      "/api/a",
      "/a.css",
      "/.well-known/a",
      "/feed.xml",
      "/%zz",
      "/a#b",
    ),
    fc.constantFrom(
      "",
      "?",
      "?page=1",
      "?page=2",
      "?x=1&page=/a.css",
      "?utm_source=google",
      "#?page=1",
    ),
  ).map((parts) => parts.join(""));
  const asked = fc.record({
    origin: fc.constantFrom(
      "https://site.example",
      "https://other.example",
      "http://site.example:81",
    ),
    target,
    status: fc.constantFrom(200, 200, 304),
    type: fc.constantFrom("text/html", "text/html; charset=utf-8", "", "text/plain", undefined),
    agent: fc.constantFrom(
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      "curl/8",
      "",
    ),
    referer: fc.constantFrom(
      "",
      "https://site.example/x",
      "https://other.example",
      "https://t.co/",
    ),
  });
  const options = fc.record({
    queryParams: fc.constantFrom([], ["page"]),
    apiPaths: fc.constantFrom(["/api/"], ["/a"], []),
  });
  fc.assert(
    fc.property(fc.array(asked, { minLength: 2, maxLength: 40 }), options, (all, rules) => {
      const classify = createClassifier(rules);
      for (const { origin, target, status, type, agent, referer } of all) {
        const headers = new Headers({ "user-agent": agent, referer });
        const request = { method: "GET", url: origin + target, headers };
        const answered = new Headers(type === undefined ? {} : { "content-type": type });
        const response = { status, headers: answered };
        assertEquals(classify(request, response), createClassifier(rules)(request, response));
      }
    }),
    { ...SEED, numRuns: 100 },
  );
});

Deno.test("createClassifier() says the same in a flood of addresses, agents, types and referrers", () => {
  const classify = createClassifier();
  const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  for (let n = 0; n < 2_000; n++) {
    const long = n % 2 === 0 ? "" : "x".repeat(2_000);
    const headers = new Headers({
      "user-agent": `${agent} ${n}`,
      referer: `https://n${n}.example.org/${long}`,
    });
    const request = { method: "GET", url: `https://site.example/N-${n}/?${long}`, headers };
    const response = {
      status: 200,
      headers: new Headers({ "content-type": `text/html; n=${n}` }),
    };
    for (let again = 0; again < 2; again++) {
      assertEquals(classify(request, response), {
        counted: true,
        path: `/n-${n}`,
        referrer: `n${n}.example.org`,
        kind: "unverified",
      });
    }
  }
});
