/**
 * What counting costs in workerd: one call of `record()` beside the recorder that it replaces, and the
 * ready Worker beside the same one that does not count, or counts as the article's does. Processor time of workerd, which other work on
 * the machine disturbs less than a clock does; on Linux, by hand: `deno run -A tests/workerd_bench.ts`.
 *
 * @module
 */
import { bundle, stop } from "../scripts/_bundle.ts";
import { TRAFFIC } from "./_recorders.ts";
import { serveWorkerd } from "./_workerd.ts";

const COUNTERS = ["none", "article", "scrimp"] as const;
const RUNS = 151;
/** Pages a run, all asked for at once on one connection. */
const PAGES = 64;
const BATCHES = 3;
const TIMES = 5;
const LOOP_COUNT = 1024;

const worker = (counter: string) =>
  `(name = "${counter}", worker = (
    modules = [(name = "main.js", esModule = embed "main.js")], compatibilityDate = "2026-07-01",
    bindings = [(name = "COUNTER", text = "${counter}"), (name = "KV", kvNamespace = "backend"),
      (name = "ASSETS", service = "site")],
    cacheApiOutbound = "backend"))`;
const SITE = `const page = "<!doctype html><title>Page</title><p>" + "Text. ".repeat(1_000);
export default { fetch: () => new Response(page, {
  headers: { "content-type": "text/html; charset=utf-8" } }) }`;
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${COUNTERS.map(worker).join(",")}, (name = "site", worker = (
    modules = [(name = "site.js", esModule = embed "site.js")], compatibilityDate = "2026-07-01")),
  (name = "backend", worker = (
    modules = [(name = "backend.js", esModule = embed "backend.js")],
    compatibilityDate = "2026-07-01"))],
  sockets = [${COUNTERS.map((name) => `(name = "${name}", http = (), service = "${name}")`)}],
);`;

/** Processor time of a process and its threads so far, in nanoseconds. */
function processorTime(pid: string): number {
  let sum = 0;
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const text = Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`);
    sum += Number(text.split(" ")[0]);
  }
  return sum;
}

/** The workerd that this process has started. */
function workerdPid(): string {
  for (const { name } of Deno.readDirSync("/proc")) {
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      const parent = /\(workerd\) \S+ (\d+)/.exec(stat)?.[1];
      if (parent === String(Deno.pid)) return name;
    } catch {
      // Not a process, or gone.
    }
  }
  throw new Error("Workerd does not run");
}

const [, HEADERS] = TRAFFIC[1] ?? ["", {}];
const ASK = `GET /About/index.html HTTP/1.1\r\nhost: site.example\r\n${
  Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}\r\n`).join("")
}\r\n`;

/** How many bytes an answer has: its head, and what its head says. */
async function bytesOfAnswer(connection: Deno.Conn): Promise<number> {
  await connection.write(new TextEncoder().encode(ASK));
  const buffer = new Uint8Array(1 << 16);
  let text = "";
  for (;;) {
    text += new TextDecoder("latin1").decode(
      buffer.subarray(0, await connection.read(buffer) ?? 0),
    );
    const head = text.indexOf("\r\n\r\n") + 4;
    const length = head + Number(/content-length: (\d+)/i.exec(text)?.[1]);
    if (head > 3 && text.length >= length) return length;
  }
}

/** Asks for many pages at once, and waits for all of them. */
async function askForPages(connection: Deno.Conn, answerBytes: number): Promise<void> {
  await connection.write(new TextEncoder().encode(ASK.repeat(PAGES)));
  const buffer = new Uint8Array(1 << 18);
  let bytes = 0;
  while (bytes < answerBytes * PAGES) bytes += await connection.read(buffer) ?? Infinity;
}

/** The number that a share of all is not above. */
function quantile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? NaN;
}

async function main(): Promise<void> {
  const files = {
    "main.js": (await bundle("tests/_bench_worker.ts")).code,
    "site.js": SITE,
    "backend.js": (await bundle("tests/_shards_backend.ts")).code,
  };
  await stop();
  const running = await serveWorkerd(files, CONFIG, COUNTERS);
  try {
    const pid = workerdPid();
    await timeRecorders(running.urls.get("none") ?? "", pid);
    await timeWorkers(running.urls, pid);
  } finally {
    await running.stop();
  }
}

/** One call of each recorder, by kind of traffic. */
async function timeRecorders(url: string, pid: string): Promise<void> {
  for (const [group, [name]] of TRAFFIC.entries()) {
    const taken = { article: [] as number[], scrimp: [] as number[] };
    for (let run = 0; run < RUNS; run++) {
      for (const recorder of ["article", "scrimp"] as const) {
        const before = processorTime(pid);
        const query = `recorder=${recorder}&group=${group}&times=${TIMES}`;
        await (await fetch(`${url}?${query}`, { method: "POST" })).text();
        taken[recorder].push((processorTime(pid) - before) / TIMES / LOOP_COUNT);
      }
    }
    const [article, scrimp] = [Math.min(...taken.article), Math.min(...taken.scrimp)];
    const ratios = taken.scrimp.map((ns, n) => ns / (taken.article[n] ?? NaN));
    console.log(
      `${name}: article ${article.toFixed()} ns, record() ${scrimp.toFixed()} ns,`,
      `${(scrimp / article).toFixed(2)} of it at best, ${
        quantile(ratios, 0.5).toFixed(2)
      } in the median`,
    );
  }
}

/** Whole Workers, by turns. */
async function timeWorkers(urls: ReadonlyMap<string, string>, pid: string): Promise<void> {
  const cpu: Record<string, number[]> = { none: [], article: [], scrimp: [] };
  const wall: Record<string, number[]> = { none: [], article: [], scrimp: [] };
  const connections = new Map<string, readonly [Deno.Conn, number]>();
  for (const [name, url] of urls) {
    const connection = await Deno.connect({ port: Number(new URL(url).port) });
    connections.set(name, [connection, await bytesOfAnswer(connection)]);
  }
  for (let run = 0; run < RUNS; run++) {
    const order = [...connections];
    // Nobody always comes first.
    for (const [name, [connection, length]] of run % 2 ? order : order.reverse()) {
      const [before, start] = [processorTime(pid), performance.now()];
      for (let batch = 0; batch < BATCHES; batch++) await askForPages(connection, length);
      wall[name]?.push((performance.now() - start) * 1e3 / BATCHES / PAGES);
      cpu[name]?.push((processorTime(pid) - before) / 1e3 / BATCHES / PAGES);
    }
  }
  for (const [connection] of connections.values()) connection.close();
  const ratio = (times: Record<string, number[]>, name: string, share: number) =>
    (quantile(times.none ?? [], share) / quantile(times[name] ?? [], share)).toFixed(3);
  for (const name of COUNTERS) {
    const us = [0.1, 0.5].map((share) => quantile(cpu[name] ?? [], share).toFixed(1));
    console.log(
      `the Worker, counter ${name}: a page costs ${us.join(" to ")} us of processor;`,
      `throughput, none's being 1: by processor ${ratio(cpu, name, 0.1)} undisturbed,`,
      `${ratio(cpu, name, 0.5)} in the median; by the clock ${ratio(wall, name, 0.1)}, ${
        ratio(wall, name, 0.5)
      }`,
    );
  }
}

if (import.meta.main) await main();
