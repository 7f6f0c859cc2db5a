// Starts workerd on two Workers: one with a KV binding, and one that is the binding's backend.
import { Buffer } from "node:buffer";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import workerd from "workerd";
import { bundle } from "../scripts/_bundle.ts";
import { freePort } from "./_ports.ts";

/** A running workerd. */
export interface RunningWorkerd {
  /** Where the Worker with the binding listens. */
  readonly url: string;
  /** Ends the process and removes its files. */
  stop(): Promise<void>;
}

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "main.js", esModule = embed "main.js")],
      compatibilityDate = "2026-07-01",
      bindings = [
        (name = "KV", kvNamespace = "backend"),
        (name = "BACKEND", service = "backend"),
      ],
    )),
    (name = "backend", worker = (
      modules = [(name = "backend.js", esModule = embed "backend.js")],
      compatibilityDate = "2026-07-01",
    )),
  ],
  sockets = [(name = "http", http = (), service = "main")],
);
`;

/** A running workerd with several sockets. */
export interface WorkerdSockets {
  /** Where each socket listens, by its name. */
  readonly urls: ReadonlyMap<string, string>;
  /** Ends the process, removes its files, and gives what it wrote to its log. */
  stop(): Promise<string>;
}

/** Bundles both Workers and starts workerd on a port that the system chooses. */
export async function startWorkerd(main: string, backend: string): Promise<RunningWorkerd> {
  const files = {
    "main.js": (await bundle(main)).code,
    "backend.js": (await bundle(backend)).code,
  };
  const { urls, stop } = await serveWorkerd(files, CONFIG, ["http"]);
  return { url: urls.get("http") ?? "", stop: async () => void await stop() };
}

/**
 * Starts workerd on ports that the system chooses.
 *
 * @param files The files that the configuration embeds.
 * @param config The configuration; its constant is called `config`.
 * @param sockets The names of its sockets.
 */
export async function serveWorkerd(
  files: Readonly<Record<string, string | Uint8Array>>,
  config: string,
  sockets: readonly string[],
): Promise<WorkerdSockets> {
  const folder = await mkdtemp(join(tmpdir(), "scrimp-workerd-"));
  for (const [name, text] of Object.entries({ ...files, "config.capnp": config })) {
    await writeFile(join(folder, name), text);
  }
  const addresses: [string, string][] = [];
  for (const name of sockets) addresses.push([name, `127.0.0.1:${await freePort()}`]);
  // The package is CommonJS with a member named default.
  const { default: binary } = workerd as unknown as { default: string };
  const child = new Deno.Command(binary, {
    args: [
      "serve",
      "config.capnp",
      ...addresses.map(([name, address]) => `--socket-addr=${name}=${address}`),
    ],
    cwd: folder,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const errors = collect(child.stderr);
  const urls = new Map(addresses.map(([name, address]) => [name, `http://${address}/`]));
  for (const url of urls.values()) await answering(url, child.status, errors);
  return {
    urls,
    async stop() {
      child.kill();
      await child.status;
      await rm(folder, { recursive: true, force: true });
      return await errors;
    },
  };
}

/** Waits until the socket takes connections; workerd says nothing when it is ready. */
async function answering(
  url: string,
  ended: Promise<Deno.CommandStatus>,
  errors: Promise<string>,
): Promise<void> {
  let state = "starting";
  ended.then(() => state = "ended");
  for (let attempt = 0; attempt < 200; attempt++) {
    if (state === "ended") throw new Error(`Workerd ended: ${await errors}`);
    try {
      const response = await fetch(new URL("/control", url), { method: "POST", body: "{}" });
      await response.body?.cancel();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("Workerd does not answer");
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
