import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type CloudflareStub, openCloudflare, type Recorded } from "./_cloudflare_stub.ts";

const ROOT = new URL("../", import.meta.url);

/** What sends wrangler to the stub. */
function environment(stub: CloudflareStub): Record<string, string> {
  return {
    CLOUDFLARE_API_BASE_URL: `${stub.origin}/client/v4`,
    CLOUDFLARE_ACCOUNT_ID: stub.accountId,
    CLOUDFLARE_API_TOKEN: stub.token,
    NO_COLOR: "1",
  };
}

/** Runs `deno task deploy` against the stub; gives the exit code and everything it printed. */
async function deploy(
  stub: CloudflareStub,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "scripts/deploy.ts", "--url", stub.origin, ...args],
    cwd: ROOT,
    env: { ...environment(stub), ...env },
  }).output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(!output.includes(stub.token), "The token was printed");
  return { code, output };
}

/** Requests as `METHOD path`, reads left out. */
function changes(requests: readonly Recorded[]): string[] {
  return requests.filter(({ method }) => method !== "GET").map((r) => `${r.method} ${r.path}`);
}

/** The form that a version was uploaded with. */
async function uploaded({ body, headers }: Recorded): Promise<[metadata: unknown, code: string]> {
  const form = await new Response(body, {
    headers: { "content-type": headers.get("content-type") ?? "" },
  }).formData();
  const metadata = JSON.parse(String(form.get("metadata")));
  const module = form.get(metadata.main_module);
  return [metadata, module instanceof File ? await module.text() : ""];
}

Deno.test("deploy creates once, uploads the built bytes, and can be repeated", async () => {
  await using stub = openCloudflare();
  const tracked = await Deno.readTextFile(new URL("wrangler.toml", ROOT));
  const first = await deploy(stub);
  assertEquals(first.code, 0, first.output);
  assertStringIncludes(first.output, 'Created    KV namespace "scrimp-kv"');
  assertEquals(changes(stub.requests), [
    "POST storage/kv/namespaces",
    "POST workers/scripts/scrimp/assets-upload-session",
    "POST workers/assets/upload",
    "PUT workers/scripts/scrimp",
    "POST workers/scripts/scrimp/subdomain",
    "PUT workers/scripts/scrimp/schedules",
  ]);
  const put = stub.requests.find(({ path, method }) =>
    method === "PUT" && path === "workers/scripts/scrimp"
  );
  assert(put);
  const [metadata, code] = await uploaded(put);
  assertEquals(code, await Deno.readTextFile(new URL("dist/worker.js", ROOT)));
  const { bindings } = metadata as { bindings: unknown[] };
  assertEquals(bindings, [
    { name: "KV", type: "kv_namespace", namespace_id: stub.namespaces[0]?.id },
    { name: "ASSETS", type: "assets" },
  ]);
  assertEquals(stub.scripts.get("scrimp")?.crons, ["17 0 * * *"]);

  stub.requests.length = 0;
  const second = await deploy(stub);
  assertEquals(second.code, 0, second.output);
  assertStringIncludes(second.output, 'Found      KV namespace "scrimp-kv"');
  assertStringIncludes(second.output, "after ");
  assertEquals(changes(stub.requests).includes("POST storage/kv/namespaces"), false);
  assertEquals(stub.namespaces.length, 1);
  const [one, two] = stub.scripts.get("scrimp")?.versions ?? [];
  assertEquals(two?.module, one?.module);
  assertEquals(two?.metadata.bindings, one?.metadata.bindings);
  assertEquals(await Deno.readTextFile(new URL("wrangler.toml", ROOT)), tracked);
});

Deno.test("deploy uses the namespace that is there, by name or on the deployed Worker", async () => {
  await using stub = openCloudflare();
  for (let i = 0; i < 1_001; i++) {
    stub.namespaces.push({ id: `${i}`.padStart(32, "b"), title: `${i}` });
  }
  stub.namespaces.push({ id: "c".repeat(32), title: "mine-kv" });
  const named = await deploy(stub, ["--name", "mine"]);
  assertEquals(named.code, 0, named.output);
  assertStringIncludes(named.output, `Found      KV namespace "mine-kv", ${"c".repeat(32)}`);

  const mine = stub.namespaces.find(({ title }) => title === "mine-kv");
  assert(mine);
  mine.title = "renamed in the dashboard";
  const renamed = await deploy(stub, ["--name", "mine"]);
  assertEquals(renamed.code, 0, renamed.output);
  assertStringIncludes(renamed.output, "c".repeat(32));
  assertEquals(changes(stub.requests).includes("POST storage/kv/namespaces"), false);
});

