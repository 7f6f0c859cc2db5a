/** Runs `wrangler pages dev` under Deno. */
import { freePort } from "./_ports.ts";
import config from "../deno.json" with { type: "json" };
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { Kv, KvPutOptions } from "../lib/kv/kv.ts";
import { WRANGLER_ENV } from "./_consumers.ts";

/** A running site. */
export interface PagesSite extends AsyncDisposable {
  /** Its origin. */
  readonly url: string;
  /** Copies what it has stored, which its own function tells. */
  copyKv(): Promise<Kv>;
}

/** How long wrangler may take to build and start. */
const START_MS_MAX = 90_000;

/**
 * Serves a folder with `functions/` and `public/` on loopback.
 *
 * @param folder The site.
 * @param tools An empty folder: wrangler builds Functions only where it finds its own dependencies in a
 * `node_modules`, which Deno links there from its cache.
 */
export async function startPages(folder: string, tools: string): Promise<PagesSite> {
  await Deno.mkdir(tools);
  await Deno.writeTextFile(`${tools}/deno.json`, '{ "nodeModulesDir": "auto" }');
  const port = await freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--config", `${tools}/deno.json`, config.imports.wrangler],
      ...["pages", "dev", "public", "--kv", "VIEWS", "--compatibility-date", "2026-07-01"],
      ...["--ip", "127.0.0.1", "--port", `${port}`, "--inspector-port", "0"],
      ...["--persist-to", `${tools}/state`],
    ],
    cwd: folder,
    env: WRANGLER_ENV,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    try {
      child.kill();
    } catch {
      // It has ended by itself.
    }
    await child.status;
    return (await output).join("");
  };
  if (!await isAnswering(url, child.status)) {
    throw new Error(`wrangler pages dev does not answer: ${await stop()}`);
  }
  return {
    url,
    copyKv: () => copyKv(`${url}/api/shards`),
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

async function isAnswering(url: string, ended: Promise<unknown>): Promise<boolean> {
  const start = Date.now();
  let running = true;
  ended.then(() => running = false);
  while (running && Date.now() - start < START_MS_MAX) {
    try {
      const response = await fetch(`${url}/api/shards`);
      await response.body?.cancel();
      if (response.ok) return true;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return false;
}

async function copyKv(url: string): Promise<Kv> {
  const shards: [key: string, value: string, options: KvPutOptions][] = await (await fetch(url))
    .json();
  const kv = new MemoryKv();
  for (const [key, value, options] of shards) await kv.put(key, value, options);
  return kv;
}
