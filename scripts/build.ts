/**
 * `deno task build`: bundles the Worker to `dist/worker.js`.
 *
 * @module
 */
import { bundleWorker, stop } from "./_bundle.ts";
import { fail, usage } from "./_failure.ts";
import { ROOT } from "./_paths.ts";
import { table } from "./_table.ts";
import { parseArgs } from "node:util";

const OUTPUT = "dist/worker.js";
const INPUTS_SHOWN = 12;
const BOOLEAN = { type: "boolean" } as const;

const HELP = `Bundle the Worker to ${OUTPUT}: one minified file, the bytes that are deployed.

Usage: deno task build [--quiet]

Options:
  --quiet  Print the sizes only, not what went in
  --help   Print this
`;

/** Bundles the Worker and writes it; `quiet` leaves out the table of sources. */
async function buildWorker({ quiet }: { readonly quiet: boolean }): Promise<void> {
  const { code, bytes, gzipBytes, inputs } = await bundleWorker().finally(stop);
  await Deno.mkdir(`${ROOT}dist`, { recursive: true });
  await Deno.writeFile(`${ROOT}${OUTPUT}`, code);
  if (!quiet) {
    const rest = inputs.slice(INPUTS_SHOWN);
    const restBytes = rest.reduce((sum, input) => sum + input.bytes, 0);
    console.log(table([
      ["source", "bytes"],
      ...inputs.slice(0, INPUTS_SHOWN).map((input) => [input.path, input.bytes]),
      ...rest.length > 0 ? [[`${rest.length} more`, restBytes]] : [],
    ]));
  }
  console.log(
    `${OUTPUT}: ${bytes.toLocaleString("en-US")} bytes, ${
      gzipBytes.toLocaleString("en-US")
    } bytes gzip`,
  );
}

/** Reads the command line and builds; gives the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const { values } = usage(() => parseArgs({ args, options: { quiet: BOOLEAN, help: BOOLEAN } }));
    if (values.help) console.log(HELP);
    else await buildWorker({ quiet: values.quiet ?? false });
    return 0;
  } catch (error) {
    return fail(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
