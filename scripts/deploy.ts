/**
 * `deno task deploy`: checks, builds, finds or creates what the Worker stores in, uploads the built
 * bytes, and asks the deployed Worker whether it works. Running it again repairs what was cut short.
 *
 * @module
 */
import { bundleWorker, stop } from "./_bundle.ts";
import { CONFIG_FILE, readConfig } from "./_config.ts";
import { fail, usage } from "./_failure.ts";
import { ROOT } from "./_paths.ts";
import { DeployError } from "./deploy/failures.ts";
import {
  generateConfig,
  makePlan,
  type Plan,
  type PlanOptions,
  problemsOf,
} from "./deploy/plan.ts";
import { deployedVersion, missingSecrets, settle } from "./deploy/resources.ts";
import { smokeCheck } from "./deploy/smoke.ts";
import { openWrangler, type Wrangler } from "./deploy/wrangler.ts";
import { basename, resolve } from "node:path";
import { parseArgs } from "node:util";

const OUTPUT_FOLDER = `${ROOT}dist`;

const HELP = `Deploy the Worker, its site and its namespace to Cloudflare.

Usage: deno task deploy [--dry-run] [--env NAME] [--name NAME] [--config FILE] [--url URL]

Options:
  --dry-run      Check, build, and let wrangler check, without network or account; change nothing
  --env NAME     The environment [env.NAME] of the configuration: a Worker and a namespace of its own
  --name NAME    The Worker's name, instead of the configured one
  --config FILE  The configuration. Default: ${CONFIG_FILE}
  --url URL      Where to look whether it works, instead of the address that Cloudflare gives
  --help         Print this

The account comes from CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, or from wrangler's login.
`;

/** What the command line asks for. */
interface Options extends PlanOptions {
  readonly config: string;
  readonly dryRun: boolean;
  readonly url: string | undefined;
}

/** A built and checked Worker, written to a folder of its own. */
interface Prepared {
  readonly plan: Plan;
  readonly code: Uint8Array;
  readonly folder: string;
}

/** Reads the command line; `undefined` when help was asked for. */
function readArguments(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      "dry-run": { type: "boolean", default: false },
      config: { type: "string", default: CONFIG_FILE },
      env: { type: "string" },
      name: { type: "string" },
      url: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  const { config, "dry-run": dryRun, env, name, url } = values;
  return { config: resolve(ROOT, config), dryRun, env, name, url };
}

/** One line of the report: a word of what was done, and the particulars. */
function say(what: string, detail: string): void {
  console.log(`${what.padEnd(10)} ${detail}`);
}

/** Checks the configuration, builds, and writes the module to `folder`. */
async function prepare(options: Options, folder: string): Promise<Prepared> {
  const plan = makePlan(await readConfig(options.config), options);
  const { code, bytes, gzipBytes, exports } = await bundleWorker().finally(stop);
  const problems = problemsOf(plan, exports, new Date().toISOString().slice(0, 10));
  const { assets } = plan.config;
  if (assets && !await Deno.stat(ROOT + assets.directory).catch(() => undefined)) {
    problems.push(`There is no folder "${assets.directory}" for the site`);
  }
  if (problems.length > 0) {
    throw new DeployError(problems.join("\n"), `Mend ${options.config}`);
  }
  say("Checked", `${basename(options.config)}, for the Worker "${plan.name}"`);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeFile(`${folder}/worker.js`, code);
  const sizes = `${bytes.toLocaleString("en-US")} bytes, ${gzipBytes.toLocaleString("en-US")} gzip`;
  say("Built", `${sizes}, SHA-256 ${await sha256(code)}`);
  return { plan, code, folder };
}

/** The digest of some bytes, in hexadecimal. */
async function sha256(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))).toHex();
}

/** Writes the configuration for wrangler; gives its path. */
async function writeConfig(
  { plan, folder }: Prepared,
  ids: ReadonlyMap<string, string>,
): Promise<string> {
  const path = `${folder}/${plan.name}.json`;
  const config = generateConfig(plan, ids, ROOT.replace(/\/$/, ""));
  await Deno.writeTextFile(path, JSON.stringify(config, null, 2));
  return path;
}

