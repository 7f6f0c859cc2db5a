import { assert, assertEquals } from "@std/assert";
import {
  bundleWithWrangler,
  type ConsumersFolder,
  installConsumers,
  stored,
  visit,
  visitInWorkerd,
} from "./_consumers.ts";
import { startPages } from "./_pages_dev.ts";

/** What an app needs of Cloudflare's types; each line fails to compile when ours stop fitting them. */
const CLOUDFLARE_TYPES = `
import hono from "./hono/main.ts";
import itty from "./itty/main.ts";
import { onRequest } from "./pages/functions/_middleware.ts";
import worker from "./worker/main.ts";
import { withPageViews } from "@scrimp/kv/with-page-views";

interface Env {
  VIEWS: KVNamespace;
}
export const workers: ExportedHandler<Env>[] = [worker, itty, hono];
export const middleware: PagesFunction<Env> = onRequest;
export const wrapped: ExportedHandler<Env> = {
  fetch: withPageViews(
    (_request, env: Env, ctx: ExecutionContext) => {
      ctx.waitUntil(env.VIEWS.get("a"));
      return new Response();
    },
    { kv: (env) => env.VIEWS },
  ),
};
// @ts-expect-error: there is no such binding
withPageViews((_request, _env: Env) => new Response(), { kv: (env) => env.OTHER });
`;

let consumers: ConsumersFolder;
Deno.test.beforeAll(async () => {
  consumers = await installConsumers();
});
Deno.test.afterAll(async () => await consumers[Symbol.asyncDispose]());

function appTest(name: string, fn: () => Promise<void>): void {
  // Miniflare and wrangler keep sockets of their own.
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

/** One line of the table of consumers. */
function note(consumer: string, size: string): void {
  console.log(`${consumer.padEnd(24)} ${size}`);
}

/** All files that a package's exports name. */
function filesOf(exports: Record<string, Record<string, string>>): string[] {
  return Object.values(exports).flatMap((conditions) => Object.values(conditions));
}

Deno.test("the npm tarball has all it names, and depends on isbot alone", async () => {
  const installed = `${consumers.path}/node_modules/@scrimp/kv`;
  const { exports, dependencies } = JSON.parse(
    await Deno.readTextFile(`${installed}/package.json`),
  );
  assertEquals(Object.keys(dependencies), ["isbot"]);
  for (const file of filesOf(exports)) {
    assert((await Deno.stat(`${installed}/${file}`)).isFile, file);
  }
  note("npm tarball", `${consumers.tarballBytes} bytes`);
});

Deno.test("a Node project counts a view, its types checked by tsc", async () => {
  await consumers.run(["npx", "tsc"], "node");
  assertEquals(JSON.parse(await consumers.run(["node", "node/built/main.js"])), {
    value: "1",
    other: "2",
    limited: [true, false],
    views: { total: 2, paths: { "/": 1, "/about": 1 } },
  });
});

Deno.test("tsc finds the apps right with Cloudflare's types", async () => {
  await Deno.writeTextFile(`${consumers.path}/cloudflare.ts`, CLOUDFLARE_TYPES);
  await consumers.run(["npx", "tsc", "--project", "tsconfig.json"]);
});

appTest("a plain Worker, bundled by wrangler, counts", async () => {
  const { script, gzip } = await bundleWithWrangler(consumers, "worker");
  note("plain Worker", `${gzip} gzip`);
  const paths = ["/", "/about", "/about", "/gone", "/api/time", "/logo.svg"];
  const { statuses, report } = await visitInWorkerd(script, paths, 4);
  assertEquals(statuses, [200, 200, 200, 410, 200, 200]);
  assertEquals(report.paths, { "/": 1, "/about": 2 });
  assertEquals([report.total, report.skipped], [3, { notFound: 1 }]);
});

appTest("a Hono app with our middleware counts", async () => {
  const { script, gzip } = await bundleWithWrangler(consumers, "hono");
  note("Hono app", `${gzip} gzip`);
  const paths = ["/", "/post/1", "/post/2", "/broken", "/missing", "/api/time"];
  const { statuses, report } = await visitInWorkerd(script, paths, 5);
  assertEquals(statuses, [200, 200, 200, 500, 404, 200]);
  assertEquals(report.paths, { "/": 1, "/post/1": 1, "/post/2": 1 });
  assertEquals([report.total, report.skipped], [3, { status: 1, notFound: 1 }]);
});

appTest("an itty-router app counts", async () => {
  const { script, gzip } = await bundleWithWrangler(consumers, "itty");
  note("itty-router app", `${gzip} gzip`);
  const { statuses, report } = await visitInWorkerd(script, [
    "/",
    "/post/1",
    "/post/1",
    "/missing",
    "/api/time",
  ], 4);
  assertEquals(statuses, [200, 200, 200, 404, 200]);
  assertEquals(report.paths, { "/": 1, "/post/1": 2 });
  assertEquals([report.total, report.skipped], [3, { notFound: 1 }]);
});

appTest("Pages Functions under wrangler pages dev count files and functions alike", async () => {
  await using pages = await startPages(`${consumers.path}/pages`, `${consumers.path}/tools`);
  const paths = ["/", "/hello", "/style.css", "/missing", "/api/shards"];
  const statuses = await visit(pages.url, paths);
  assertEquals(statuses, [200, 200, 200, 404, 200]);
  const report = await stored(pages.copyKv, 3);
  assertEquals(report.paths, { "/": 1, "/hello": 1 });
  assertEquals([report.total, report.skipped], [2, { notFound: 1 }]);
});
