// The Worker as it is deployed, in workerd, with stores that fail. Nothing here may show to a visitor.
import { assert, assertEquals } from "@std/assert";
import { bundle, bundleWorker, stop as stopBundler } from "../scripts/_bundle.ts";
import { BROWSER } from "./_traffic_worker.ts";
import { serveWorkerd } from "./_workerd.ts";

const ASSETS = `export default { fetch(request) {
  const { pathname } = new URL(request.url);
  const missing = pathname.startsWith("/missing");
  return new Response("<!doctype html><h1>" + pathname + "</h1>", {
    status: missing ? 404 : 200,
    headers: { "content-type": "text/html; charset=utf-8", etag: '"1"' },
  });
} };`;
const THROWING = `export default { async fetch(request) {
  await request.arrayBuffer();
  return new Response("broken", { status: 500 });
} };`;
const LIMITED = `export default { async fetch(request) {
  await request.arrayBuffer();
  return new Response("no", { status: 429 });
} };`;
const HANGING = `export default { async fetch() {
  await scheduler.wait(600_000);
  return new Response("late");
} };`;

const STORES = ["fine", "missing", "throwing", "limited", "hanging"] as const;

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${
  STORES.map((store) =>
    `(name = "site-${store}", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-07-01",
      bindings = [
        (name = "ASSETS", service = "assets"),
        ${store === "missing" ? "" : `(name = "KV", kvNamespace = "kv-${store}"),`}
      ],
    ))`
  ).join(",\n    ")
},
    ${
  ["assets", "kv-fine", "kv-throwing", "kv-limited", "kv-hanging"].map((name) =>
    `(name = "${name}", worker = (
      modules = [(name = "${name}.js", esModule = embed "${name}.js")],
      compatibilityDate = "2026-07-01",
    ))`
  ).join(",\n    ")
},
  ],
  sockets = [
    ${
  STORES.map((store) => `(name = "${store}", http = (), service = "site-${store}")`).join(",\n    ")
},
  ],
);
`;

/** An answer as a visitor sees it. */
async function look(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, {
    redirect: "manual",
    headers: BROWSER,
    signal: AbortSignal.timeout(20_000),
    ...init,
  });
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return [response.status, headers, await response.text()];
}

/** Today's total, once it is `wanted`, or what it is when a minute is over. */
async function totalOf(origin: string, wanted: number): Promise<number> {
  const until = performance.now() + 60_000;
  for (;;) {
    const response = await fetch(
      `${origin}api/traffic?date=${new Date().toISOString().slice(0, 10)}`,
    );
    const { total } = await response.json() as { total: number };
    if (total >= wanted || performance.now() > until) return total;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** How many errors the Worker has noted, once there are some, or when a minute is over. */
async function errorsOf(origin: string): Promise<number> {
  const until = performance.now() + 60_000;
  for (;;) {
    const response = await fetch(`${origin}api/health`);
    const { errors } = await response.json() as { errors: { count: number } };
    if (errors.count > 0 || performance.now() > until) return errors.count;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const PATHS = ["", "about", "missing", "%E0%A4%A", "%zz", "a?q=%", "__proto__", "x".repeat(2_000)];

Deno.test("the deployed Worker serves the same, whatever becomes of its store", async (t) => {
  const { code } = await bundleWorker();
  const backend = (await bundle("tests/_backend_worker.ts")).code;
  await stopBundler();
  const workerd = await serveWorkerd(
    {
      "worker.js": code,
      "assets.js": ASSETS,
      "kv-fine.js": backend,
      "kv-throwing.js": THROWING,
      "kv-limited.js": LIMITED,
      "kv-hanging.js": HANGING,
    },
    CONFIG,
    STORES,
  );
  let log = "";
  try {
    const fine = workerd.urls.get("fine") ?? "";
    const pages = new Map<string, unknown>();
    for (const path of PATHS) pages.set(path, await look(fine + path));
    for (const store of STORES) {
      await t.step(`${store}: same bytes, status and headers`, async () => {
        const url = workerd.urls.get(store) ?? "";
        for (let round = 0; round < 3; round++) {
          for (const [path, page] of pages) assertEquals(await look(url + path), page, path);
        }
        const head = await fetch(url, { method: "HEAD", headers: BROWSER });
        assertEquals([head.status, await head.text()], [200, ""]);
        const health = await (await fetch(`${url}api/health`)).json() as { ok: boolean };
        assertEquals(health.ok, store !== "missing");
      });
    }
    for (const store of ["missing", "throwing", "limited"]) {
      await t.step(`${store}: a signup is told that it was not stored, a limit aside`, async () => {
        const response = await fetch(`${workerd.urls.get(store)}api/waitlist`, {
          method: "POST",
          body: '{"email":"someone@example.org"}',
          signal: AbortSignal.timeout(20_000),
        });
        await response.body?.cancel();
        assertEquals(response.status, store === "limited" ? 202 : 503);
      });
    }
    await t.step("hanging: whoever asks is told so within seconds, and no more", async () => {
      const url = workerd.urls.get("hanging") ?? "";
      const init = { method: "POST", body: '{"email":"someone@example.org"}' };
      const answers = await Promise.all(
        [["api/traffic", {}], ["traffic", {}], ["api/waitlist", init]].map(([path, init]) =>
          look(`${url}${path}`, init as RequestInit)
        ),
      );
      for (const answer of answers) assertEquals((answer as unknown[])[0], 503);
      assert(!/not stored/.test(JSON.stringify(answers)));
    });
    await t.step("fine: every view is in the report within a minute", async () => {
      const views = 4 * (PATHS.length - 1);
      assertEquals(await totalOf(fine, views), views);
    });
    await t.step(
      "what failed after the answers is noted, and pages are served as before",
      async () => {
        for (const store of ["throwing", "limited"]) {
          assert(await errorsOf(workerd.urls.get(store) ?? "") > 0, store);
        }
        for (const [store, url] of workerd.urls) {
          assertEquals(await look(`${url}about`), pages.get("about"), store);
        }
      },
    );
  } finally {
    log = await workerd.stop();
  }
  assertEquals(log.split("\n").filter((line) => /uncaught|unhandled/i.test(line)), []);
});
