import { assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { build, stop } from "esbuild";
import { Miniflare } from "miniflare";
import { BUNDLE_OPTIONS } from "../scripts/_bundle.ts";
import { ROOT } from "../scripts/_paths.ts";
import { startDashboard } from "./_dashboard.ts";
import { fullDay } from "./_report_fixtures.ts";

/** A Worker that answers the page of 90 full days over and over, from a store in its memory. */
const LOOP = `
import { createWorker } from "./lib/worker/create_worker.ts";
import { fullRange, NOON } from "./tests/_report_fixtures.ts";

let values;
const kv = {
  get: (keys) => Promise.resolve(
    Array.isArray(keys) ? new Map(keys.map((key) => [key, values.get(key) ?? null])) : values.get(keys) ?? null
  ),
  list: () => Promise.resolve({ keys: [], list_complete: true }),
};
let now = NOON;
const worker = createWorker({ clock: { now: () => now, sleep: () => Promise.resolve() }, edgeCache: null });
export default {
  async fetch(request, env, ctx) {
    values ??= new Map(fullRange(90).days.map((day) => ["traffic:" + day.date, JSON.stringify(day)]));
    let bytes = 0;
    const rounds = Number(new URL(request.url).searchParams.get("rounds"));
    for (let i = 0; i < rounds; i++) {
      now = NOON + i % 100;
      const fresh = createWorker({ clock: { now: () => now, sleep: () => Promise.resolve() }, edgeCache: null });
      const answer = await fresh.fetch(new Request("https://example.org/traffic?days=90"), { KV: kv }, ctx);
      bytes = (await answer.text()).length;
    }
    return new Response(String(bytes));
  },
};`;

Deno.test({
  name: "the page of 90 full days takes at most 10 ms of CPU in workerd, from store to page",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { outputFiles } = await build({
      ...BUNDLE_OPTIONS,
      stdin: { contents: LOOP, resolveDir: ROOT },
    }).finally(stop);
    const miniflare = new Miniflare({
      modules: true,
      script: outputFiles?.[0]?.text ?? "",
      compatibilityDate: "2026-07-01",
      cf: false,
    });
    try {
      const time = async (rounds: number) => {
        const start = performance.now();
        const answer = await miniflare.dispatchFetch(`http://localhost/?rounds=${rounds}`);
        assertLess(Number(await answer.text()), 60_000);
        return performance.now() - start;
      };
      for (let i = 0; i < 5; i++) await time(10);
      // Others may be using the machine: the best of many runs is what the work takes.
      const best = async (rounds: number) => {
        let least = Infinity;
        for (let i = 0; i < 25; i++) least = Math.min(least, await time(rounds));
        return least;
      };
      const each = (await best(4) - await best(0)) / 4;
      console.log(`page of 90 full days: ${each.toFixed(2)} ms`);
      assertLess(each, 10);
    } finally {
      await miniflare.dispose();
    }
  },
});

/** Runs a task's script as a user would. */
async function run(script: string, args: string[], env: Record<string, string> = {}) {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", `${ROOT}scripts/${script}.ts`, ...args],
    env: { NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "piped",
  });
  const { code, stdout, stderr } = await command.output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), error: decode(stderr) };
}

Deno.test({
  name: "deno task import and deno task report against the built Worker",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const dashboard = await startDashboard({ ADMIN_TOKEN: "s3cret", TRAFFIC_PRIVATE: "1" });
    const folder = await Deno.makeTempDir();
    const env = { ADMIN_TOKEN: "s3cret" };
    const day = (age: number) => new Date(Date.now() - age * 86_400_000).toISOString().slice(0, 10);
    try {
      const file = `${folder}/export.ndjson`;
      const days = Array.from({ length: 60 }, (_, i) => fullDay(day(100 - i), 100 + i));
      await Deno.writeTextFile(
        file,
        days.map((each) => `${JSON.stringify({ ...each, v: 1 })}\n`).join(""),
      );
      await t.step("import wants the secret", async () => {
        const { code, error } = await run("import", [file, "--url", dashboard.url]);
        assertEquals(code, 1);
        assertStringIncludes(error, "ADMIN_TOKEN");
      });
      await t.step("a dry run does nothing", async () => {
        const args = [file, "--url", dashboard.url, "--dry-run"];
        const first = await run("import", args, env);
        assertEquals([first.code, first.error], [0, ""]);
        assertStringIncludes(first.out, "would be written, 0 kept as they are, 11 too old");
        assertEquals(await run("import", args, env), first);
      });
      await t.step("import brings the days in, and again changes nothing", async () => {
        const args = [file, "--url", dashboard.url];
        const first = await run("import", args, env);
        assertStringIncludes(first.out, "49 days written, 0 kept as they are, 11 too old");
        const second = await run("import", args, env);
        assertStringIncludes(second.out, "0 days written, 49 kept as they are, 11 too old");
      });
      await t.step("report shows them", async () => {
        const { code, out } = await run("report", [dashboard.url, "--days", "90"], env);
        assertEquals(code, 0);
        const total = days.slice(11).reduce((sum, each) => sum + each.total, 0);
        assertStringIncludes(out, `${total.toLocaleString("en-US")} views from`);
        const json = await run("report", [dashboard.url, "--days", "90", "--json"], env);
        assertEquals(JSON.parse(json.out).total, total);
      });
      await t.step("mistakes are told", async () => {
        assertEquals((await run("report", ["nowhere"])).code, 2);
        assertEquals((await run("report", ["--days", "91"])).code, 2);
        assertEquals((await run("report", ["http://127.0.0.1:9"])).code, 1);
        assertEquals((await run("import", [])).code, 2);
        assertEquals((await run("import", [`${folder}/none`])).code, 1);
      });
    } finally {
      await dashboard.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