Deno.test("deploy cut short by Ctrl-C, then by a failing API, is repaired by a third run", async () => {
  await using stub = openCloudflare();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "scripts/deploy.ts", "--url", stub.origin],
    cwd: ROOT,
    env: environment(stub),
    stdout: "null",
    stderr: "piped",
  }).spawn();
  stub.fault = ({ method, path }) => {
    if (method === "POST" && path.endsWith("/assets-upload-session")) child.kill("SIGINT");
    return undefined;
  };
  const { code, stderr } = await child.output();
  assertEquals(code, 130);
  assertStringIncludes(new TextDecoder().decode(stderr), "Run the same command again");
  assertEquals([stub.namespaces.length, stub.scripts.size], [1, 0]);

  stub.fault = ({ method, path }) =>
    method === "PUT" && path.startsWith("workers/scripts/")
      ? { status: 500, code: 10013, message: "An unknown error has occurred" }
      : undefined;
  const broken = await deploy(stub);
  assertEquals(broken.code, 1, broken.output);
  assertStringIncludes(broken.output, "Cannot upload the Worker");
  assertStringIncludes(broken.output, "un the same command again");
  assertEquals([stub.namespaces.length, stub.scripts.size], [1, 0]);

  stub.fault = () => undefined;
  const mended = await deploy(stub);
  assertEquals(mended.code, 0, mended.output);
  assertEquals([stub.namespaces.length, stub.scripts.size], [1, 1]);
});

Deno.test("deploy says what to do about a wrong token, and does not show it", async () => {
  await using stub = openCloudflare();
  const wrong = "another-token-nobody-may-see";
  const { code, output } = await deploy(stub, [], { CLOUDFLARE_API_TOKEN: wrong });
  assertEquals(code, 1);
  assertMatch(output, /What to do: Check CLOUDFLARE_API_TOKEN/);
  assertEquals(output.includes(wrong), false);
  assertEquals(changes(stub.requests), []);
});

Deno.test("deploy says what to do about a spent allowance and a missing permission", async () => {
  await using stub = openCloudflare();
  stub.fault = ({ method }) =>
    method === "POST"
      ? { status: 400, code: 10047, message: "the account has reached its maximum of namespaces" }
      : undefined;
  const spent = await deploy(stub);
  assertEquals(spent.code, 1);
  assertMatch(spent.output, /Cannot create the KV namespace "scrimp-kv".*maximum of namespaces/);
  assertMatch(spent.output, /What to do: The account's allowance is used up/);
  stub.fault = ({ method }) =>
    method === "POST" ? { status: 403, code: 10000, message: "Authentication error" } : undefined;
  const forbidden = await deploy(stub);
  assertEquals(forbidden.code, 1);
  assertMatch(forbidden.output, /What to do: .*edit Workers scripts and Workers KV storage/);
  assertEquals(stub.namespaces, []);
});

Deno.test("deploy makes what an environment names, and waits for its secrets", async () => {
  await using stub = openCloudflare();
  const config = await Deno.makeTempFile({ suffix: ".toml" });
  try {
    const text = await Deno.readTextFile(new URL("wrangler.toml", ROOT));
    await Deno.writeTextFile(
      config,
      `${text}
[[d1_databases]]
binding = "DB"
[env.staging.secrets]
required = ["ADMIN_TOKEN"]
`,
    );
    const args = ["--config", config, "--env", "staging"];
    const without = await deploy(stub, args);
    assertEquals(without.code, 1);
    assertStringIncludes(without.output, "Not set yet: the secret ADMIN_TOKEN");
    assertStringIncludes(without.output, "secret put ADMIN_TOKEN --name scrimp-staging");
    assertEquals(changes(stub.requests), []);
    stub.scripts.set("scrimp-staging", {
      versions: [{ id: "draft", metadata: { bindings: [] }, module: new Uint8Array() }],
      secrets: ["ADMIN_TOKEN"],
      crons: [],
      onSubdomain: false,
    });
    const { code, output } = await deploy(stub, args);
    assertEquals(code, 0, output);
    assertEquals(stub.namespaces.map(({ title }) => title), ["scrimp-staging-kv"]);
    assertEquals(stub.databases.map(({ name }) => name), ["scrimp-staging-db"]);
    const bindings = stub.scripts.get("scrimp-staging")?.versions.at(-1)?.metadata.bindings;
    assert(Array.isArray(bindings));
    assertEquals(bindings.filter(({ type }) => type !== "inherit"), [
      { name: "KV", type: "kv_namespace", namespace_id: stub.namespaces[0]?.id },
      { name: "DB", type: "d1", id: stub.databases[0]?.uuid },
      { name: "ASSETS", type: "assets" },
    ]);
  } finally {
    await Deno.remove(config);
  }
});

Deno.test("deploy --dry-run asks nobody and changes nothing", async () => {
  await using stub = openCloudflare();
  const before = await Array.fromAsync(Deno.readDir(ROOT), ({ name }) => name);
  const built = await Deno.stat(new URL("dist/worker.js", ROOT)).catch(() => undefined);
  const { code, output } = await deploy(stub, ["--dry-run"], { CLOUDFLARE_API_TOKEN: "" });
  assertEquals(code, 0, output);
  assertStringIncludes(output, 'Would use  KV namespace "scrimp-kv"');
  assertStringIncludes(output, "Nothing was changed.");
  assertEquals(stub.requests, []);
  assertEquals(await Array.fromAsync(Deno.readDir(ROOT), ({ name }) => name), before);
  const after = await Deno.stat(new URL("dist/worker.js", ROOT)).catch(() => undefined);
  assertEquals(after?.mtime, built?.mtime);
});
