/**
 * `deno task test`: runs every gate and says `N passed, N failed`.
 *
 * @module
 */
import { fail, usage } from "./_failure.ts";
import { type Gate, type GateContext, GATES, type Verdict } from "./_gates.ts";
import { parseArgs } from "node:util";

/** Gates that may run at the same time. */
const SIDE_BY_SIDE = 2;
/** A gate that takes longer hangs. */
const GATE_MS_MAX = 20 * 60_000;

const HELP = `Run the project's gates, cheap first. Ends with "N passed, N failed".

Usage: deno task test [--only GATE]... [--seed N]

Options:
  --only GATE  Run this gate only; may be repeated
  --seed N     Order of the unit tests; a run prints its own
  --help       Print this

Gates:
${GATES.map(({ name, about }) => `  ${name.padEnd(10)}  ${about}`).join("\n")}
`;

/** What the command line asks for. */
export interface Arguments {
  /** The gates to run. */
  readonly gates: readonly Gate[];
  /** Decides the order of the tests. */
  readonly seed: number;
}

/**
 * Reads the command line.
 *
 * @param args The arguments.
 * @param seed The seed, unless one is given.
 * @returns What was asked for, or `undefined` when help was.
 * @throws {Error} If an argument is not known.
 */
export function parseArguments(args: string[], seed: number): Arguments | undefined {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: "string", multiple: true, default: [] },
      seed: { type: "string", default: String(seed) },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  const unknown = values.only.find((name) => !GATES.some((gate) => gate.name === name));
  if (unknown !== undefined) throw new RangeError(`Unknown gate "${unknown}"`);
  if (!/^\d{1,10}$/.test(values.seed)) {
    throw new RangeError(`Cannot use seed "${values.seed}": a whole number is wanted`);
  }
  const gates = GATES.filter(({ name }) => values.only.length === 0 || values.only.includes(name));
  return { gates, seed: Number(values.seed) };
}

/** Runs one gate, says how it went, and shows what it printed when it failed. */
async function runGate(gate: Gate, { seed, signal }: GateContext): Promise<Verdict> {
  console.log(`     ${gate.name.padEnd(10)} ${gate.about} …`);
  const start = performance.now();
  const timeout = AbortSignal.timeout(GATE_MS_MAX);
  const context = { seed, signal: AbortSignal.any([signal, timeout]) };
  const verdict = await gate.run(context).catch((error): Verdict => ({
    passed: 0,
    failed: 1,
    output: String(error?.stack ?? error),
  }));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const counts = verdict.failed > 0
    ? `${verdict.passed} passed, ${verdict.failed} failed`
    : `${verdict.passed} passed`;
  const mark = verdict.failed > 0 ? "FAIL" : "ok  ";
  console.log(`${mark} ${gate.name.padEnd(10)} ${counts} (${seconds} s)`);
  if (timeout.aborted) console.log(`       Stopped after ${GATE_MS_MAX / 60_000} minutes`);
  const shown = verdict.failed > 0 ? verdict.output : verdict.note;
  if (shown) console.log(shown.trim().replaceAll(/^/gm, "       "));
  return verdict;
}

/** Runs the gates, those that share the machine side by side, the others one by one. */
async function runGates(gates: readonly Gate[], context: GateContext): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const shared = gates.filter(({ alone }) => !alone);
  async function next(): Promise<void> {
    for (let gate = shared.shift(); gate; gate = shared.shift()) {
      verdicts.push(await runGate(gate, context));
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, next));
  for (const gate of gates.filter(({ alone }) => alone)) {
    verdicts.push(await runGate(gate, context));
  }
  return verdicts;
}

/** Reads the command line and runs; gives the exit code. */
async function main(args: string[]): Promise<number> {
  let asked: Arguments | undefined;
  try {
    asked = usage(() => parseArguments(args, Math.floor(Math.random() * 2 ** 31)));
  } catch (error) {
    return fail(error);
  }
  if (!asked) {
    console.log(HELP);
    return 0;
  }
  const { gates, seed } = asked;
  const abort = new AbortController();
  Deno.addSignalListener("SIGINT", () => abort.abort());
  console.log(`${gates.length} gates, seed ${seed}`);
  const verdicts = await runGates(gates, { seed, signal: abort.signal });
  const passed = verdicts.reduce((sum, verdict) => sum + verdict.passed, 0);
  const failed = verdicts.reduce((sum, verdict) => sum + verdict.failed, 0);
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
