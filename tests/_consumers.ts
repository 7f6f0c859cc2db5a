/** Small apps of others in a folder of their own: the package installed from its tarball, and run. */
import { Miniflare } from "miniflare";
import config from "../deno.json" with { type: "json" };
import type { Kv } from "../lib/kv/kv.ts";
import { Calendar } from "../lib/views/day.ts";
import { reportDay } from "../lib/views/report.ts";
import type { DayReport } from "../lib/views/types.ts";
import { ROOT } from "../scripts/_paths.ts";
import { run } from "../scripts/_process.ts";

/** What a browser says of itself. */
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
/** Nothing that is stored after a response takes this long. */
const STORED_MS_MAX = 60_000;
/** Keeps wrangler from asking anybody. */
export const WRANGLER_ENV = {
  CI: "1",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_SEND_METRICS: "false",
};

/** A folder with the apps of `tests/consumers`, and what they depend on installed. */
export interface ConsumersFolder extends AsyncDisposable {
  /** Its path. */
  readonly path: string;
  /** Bytes of the package's tarball. */
  readonly tarballBytes: number;
  /** Runs a command in it, or in a folder of it; gives its standard output. */
  run(command: readonly string[], folder?: string): Promise<string>;
}

/** The version that `deno.json` pins, as npm takes it. */
export function pinned(name: keyof typeof config.imports): string {
  return config.imports[name].replace(/^npm:/, "");
}

/** Runs a command; fails with what it printed when it fails. */
async function succeed(command: readonly string[], cwd: string): Promise<string> {
  const { code, output, stdout } = await run(command, { cwd, env: WRANGLER_ENV });
  if (code !== 0) throw new Error(`${command.join(" ")} failed with ${code}: ${output}`);
  return stdout;
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Copies the apps to a new folder. */
export async function openConsumers(): Promise<ConsumersFolder> {
  const path = await Deno.makeTempDir({ prefix: "scrimp-consumers-" });
  await copy(`${ROOT}tests/consumers`, path);
  return {
    path,
    tarballBytes: 0,
    run: (command, folder = "") => succeed(command, `${path}/${folder}`),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** Copies the apps to a new folder, packs the package, and installs it there with npm. */
export async function installConsumers(): Promise<ConsumersFolder> {
  const consumers = await openConsumers();
  const tarball = `${consumers.path}/scrimp-kv.tgz`;
  await succeed(
    ["deno", "pack", "--allow-dirty", "--no-source-maps", "--output", tarball],
    ROOT,
  );
  await Deno.writeTextFile(
    `${consumers.path}/package.json`,
    '{ "private": true, "type": "module" }',
  );
  const packages = (["hono", "itty-router", "typescript", "@cloudflare/workers-types"] as const)
    .map(pinned);
  await consumers.run(["npm", "install", "--no-audit", "--no-fund", tarball, ...packages]);
  return { ...consumers, tarballBytes: (await Deno.stat(tarball)).size };
}

/** What wrangler made of an app. */
export interface BundledApp {
  /** The Worker's module. */
  readonly script: string;
  /** What wrangler says of its size, for example `36.69 KiB`. */
  readonly gzip: string;
}

/** Has wrangler bundle an app as it would to deploy it. */
export async function bundleWithWrangler(
  { path }: ConsumersFolder,
  app: string,
): Promise<BundledApp> {
  const out = `${path}/${app}/out`;
  const stdout = await succeed([
    "deno",
    "run",
    "-A",
    config.imports.wrangler,
    "deploy",
    "--dry-run",
    "--minify",
    "--outdir",
    out,
    "--config",
    `${path}/${app}/wrangler.toml`,
  ], ROOT);
  const [, gzip = "?"] = stdout.match(/gzip: ([\d.]+ KiB)/) ?? [];
  return { script: await Deno.readTextFile(`${out}/main.js`), gzip };
}

/** Runs a bundled Worker on workerd, lets a browser visit it, and gives what it answered and stored. */
export async function visitInWorkerd(
  script: string,
  paths: readonly string[],
  requests: number,
): Promise<{ statuses: number[]; report: DayReport }> {
  const miniflare = new Miniflare({
    modules: true,
    script,
    compatibilityDate: "2026-07-01",
    kvNamespaces: ["VIEWS"],
    cf: { colo: "LHR" },
    host: "127.0.0.1",
    port: 0,
  });
  try {
    const statuses = await visit(await miniflare.ready, paths);
    const kv = await miniflare.getKVNamespace("VIEWS") as unknown as Kv;
    return { statuses, report: await stored(() => kv, requests) };
  } finally {
    await miniflare.dispose();
  }
}

/** Asks for pages as a browser does, all at once; gives their statuses. */
export async function visit(origin: string | URL, paths: readonly string[]): Promise<number[]> {
  return await Promise.all(paths.map(async (path) => {
    const headers = { "user-agent": FIREFOX };
    const response = await fetch(new URL(path, origin), { headers });
    await response.arrayBuffer();
    return response.status;
  }));
}

/** Waits until so many of today's requests, counted or skipped, have been stored. */
export async function stored(
  open: () => Kv | Promise<Kv>,
  requests: number,
): Promise<DayReport> {
  const start = Date.now();
  const today = new Date(start).toISOString().slice(0, 10);
  for (;;) {
    const kv = await open();
    const now = Date.now();
    const report = await reportDay({ kv, now, calendar: new Calendar() }, today);
    const skipped = Object.values(report.skipped).reduce((sum, count) => sum + count, 0);
    if (report.total + skipped >= requests) return report;
    if (now - start > STORED_MS_MAX) throw new Error(`Not stored: ${JSON.stringify(report)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
