/**
 * `deno task simulate`: what becomes of page views in a simulated network, by design.
 *
 * @module
 */
import { simulatePatterns } from "../tests/sim/patterns_day.ts";
import { scrimp } from "../tests/sim/designs.ts";
import { repeatCommand } from "../tests/sim/hostile_options.ts";
import { runHostile } from "../tests/sim/hostile_world.ts";
import { type NetworkOptions, simulateNetwork } from "../tests/sim/network.ts";
import { fail, usage } from "./_failure.ts";
import { HELP, parseSimulate, type SimulateOptions } from "./_simulate_options.ts";
import { assumptions, resultChart, resultTable, type SimulateRow } from "./_simulate_text.ts";

/** Views a day, and data centers. */
const LOADS = [
  [24, 5],
  [300, 20],
  [500, 50],
  [500, 250],
  [5_000, 100],
  [5_000, 250],
  [20_000, 250],
  [100_000, 250],
] as const;

/** What is a guess, and what else it could be. */
const GUESSES: readonly (readonly [string, Partial<NetworkOptions>])[] = [
  ["as assumed", {}],
  ["evicted after 1 min", { idleMs: 60_000 }],
  ["evicted after 5 min", { idleMs: 300_000 }],
  ["evicted after 2 h", { idleMs: 7_200_000 }],
  ["1 isolate", { isolatesMax: 1 }],
  ["10 isolates", { isolatesMax: 10 }],
  ["no kills", { killRate: 0 }],
  ["5 % kills", { killRate: 0.05 }],
  ["cache loses nothing", { cacheLossRate: 0 }],
  ["cache loses 1 %", { cacheLossRate: 0.01 }],
  ["cache loses 10 %", { cacheLossRate: 0.1 }],
  ["no cache", { edgeCache: "none" }],
  ["KV 5 times as stale", { kv: { staleness: 5 } }],
  ["2 % of KV fails", { kv: { faults: { rate: 0.02 } } }],
];

const encoder = new TextEncoder();

/** Shows how far it is, where somebody looks. */
function progress(text: string): void {
  if (Deno.stderr.isTerminal()) Deno.stderr.writeSync(encoder.encode(`\r\x1b[K${text}`));
}

async function rowOf(
  name: string,
  options: NetworkOptions,
): Promise<SimulateRow> {
  const { design } = options;
  const { days, rejections, overdue } = await simulateNetwork({
    ...options,
    onProgress: (share) => progress(`${name}, ${design.name}: ${Math.round(share * 100)} %`),
  });
  progress("");
  if (rejections > 0) {
    throw new Error(`${name}, ${design.name}: ${rejections} unhandled rejections`);
  }
  if (overdue > 0) console.error(`${name}, ${design.name}: ${overdue} tasks took over 30 s`);
  return { name, design: design.name, days };
}

async function rowsOf({ mode, network, designs }: SimulateOptions): Promise<SimulateRow[]> {
  const { viewsPerDay = 0, dataCenters = 0 } = network;
  const about = (views: number, centers: number) =>
    `${views.toLocaleString("en-US")} over ${centers}`;
  const wanted: [string, NetworkOptions][] = [];
  if (mode === "sensitivity") {
    for (const [name, changes] of GUESSES) {
      const design = designs.at(-1) ?? scrimp();
      wanted.push([name, { ...network, ...changes, design }]);
    }
  } else {
    const loads = mode === "loads" ? LOADS : [[viewsPerDay, dataCenters]] as const;
    for (const [views, centers] of loads) {
      for (const design of designs) {
        const options = { ...network, viewsPerDay: views, dataCenters: centers, design };
        wanted.push([about(views, centers), options]);
      }
    }
  }
  const rows: SimulateRow[] = [];
  for (const [name, options] of wanted) rows.push(await rowOf(name, options));
  return rows;
}

async function worlds({ mode, number, json }: SimulateOptions): Promise<number> {
  const [first, last] = mode === "world" ? [number, number] : [1, number];
  let failed = 0;
  for (let seed = first; seed <= last; seed++) {
    progress(`World ${seed} of ${last}, ${failed} failed`);
    const result = await runHostile(seed);
    const again = await runHostile(seed);
    const problems = [...result.problems];
    if (again.trace !== result.trace) problems.push("not the same twice");
    if (problems.length > 0) failed++;
    if (mode === "world") console.log(JSON.stringify({ ...result, problems }, null, json ? 0 : 2));
    else if (problems.length > 0) console.log(`${repeatCommand(seed)}\n  ${problems.join("\n  ")}`);
  }
  progress("");
  if (mode === "worlds") console.log(`${last} worlds, each twice: ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function patterns({ network, json }: SimulateOptions): Promise<number> {
  const result = await simulatePatterns({
    seed: network.seed ?? 1,
    viewsPerDay: network.viewsPerDay ?? 5_000,
    dataCenters: network.dataCenters ?? 50,
    onProgress: (share) => progress(`${Math.round(share * 100)} %`),
  });
  progress("");
  console.log(json ? JSON.stringify(result) : result.text);
  return result.refused === 0 && result.writes <= 1_000 ? 0 : 1;
}

/** Does what is asked for; gives the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = usage(() => parseSimulate(args));
  if (options.mode === "help") return console.log(HELP) ?? 0;
  if (options.mode === "world" || options.mode === "worlds") return await worlds(options);
  if (options.mode === "patterns") return await patterns(options);
  const rows = await rowsOf(options);
  if (options.json) return console.log(JSON.stringify({ options, rows }, null, 2)) ?? 0;
  console.log(resultTable(rows));
  console.log(`\nStored by the end of the next day, on the worst day:\n\n${resultChart(rows)}`);
  console.log(`\n${assumptions(options.network)}`);
  return 0;
}

if (import.meta.main) {
  try {
    Deno.exitCode = await main(Deno.args);
  } catch (error) {
    Deno.exitCode = fail(error);
  }
}
