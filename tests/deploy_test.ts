import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { parseConfig, type WranglerConfig } from "../scripts/_config.ts";
import { DeployError, explain } from "../scripts/deploy/failures.ts";
import { generateConfig, makePlan, problemsOf } from "../scripts/deploy/plan.ts";
import { deployedVersion, missingSecrets, settle } from "../scripts/deploy/resources.ts";
import { smokeCheck } from "../scripts/deploy/smoke.ts";
import { jsonIn, redact, type Wrangler } from "../scripts/deploy/wrangler.ts";

const TODAY = "2026-08-01";

/** A configuration that is all right, with more lines. */
function configOf(more = ""): WranglerConfig {
  return parseConfig(`name = "site"
main = "dist/worker.js"
compatibility_date = "2026-07-01"
kv_namespaces = [{ binding = "KV" }]
assets = { binding = "ASSETS", directory = "scripts/site" }
${more}`);
}

/** A wrangler that answers from a list: what a command starts with, and what it prints. */
function fakeWrangler(
  answers: readonly (readonly [start: string, answer: unknown])[],
): Wrangler & { readonly commands: string[] } {
  const commands: string[] = [];
  function attempt(args: readonly string[]) {
    commands.push(args.join(" "));
    const [, answer] = answers.find(([start]) => args.join(" ").startsWith(start)) ?? [];
    const text = answer instanceof Error ? `✘ [ERROR] ${answer.message}` : JSON.stringify(answer);
    const code = answer instanceof Error ? 1 : 0;
    return Promise.resolve({ code, output: text, stdout: code === 0 ? text : "" });
  }
  return {
    commands,
    attempt,
    async run(doing, args) {
      const { code, output, stdout } = await attempt(args);
      if (code !== 0) throw explain(doing, output);
      return stdout;
    },
    results: () => Promise.resolve([]),
  };
}

Deno.test("makePlan() names resources after the Worker, as wrangler does", () => {
  const plan = makePlan(configOf('d1_databases = [{ binding = "MY_DB" }]'));
  assertEquals(plan.name, "site");
  assertEquals(plan.resources, [
    { kind: "KV namespace", binding: "KV", title: "site-kv" },
    { kind: "D1 database", binding: "MY_DB", title: "site-my-db" },
  ]);
  assertEquals(makePlan(configOf(), { name: "other" }).resources[0]?.title, "other-kv");
});

Deno.test("makePlan() looks for nothing whose id is given", () => {
  const config = configOf('d1_databases = [{ binding = "DB", database_id = "1" }]');
  assertEquals(makePlan({ ...config, kv_namespaces: [{ binding: "KV", id: "1" }] }).resources, []);
});

Deno.test("makePlan() gives an environment a Worker and resources of its own", () => {
  const config = configOf("[env.staging]\n[env.live]\nname = 'live-site'");
  const staging = makePlan(config, { env: "staging" });
  assertEquals(staging.name, "site-staging");
  assertEquals(staging.resources[0]?.title, "site-staging-kv");
  assertEquals(staging.config.assets?.directory, "scripts/site");
  assertEquals(Object.hasOwn(staging.config, "env"), false);
  assertEquals(makePlan(config, { env: "live" }).resources[0]?.title, "live-site-kv");
  assertThrows(() => makePlan(config, { env: "stagin" }), RangeError, "[env.stagin]");
});

Deno.test("problemsOf() accepts a configuration that is all right", () => {
  const objects = `
durable_objects = { bindings = [{ name = "VIEWS", class_name = "Views" }] }
migrations = [{ tag = "1", new_sqlite_classes = ["Views"] }]`;
  assertEquals(problemsOf(makePlan(configOf(objects)), ["default", "Views"], TODAY), []);
});