/** Says what would happen, and lets wrangler check it. */
async function rehearse(prepared: Prepared, wrangler: Wrangler): Promise<void> {
  const { plan, code, folder } = prepared;
  const config = await writeConfig(prepared, new Map());
  const output = `${folder}/upload`;
  const args = ["deploy", "--dry-run", "--config", config, "--outdir", output];
  await wrangler.run("rehearse the upload", args);
  const upload = await Deno.readFile(`${output}/worker.js`);
  if (await sha256(upload) !== await sha256(code)) {
    throw new DeployError(
      "wrangler would change the built bytes",
      "Use the version of wrangler that deno.json names",
    );
  }
  for (const { kind, title } of plan.resources) {
    say("Would use", `${kind} "${title}", found or new`);
  }
  for (const secret of plan.secrets) say("Would want", `the secret ${secret}`);
  say("Would run", `the cron ${plan.config.triggers?.crons?.join(", ") || "never"}`);
  say("Would send", `these bytes as they are, to "${plan.name}"`);
  console.log("Nothing was changed.");
}

/** Finds or creates everything, uploads, and gives the addresses. */
async function upload(prepared: Prepared, wrangler: Wrangler): Promise<string[]> {
  const { plan } = prepared;
  const before = await deployedVersion(wrangler, plan.name);
  const missing = await missingSecrets(wrangler, plan, { exists: before !== undefined });
  if (missing.length > 0) {
    throw new DeployError(
      `Not set yet: ${missing.map((name) => `the secret ${name}`).join(", ")}`,
      `Set it: deno task wrangler secret put ${missing[0]} --name ${plan.name}`,
    );
  }
  const ids = new Map<string, string>();
  for (const resource of plan.resources) {
    const { id, how } = await settle(wrangler, plan, resource, before);
    ids.set(resource.binding, id);
    say(how === "created" ? "Created" : "Found", `${resource.kind} "${resource.title}", ${id}`);
  }
  const config = await writeConfig(prepared, ids);
  await wrangler.run("upload the Worker", ["deploy", "--config", config]);
  const result = (await wrangler.results()).findLast(({ type }) => type === "deploy");
  const version = String(result?.version_id ?? "unknown");
  say(
    "Deployed",
    `"${plan.name}", version ${version}, ${before ? `after ${before}` : "the first"}`,
  );
  const targets = Array.isArray(result?.targets) ? result.targets.map(String) : [];
  for (const target of targets) say("", target);
  return targets;
}

/** Asks the deployed Worker whether it works. */
async function check(origin: string | undefined): Promise<void> {
  if (origin === undefined) return say("Unchecked", "it has no address of its own; try --url");
  const problem = await smokeCheck(origin, {
    fetch,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
  if (problem !== undefined) {
    throw new DeployError(
      `The Worker is deployed, but ${problem}`,
      "A new address takes some minutes to be known; open it then. To go back: deno task wrangler rollback",
    );
  }
  say("Works", `${origin} serves pages and reports`);
}

/** Does what was asked for. */
async function deploy(options: Options, signal: AbortSignal): Promise<void> {
  const scratch = await Deno.makeTempDir({ prefix: "scrimp-deploy-" });
  try {
    const prepared = await prepare(options, options.dryRun ? scratch : OUTPUT_FOLDER);
    const wrangler = openWrangler(scratch, signal);
    if (options.dryRun) return await rehearse(prepared, wrangler);
    const targets = await upload(prepared, wrangler);
    await check(options.url ?? targets.find((target) => target.startsWith("https://")));
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Reads the command line and deploys; gives the exit code. */
async function main(args: string[]): Promise<number> {
  const abort = new AbortController();
  Deno.addSignalListener("SIGINT", () => abort.abort());
  try {
    const options = usage(() => readArguments(args));
    if (!options) console.log(HELP);
    else await deploy(options, abort.signal);
    return 0;
  } catch (error) {
    if (abort.signal.aborted) {
      console.error("Stopped. Run the same command again: it goes on with what is there.");
      return 130;
    }
    const code = fail(error);
    if (error instanceof DeployError) console.error(`What to do: ${error.advice}.`);
    return code;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
