/**
 * The size gate: bundles the Worker and every module. None may grow above its ceiling; where a ceiling
 * is still above the goal, the gate says by how much the goal is missed.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };
import { bundle, bundleWorker, stop, WORKER_ENTRY } from "./_bundle.ts";
import { ROOT } from "./_paths.ts";
import { table } from "./_table.ts";

/** The table's name for what is deployed. */
const WORKER = "(worker)";

/** Bytes of gzip by entry: what is wanted, and the ceiling that is only ever lowered towards it. */
const GZIP_BYTES: Readonly<Record<string, { readonly goal: number; readonly most: number }>> = {
  [`./${WORKER_ENTRY}`]: { goal: 24_000, most: 45_500 },
  "./lib/page_views.ts": { goal: 8_000, most: 14_000 },
};

/** What the README says of the counter and of the Worker, and how far it may be behind. */
const README_SIZES = /counter alone is ([\d,]+) bytes of gzip, the\s+whole Worker ([\d,]+)/;
const README_BEHIND_MAX = 1.02;

/** Bundles everything that has a name, prints the table, and tells what is too large. */
async function sizes(): Promise<string[]> {
  const entries = new Map<string, string>([
    [WORKER, `./${WORKER_ENTRY}`],
    ...Object.entries(config.exports).filter(([name]) => name !== "."),
  ]);
  const rows: (string | number)[][] = [["module", "bytes", "gzip", "goal", "at most", "files"]];
  const problems: string[] = [];
  const missed: string[] = [];
  const measured = new Map<string, number>();
  for (const [name, path] of entries) {
    if (!await exists(path)) {
      problems.push(`${path} is missing`);
      continue;
    }
    const { bytes, gzipBytes, inputs } = await (name === WORKER ? bundleWorker() : bundle(path));
    measured.set(name, gzipBytes);
    const { goal, most } = GZIP_BYTES[path] ?? {};
    const files = inputs.filter((i) => i.bytes > 0).length;
    rows.push([name, bytes, gzipBytes, goal ?? "", most ?? "", files]);
    if (most !== undefined && gzipBytes > most) {
      problems.push(`${path} is ${gzipBytes} bytes of gzip: at most ${most} are allowed`);
    }
    if (goal !== undefined && gzipBytes > goal) {
      missed.push(`GOAL MISSED: ${path} is ${gzipBytes - goal} bytes of gzip above ${goal}`);
    }
  }
  console.log(table(rows));
  for (const line of missed) console.log(line);
  const readme = await Deno.readTextFile(`${ROOT}README.md`);
  return [...problems, ...staleSizes(readme, measured)];
}

/** Numbers in the README that are lower than what is measured, or far above it. */
function staleSizes(readme: string, measured: ReadonlyMap<string, number>): string[] {
  const [, counter = "", worker = ""] = README_SIZES.exec(readme) ?? [];
  return [["./page-views", counter] as const, [WORKER, worker] as const].flatMap(([name, text]) => {
    const said = Number(text.replaceAll(",", ""));
    const bytes = measured.get(name) ?? NaN;
    const isTrue = said >= bytes && said <= bytes * README_BEHIND_MAX;
    return isTrue ? [] : [`README.md says "${text}" of ${name}: ${bytes} are measured`];
  });
}

/** Whether there is such a file in the repository. */
async function exists(path: string): Promise<boolean> {
  return await Deno.stat(ROOT + path).then(() => true, () => false);
}

if (import.meta.main) {
  const problems = await sizes().finally(stop);
  for (const problem of problems) console.error(problem);
  Deno.exit(problems.length > 0 ? 1 : 0);
}