Deno.test("problemsOf() says what is wrong and what is wanted", () => {
  const config = configOf();
  const cases: readonly (readonly [Partial<WranglerConfig>, string])[] = [
    [{ name: "Site_1" }, 'The name "Site_1" does not work'],
    [{ compatibility_date: "soon" }, "the form YYYY-MM-DD is wanted"],
    [{ compatibility_date: "2026-13-01" }, "the form YYYY-MM-DD is wanted"],
    [{ compatibility_date: "2026-08-02" }, "lies in the future: use 2026-08-01"],
    [{ kv_namespaces: [] }, "There is no binding named KV"],
    [{ assets: { directory: "scripts/site" } }, "There is no binding named ASSETS"],
    [{ vars: { KV: "1" } }, "The binding KV is there twice"],
    [{ triggers: { crons: Array(6).fill("* * * * *") } }, "6 crons are too many"],
  ];
  for (const [change, problem] of cases) {
    const [first = "", ...rest] = problemsOf(makePlan({ ...config, ...change }), [], TODAY);
    assertStringIncludes(first, problem);
    assertEquals(rest, []);
  }
  const objects = 'durable_objects = { bindings = [{ name = "VIEWS", class_name = "Views" }] }';
  assertEquals(problemsOf(makePlan(configOf(objects)), ["default"], TODAY), [
    "VIEWS has no migration: name Views in a new_sqlite_classes",
    "VIEWS needs the class Views, which the Worker does not export",
  ]);
});

Deno.test("generateConfig() fills in ids and paths, and sends the module as it is", () => {
  const plan = makePlan(configOf('d1_databases = [{ binding = "DB" }]'));
  const config = generateConfig(plan, new Map([["KV", "k"], ["DB", "d"]]), "/repository");
  assertEquals(JSON.parse(JSON.stringify(config)), {
    name: "site",
    main: "worker.js",
    no_bundle: true,
    find_additional_modules: false,
    compatibility_date: "2026-07-01",
    kv_namespaces: [{ binding: "KV", id: "k" }],
    d1_databases: [{ binding: "DB", database_id: "d" }],
    assets: { binding: "ASSETS", directory: "/repository/scripts/site" },
  });
});

Deno.test("explain() says what to do", () => {
  const cases: readonly (readonly [output: string, advice: string])[] = [
    ["In a non-interactive environment, it's necessary to set a", "Set CLOUDFLARE_API_TOKEN"],
    ["Authentication error [code: 10000]", "Check CLOUDFLARE_API_TOKEN"],
    ["More than one account available", "Set CLOUDFLARE_ACCOUNT_ID"],
    ["You need to register a workers.dev subdomain", "Register a workers.dev subdomain"],
    ["Uncaught ReferenceError: x is not defined [code: 10021]", "deno task dev"],
    ["script too large [code: 10027]", "deno task build"],
    ["Too many requests: 429", "In a few minutes"],
    ["reached the maximum [code: 10047]", "allowance is used up"],
    ["fetch failed", "Run the same command again"],
    ["502 Bad Gateway", "Run the same command again"],
    ["something new", "Mend what is said above"],
  ];
  for (const [output, advice] of cases) {
    const error = explain("do it", `noise\n✘ [ERROR] ${output}\n\n🪵  Logs were written to "x"\n`);
    assertEquals(error.message, `Cannot do it: ${output}`);
    assertStringIncludes(error.advice, advice);
  }
  assertEquals(explain("do it", "").message, "Cannot do it: wrangler gave no reason");
});

Deno.test("redact() hides what the environment calls secret", () => {
  const environment = {
    CLOUDFLARE_API_TOKEN: "abcdef123",
    LONGER_SECRET: "abcdef123456",
    SHORT_TOKEN: "on",
    HOME: "/home/someone",
  };
  assertEquals(
    redact("abcdef123456 abcdef123 on /home/someone, Bearer x.y-z", environment),
    "*** *** on /home/someone, Bearer ***",
  );
});

Deno.test("jsonIn() finds the value between other lines", () => {
  assertEquals(jsonIn('A warning\n[\n  { "a": 1 }\n]\nMore\n'), [{ a: 1 }]);
  assertEquals(jsonIn('{"a":1}'), { a: 1 });
  assertEquals(jsonIn("nothing"), undefined);
  assertEquals(jsonIn("[broken\n"), undefined);
  assertEquals(jsonIn(""), undefined);
});

const PLAN = makePlan(configOf());
const [KV = { kind: "KV namespace", binding: "KV", title: "" }] = PLAN.resources;
const ID = "0123456789abcdef0123456789abcdef";

Deno.test("settle() finds by name and creates nothing", async () => {
  const wrangler = fakeWrangler([["kv namespace list", [{ id: ID, title: "site-kv" }]]]);
  assertEquals(await settle(wrangler, PLAN, KV, "v1"), { id: ID, how: "found" });
  assertEquals(wrangler.commands, ["kv namespace list"]);
});

