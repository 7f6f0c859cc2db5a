/**
 * `deno task dev`: the demo site and the Worker on real workerd, with a local KV that stays.
 *
 * @module
 */
import { context, type Plugin } from "esbuild";
import { Log, LogLevel, Miniflare, type MiniflareOptions } from "miniflare";
import { BUNDLE_OPTIONS, WORKER_ENTRY } from "./_bundle.ts";
import { CONFIG_FILE, parseVars, readConfig } from "./_config.ts";
import { fail, messageOf, usage } from "./_failure.ts";
import { whenLauncherEnds } from "./_launcher.ts";
import { localWorker } from "./_local_worker.ts";
import { ROOT } from "./_paths.ts";
import { resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";

const PORT = 8787;
const STATE_FOLDER = ".scrimp";
const SECRETS_FILE = `${ROOT}.dev.vars`;
/** Editors write a file in several steps. */
const QUIET_MS = 100;

const HELP = `Serve the demo site and the Worker on workerd, on 127.0.0.1 only.

Usage: deno task dev [--port N] [--state FOLDER]

Options:
  --port N        The port; 0 takes any. Default: ${PORT}
  --state FOLDER  Where stored data is kept between runs. Default: ${STATE_FOLDER}
  --help          Print this

Secrets such as ADMIN_TOKEN are read from .dev.vars when it starts, one NAME=value a line.
`;

/** Reads the command line; `undefined` when help was asked for. */
function readArguments(args: string[]): { port: number; state: string } | undefined {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: String(PORT) },
      state: { type: "string", default: STATE_FOLDER },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  const { port, state } = values;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new RangeError(`Cannot use port "${port}": a number from 0 to 65535 is wanted`);
  }
  return { port: Number(port), state: resolve(ROOT, state) };
}

/** The bundled Worker, and again after each change; the first build must succeed. */
async function watchBundle(onChange: (code: string) => void): Promise<() => Promise<void>> {
  const { promise: first, resolve, reject } = Promise.withResolvers<void>();
  const report: Plugin = {
    name: "report",
    setup({ onEnd }) {
      onEnd(({ errors, outputFiles }) => {
        for (const { text, location } of errors) {
          console.error(`${location?.file ?? WORKER_ENTRY}:${location?.line ?? 1}: ${text}`);
        }
        const code = outputFiles?.find(({ path }) => path.endsWith(".js"))?.text;
        if (errors.length > 0 || code === undefined) {
          reject(new Error(`Cannot bundle ${WORKER_ENTRY}`));
        } else {
          onChange(code);
          resolve();
        }
      });
    },
  };
  const watcher = await context({
    ...BUNDLE_OPTIONS,
    entryPoints: [WORKER_ENTRY],
    minify: false,
    outfile: "worker.js",
    plugins: [...BUNDLE_OPTIONS.plugins, report],
    sourcemap: "inline",
  });
  await watcher.watch();
  await first;
  return () => watcher.dispose();
}

/** Calls back when the site or the configuration has changed. */
async function watchFiles(paths: readonly string[], onChange: () => void): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  for await (const { kind } of Deno.watchFs(paths.map((path) => ROOT + path))) {
    if (kind === "access") continue;
    clearTimeout(timer);
    timer = setTimeout(onChange, QUIET_MS);
  }
}

/** Fails with a sentence when something listens on the port already. */
function checkPort(port: number): void {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new Error(
      `Port ${port} is taken. Stop what uses it, or choose another: deno task dev --port ${
        port + 1
      }`,
    );
  }
}

/** Serves until it is told to stop. */
async function serve(port: number, stateFolder: string): Promise<void> {
  checkPort(port);
  let code = "";
  let reload = (): void => {};
  async function options(): Promise<MiniflareOptions> {
    const vars = parseVars(await Deno.readTextFile(SECRETS_FILE).catch(() => ""));
    const worker = localWorker(await readConfig(), { code, port, stateFolder, vars });
    return { ...worker, log: new Log(LogLevel.WARN) };
  }
  const stopBundler = await watchBundle((text) => {
    code = text;
    reload();
  });
  const server = new Miniflare(await options());
  const { origin } = await server.ready;
  let reloads = Promise.resolve();
  reload = () => {
    reloads = reloads
      .then(async () => await server.setOptions(await options()))
      .then(() => console.log("Reloaded"), (error) => console.error(messageOf(error)));
  };
  const { assets } = await readConfig();
  watchFiles([CONFIG_FILE, ...assets ? [assets.directory] : []], () => reload());
  console.log(`Site       ${origin}/
Dashboard  ${origin}/traffic
Roll up    curl "${origin}/cdn-cgi/handler/scheduled?cron=17+0+*+*+*"
Stop with Ctrl-C.`);
  await stopSignal();
  await reloads;
  await server.dispose();
  await stopBundler();
}

/**
 * Resolves on Ctrl-C, when the system asks to stop, or when `npx` was killed.
 * Miniflare's own listeners would end the process before what is stored is safe.
 */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.removeAllListeners(signal);
      if (Deno.build.os !== "windows" || signal === "SIGINT") {
        Deno.addSignalListener(signal, resolve);
      }
    }
    whenLauncherEnds(resolve);
  });
}

if (import.meta.main) {
  try {
    const asked = usage(() => readArguments(Deno.args));
    if (asked) await serve(asked.port, asked.state);
    else console.log(HELP);
    Deno.exit(0);
  } catch (error) {
    Deno.exit(fail(error));
  }
}
