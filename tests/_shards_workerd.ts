// Starts workerd processes that can be killed one by one: the shared backend, and groups of isolates of
// the built Worker, each with a socket of its own.
import workerd from "workerd";
import { freePort } from "./_ports.ts";

/** A process. */
export interface Running {
  /** One address for each service. */
  readonly urls: readonly string[];
  /** Ends it at once, and removes its files. */
  kill(): Promise<void>;
}

const DATE = "2026-07-01";
const SITE = `export default { fetch: () => new Response("<h1>Page</h1>", {
  headers: { "content-type": "text/html; charset=utf-8" } }) }`;

async function start(
  services: string,
  names: readonly string[],
  files: Readonly<Record<string, Uint8Array | string>>,
): Promise<Running> {
  const folder = await Deno.makeTempDir({ prefix: "scrimp-shards-" });
  const ports = names.map(freePort);
  const sockets = names.map((name, n) =>
    `(name = "s${n}", address = "127.0.0.1:${ports[n]}", service = "${name}",
      http = (cfBlobHeader = "x-cf"))`
  );
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [${services}], sockets = [${sockets.join(",")}]);`;
  for (const [name, content] of Object.entries({ ...files, "config.capnp": config })) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(`${folder}/${name}`, bytes);
  }
  // The package is CommonJS with a member named default.
  const { default: binary } = workerd as unknown as { default: string };
  const child = new Deno.Command(binary, {
    args: ["serve", "config.capnp"],
    cwd: folder,
    stdout: "null",
    stderr: "null",
  }).spawn();
  let state = "running";
  const ended = child.status.then(() => state = "ended");
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  for (const port of ports) await listening(port, () => state);
  return {
    urls,
    async kill() {
      if (state === "running") child.kill("SIGKILL");
      await ended;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function listening(port: number, state: () => string): Promise<void> {
  for (let attempt = 0; attempt < 400 && state() === "running"; attempt++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("Workerd does not listen");
}

/** Starts the backend. */
export async function startBackend(code: Uint8Array): Promise<Running> {
  const service = `(name = "backend", worker = (
    modules = [(name = "backend.js", esModule = embed "backend.js")], compatibilityDate = "${DATE}"))`;
  return await start(service, ["backend"], { "backend.js": code });
}

/** Starts isolates of the Worker, each in the data center that is named. */
export async function startIsolates(
  code: Uint8Array,
  backend: string,
  centers: readonly string[],
): Promise<Running> {
  const address = new URL(backend).host;
  const way = (name: string, center: string, kind: string) =>
    `(name = "${name}", external = (address = "${address}", http = (injectRequestHeaders = [
      (name = "x-center", value = "${center}"), (name = "${kind}", value = "1")])))`;
  const services = centers.map((center, n) =>
    `(name = "i${n}", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "${DATE}",
      bindings = [(name = "KV", kvNamespace = "kv${n}"), (name = "ASSETS", service = "site")],
      cacheApiOutbound = "cache${n}")),
    ${way(`kv${n}`, center, "x-kv")}, ${way(`cache${n}`, center, "x-cache")}`
  );
  const site = `(name = "site", worker = (
    modules = [(name = "site.js", esModule = embed "site.js")], compatibilityDate = "${DATE}"))`;
  const names = centers.map((_, n) => `i${n}`);
  return await start([...services, site].join(","), names, { "worker.js": code, "site.js": SITE });
}
