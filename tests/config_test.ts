import { assertEquals, assertThrows } from "@std/assert";
import { parseConfig, parseVars } from "../scripts/_config.ts";
import { localWorker } from "../scripts/_local_worker.ts";
import { makePlan, problemsOf } from "../scripts/deploy/plan.ts";
import ours from "../wrangler.toml" with { type: "text" };

const MINIMAL = `name = "a"\nmain = "dist/worker.js"\ncompatibility_date = "2026-07-01"\n`;
const OPTIONS = { code: "export default {}", port: 0, stateFolder: "/nowhere" };

Deno.test("parseConfig() keeps what it does not know", () => {
  const config = parseConfig(`${MINIMAL}no_bundle = true\n[[kv_namespaces]]\nbinding = "KV"\n`);
  assertEquals(config.kv_namespaces?.map(({ binding }) => binding), ["KV"]);
  assertEquals(Object.keys(config).includes("no_bundle"), true);
});

Deno.test("parseConfig() names what is wrong", () => {
  assertThrows(() => parseConfig("name = "), TypeError, "Cannot read wrangler.toml");
  for (const line of MINIMAL.trim().split("\n")) {
    assertThrows(() => parseConfig(MINIMAL.replace(line, "")), TypeError, "it needs name, main");
  }
});

Deno.test("parseVars() reads one variable a line", () => {
  const text = '# a comment\nA=1\n B = two words \nC="quoted"\r\nD=\n\nnot a variable\n';
  assertEquals(parseVars(text.replaceAll("\r", "")), {
    A: "1",
    B: "two words",
    C: "quoted",
    D: "",
  });
});

Deno.test("localWorker() binds every kind that wrangler.toml can name", () => {
  const options = localWorker(
    parseConfig(`${MINIMAL}
[vars]
TIME_ZONE = "UTC"
[[kv_namespaces]]
binding = "KV"
[[d1_databases]]
binding = "DB"
[[durable_objects.bindings]]
name = "VIEWS"
class_name = "ViewsObject"
[[migrations]]
tag = "1"
new_sqlite_classes = ["ViewsObject"]
[[analytics_engine_datasets]]
binding = "ANALYTICS"
[[ratelimits]]
name = "RATE_LIMIT"
namespace_id = "1"
simple = { limit = 20, period = 60 }
`),
    { ...OPTIONS, vars: { ADMIN_TOKEN: "secret" } },
  ) as Record<string, unknown>;
  assertEquals(options.host, "127.0.0.1");
  assertEquals(options.bindings, { TIME_ZONE: "UTC", ADMIN_TOKEN: "secret" });
  assertEquals(options.kvNamespaces, { KV: "KV" });
  assertEquals(options.d1Databases, { DB: "DB" });
  assertEquals(options.durableObjects, {
    VIEWS: { className: "ViewsObject", useSQLite: true },
  });
  assertEquals(options.analyticsEngineDatasets, { ANALYTICS: { dataset: "ANALYTICS" } });
  assertEquals(
    JSON.stringify(options.ratelimits),
    '{"RATE_LIMIT":{"simple":{"limit":20,"period":60}}}',
  );
  assertEquals(Object.hasOwn(options, "assets"), false);
});

Deno.test("localWorker() sends pages to the Worker and the rest to the assets", () => {
  const routerOf = (first: string) => {
    const text = `${MINIMAL}[assets]\ndirectory = "site"\nbinding = "ASSETS"\n${first}`;
    const options = localWorker(parseConfig(text), OPTIONS) as Record<string, unknown>;
    return (options.assets as Record<string, unknown>).routerConfig;
  };
  assertEquals(routerOf('run_worker_first = ["/*", "!/images/*"]'), {
    has_user_worker: true,
    static_routing: { user_worker: ["/*"], asset_worker: ["/images/*"] },
  });
  assertEquals(routerOf('run_worker_first = ["/api/*"]'), {
    has_user_worker: true,
    static_routing: { user_worker: ["/api/*"] },
  });
  assertEquals(routerOf("run_worker_first = true"), {
    has_user_worker: true,
    invoke_user_worker_ahead_of_assets: true,
  });
  assertEquals(routerOf(""), {
    has_user_worker: true,
    invoke_user_worker_ahead_of_assets: false,
  });
});

Deno.test("wrangler.toml is all right as it is, and with everything switched on", () => {
  const all = ours.replaceAll(/^# (?=\[|\w+ = )/gm, "");
  for (const text of [ours, all]) {
    assertEquals(problemsOf(makePlan(parseConfig(text)), [], "2026-07-01"), []);
  }
  const { vars = {}, d1_databases, ratelimits, secrets } = parseConfig(all);
  assertEquals([d1_databases?.length, ratelimits?.length, secrets?.required?.length], [1, 1, 1]);
  assertEquals(Object.values(vars).every((value) => typeof value === "string"), true);
});