Deno.test("settle() keeps what the deployed Worker is bound to", async () => {
  const bindings = [{ type: "kv_namespace", name: "KV", namespace_id: ID }];
  const wrangler = fakeWrangler([
    ["kv namespace list", [{ id: "x", title: "renamed" }]],
    ["versions view v1 --name site", { resources: { bindings } }],
  ]);
  assertEquals(await settle(wrangler, PLAN, KV, "v1"), {
    id: ID,
    how: "found on the deployed Worker",
  });
});

Deno.test("settle() creates for a new Worker", async () => {
  const wrangler = fakeWrangler([["kv namespace list", []], ["kv namespace create", { id: ID }]]);
  assertEquals(await settle(wrangler, PLAN, KV, undefined), { id: ID, how: "created" });
});

Deno.test("settle() uses what another run created meanwhile", async () => {
  const lists = [[], [{ id: ID, title: "site-kv" }]];
  const taken = new Error("a namespace with this title exists [code: 10014]");
  const wrangler = fakeWrangler([["kv namespace create site-kv", taken]]);
  const racing: Wrangler = {
    ...wrangler,
    run: () => Promise.resolve(JSON.stringify(lists.shift())),
  };
  assertEquals(await settle(racing, PLAN, KV, undefined), { id: ID, how: "found" });
});

Deno.test("settle() creates nothing when it cannot tell what is there", async () => {
  const down = fakeWrangler([["kv namespace list", new Error("fetch failed")]]);
  await assertRejects(() => settle(down, PLAN, KV, "v1"), DeployError, "fetch failed");
  const blind = fakeWrangler([
    ["kv namespace list", []],
    ["versions view", new Error("502 Bad Gateway")],
  ]);
  await assertRejects(() => settle(blind, PLAN, KV, "v1"), DeployError, "502");
  const odd = fakeWrangler([["kv namespace list", "what"]]);
  await assertRejects(() => settle(odd, PLAN, KV, undefined), DeployError, "Cannot read");
  for (const { commands } of [down, blind, odd]) {
    assertEquals(commands.filter((command) => command.includes("create")), []);
  }
});

Deno.test("deployedVersion() tells a new Worker from one that cannot be seen", async () => {
  const versions = { versions: [{ version_id: "v1" }] };
  assertEquals(await deployedVersion(fakeWrangler([["deployments", versions]]), "site"), "v1");
  const none = fakeWrangler([["deployments", new Error("script_not_found [code: 10007]")]]);
  assertEquals(await deployedVersion(none, "site"), undefined);
  const down = fakeWrangler([["deployments", new Error("fetch failed")]]);
  await assertRejects(() => deployedVersion(down, "site"), DeployError, "fetch failed");
});

Deno.test("missingSecrets() names what is wanted and not set", async () => {
  const plan = makePlan(configOf('secrets = { required = ["A", "B"] }'));
  const wrangler = fakeWrangler([["secret list", [{ name: "B" }]]]);
  assertEquals(await missingSecrets(wrangler, plan, { exists: true }), ["A"]);
  assertEquals(await missingSecrets(wrangler, plan, { exists: false }), ["A", "B"]);
  assertEquals(await missingSecrets(fakeWrangler([]), PLAN, { exists: true }), []);
});

Deno.test("smokeCheck() waits for a new address", async () => {
  let looks = 0;
  const waits: number[] = [];
  const problem = await smokeCheck("https://site.example", {
    fetch: (url) => {
      if (looks++ === 0) return Promise.reject(new TypeError("unknown host"));
      return Promise.resolve(
        url.endsWith("/api/traffic")
          ? Response.json({ total: 3 })
          : new Response("", { headers: { "content-type": "text/html; charset=utf-8" } }),
      );
    },
    sleep: (ms) => Promise.resolve(void waits.push(ms)),
  });
  assertEquals(problem, undefined);
  assertEquals(waits, [5_000]);
});

Deno.test("smokeCheck() says what is still wrong at the end", async () => {
  const problem = await smokeCheck("https://site.example", {
    fetch: () => Promise.resolve(new Response("error", { status: 500 })),
    sleep: () => Promise.resolve(),
    looks: 2,
  });
  assertEquals(problem, "https://site.example/ answered 500, and not what was expected");
});
