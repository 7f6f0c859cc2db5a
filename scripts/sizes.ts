/**
 * The size gate: bundles the Worker and every module, and holds them to their budgets.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };
import { bundle, bundleWorker, stop, WORKER_ENTRY } from "./_bundle.ts";
import { ROOT } from "./_paths.ts";
import { table } from "./_table.ts";

/** The table's name for what is deployed. */
const WORKER = "(worker)";

/** At most this many bytes of gzip, by entry. */
const GZIP_BYTES_MAX: Readonly<Record<string, number>> = {
  [`./${WORKER_ENTRY}`]: 24_000,
  "./lib/page_views.ts": 8_000,
};

/** Bundles everything that has a name, prints the table, and tells what is too large. */
async function sizes(): Promise<string[]> {
  const entries = new Map<string, string>([
    [WORKER, `./${WORKER_ENTRY}`],
    ...Object.entries(config.exports).filter(([name]) => name !== "."),
  ]);
  const rows: (string | number)[][] = [["module", "bytes", "gzip", "at most", "files"]];
  const problems: string[] = [];
  for (const [name, path] of entries) {
    if (!await exists(path)) {
      problems.push(`${path} is missing`);
      continue;
    }
    const { bytes, gzipBytes, inputs } = await (name === WORKER ? bundleWorker() : bundle(path));
    const most = GZIP_BYTES_MAX[path];
    rows.push([name, bytes, gzipBytes, most ?? "", inputs.filter((i) => i.bytes > 0).length]);
    if (most !== undefined && gzipBytes > most) {
      problems.push(`${path} is ${gzipBytes} bytes of gzip: at most ${most} are allowed`);
    }
  }
  console.log(table(rows));
  return problems;
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
