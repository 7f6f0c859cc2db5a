/**
 * `deno task report`: the traffic report in the terminal.
 *
 * @module
 */
import { parseArgs } from "node:util";
import type { RangeReport } from "../lib/views/types.ts";
import { fail, usage } from "./_failure.ts";
import { reportText } from "./_report_text.ts";
import { askWorker, LOCAL_URL, readBase } from "./_traffic_client.ts";

const HELP = `Show the traffic report in the terminal.

Usage: deno task report [URL] [--days N] [--json]

Options:
  URL       The Worker. Default: ${LOCAL_URL}
  --days N  Days up to today, 1 to 90. Default: 14
  --json    Print the API's answer instead
  --help    Print this

Private numbers need the secret ADMIN_TOKEN in the environment. Colors are used on a terminal only, and
not where NO_COLOR is set.
`;

interface Options {
  readonly url: string;
  readonly days: string;
  readonly json: boolean;
}

/** Reads the command line; `undefined` when help was asked for. */
function readArguments(args: string[]): Options | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      days: { type: "string", default: "14" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  if (positionals.length > 1) throw new RangeError("Too many addresses: expected at most one");
  if (!/^[1-9]\d?$/.test(values.days) || Number(values.days) > 90) {
    throw new RangeError(`Cannot use days "${values.days}": expected an integer from 1 to 90`);
  }
  return { url: readBase(positionals[0] ?? LOCAL_URL), days: values.days, json: values.json };
}

/** The columns of the terminal, where there is one. */
function columns(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return 80;
  }
}

/** Reads the command line and prints; gives the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const options = usage(() => readArguments(args));
    if (!options) {
      console.log(HELP);
      return 0;
    }
    const answer = await askWorker(options.url, `/api/traffic?days=${options.days}`);
    const report: RangeReport = await answer.json();
    const color = Deno.stdout.isTerminal() && !Deno.env.get("NO_COLOR");
    console.log(
      options.json
        ? JSON.stringify(report, undefined, 2)
        : reportText(report, { color, columns: columns() }),
    );
    return 0;
  } catch (error) {
    return fail(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
