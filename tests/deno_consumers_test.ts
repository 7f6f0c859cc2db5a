import { assertEquals, assertStringIncludes } from "@std/assert";
import { DenoKv } from "../lib/kv/deno_kv.ts";
import { type ConsumersFolder, openConsumers, stored, visit } from "./_consumers.ts";
import { ROOT } from "../scripts/_paths.ts";

/**
 * Gives an app a `deno.json` of its own. The links stand in for what JSR has: without them the app
 * installs the same names from there.
 */
async function configure(consumers: ConsumersFolder, app: string): Promise<string> {
  const folder = `${consumers.path}/${app}`;
  const up = folder.replaceAll(/[^/]+/g, "..").slice(1);
  const config = {
    links: [`${up}${ROOT}`, `${up}${ROOT}tests/std_assert`],
    imports: { "@scrimp/kv": "jsr:@scrimp/kv@^0.1.0", "@std/assert": "jsr:@std/assert@^1" },
    lock: false,
  };
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(config));
  return folder;
}

/** Starts the app, lets a browser visit it, waits until all is stored, and ends it. */
async function serveOnce(
  folder: string,
  file: string,
  paths: readonly string[],
  requests: number,
): Promise<Record<string, number>> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--unstable-kv", "--allow-net=127.0.0.1"],
      ...[`--allow-read=${file}`, `--allow-write=${file}`, "main.ts", file],
    ],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { value: port = "" } = await lines.read();
    await visit(`http://127.0.0.1:${port.trim()}`, paths);
    using kv = await Deno.openKv(file);
    const report = await stored(() => new DenoKv(kv), requests);
    return report.paths;
  } finally {
    child.kill();
    await child.status;
    await lines.cancel();
  }
}

Deno.test("an app on Deno.serve counts into a Deno KV that survives a restart", async () => {
  await using consumers = await openConsumers();
  const folder = await configure(consumers, "deno");
  const file = `${consumers.path}/views.sqlite`;
  const first = await serveOnce(folder, file, ["/", "/about", "/api/time"], 2);
  assertEquals(first, { "/": 1, "/about": 1 });
  const second = await serveOnce(folder, file, ["/", "/new", "/logo.svg"], 4);
  assertEquals(second, { "/": 2, "/about": 1, "/new": 1 });
});

Deno.test("a stranger's test suite runs on ./kv-world alone, without permissions", async () => {
  await using consumers = await openConsumers();
  await configure(consumers, "stranger");
  const output = await consumers.run(["deno", "test", "--no-prompt"], "stranger");
  assertStringIncludes(output, "3 passed | 0 failed");
});
