/**
 * `deno task import`: brings in days that were counted elsewhere.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { fail, usage } from "./_failure.ts";
import { type Days, finishDays, type ImportDay, readImport } from "./_import_formats.ts";
import { table } from "./_table.ts";
import { askWorker, LOCAL_URL, readBase } from "./_traffic_client.ts";

/** Days of one request: what the Worker takes at once. */
const DAYS_AT_ONCE = 25;
/** Days that are shown, today among them, and so can be imported. */
const DAYS_KEPT = 90;

const HELP = `Import days that were counted elsewhere.

Usage: deno task import FILE... [--url URL] [--site URL] [--dry-run]

Options:
  --url URL   The Worker. Default: ${LOCAL_URL}
  --site URL  The site whose own links the files call referrers. Default: the Worker's address
  --dry-run   Say what would be done, and do nothing
  --help      Print this

Files: an export of /api/export, the buckets traffic:<day> as JSON, GoatCounter's CSV export, or the
imported_pages, imported_sources and imported_visitors CSV files of a Plausible export together.

The secret ADMIN_TOKEN is read from the environment. Of a stored and an imported day the fuller one
stands, so that a repeat changes nothing; what the site has counted in the last eight days stays as it
is. Each day that is imported costs a write, so begin early in the day of UTC or with few days.
`;

interface Options {
  readonly files: readonly string[];
  readonly url: string;
  readonly site: string;
  readonly dryRun: boolean;
}

/** Reads the command line; `undefined` when help was asked for. */
function readArguments(args: string[]): Options | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      url: { type: "string", default: LOCAL_URL },
      site: { type: "string" },
      "dry-run": { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  if (positionals.length === 0) throw new RangeError("No file is given: expected at least one");
  const url = readBase(values.url);
  const site = readBase(values.site ?? values.url);
  return { files: positionals, url, site, dryRun: values["dry-run"] };
}

/** Reads all files; one that is given twice counts once. */
async function readFiles({ files, site }: Options): Promise<ImportDay[]> {
  const days: Days = new Map();
  const seen = new Set<string>();
  for (const file of files) {
    const text = await Deno.readTextFile(file);
    if (seen.has(text)) continue;
    seen.add(text);
    try {
      const read = readImport(text, days, site);
      console.log(`${file}: ${read.format}, ${daysText(read.days)}`);
    } catch (error) {
      throw new Error(`${file}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return finishDays(days);
}

function daysText(days: number): string {
  return days === 1 ? "1 day" : `${days} days`;
}

/** What is stored, by day. */
async function readStored(url: string): Promise<Map<string, number>> {
  const text = await (await askWorker(url, "/api/export")).text();
  const days = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return new Map(days.map(({ date, total }) => [date, total]));
}

/** Sends the days in order; what was sent before an error stays. */
async function send(url: string, days: readonly ImportDay[]): Promise<Map<string, string>> {
  const actions = new Map<string, string>();
  for (let i = 0; i < days.length; i += DAYS_AT_ONCE) {
    const body = days.slice(i, i + DAYS_AT_ONCE).map((day) => `${JSON.stringify(day)}\n`).join("");
    const answer = await askWorker(url, "/api/import", { method: "POST", body });
    const { days: done } = await answer.json() as { days: { date: string; action: string }[] };
    for (const { date, action } of done) actions.set(date, action);
    console.log(`${actions.size} of ${days.length} days`);
  }
  return actions;
}

async function importAll(options: Options): Promise<void> {
  const all = await readFiles(options);
  const oldest = new Date(Date.now() - (DAYS_KEPT - 1) * 86_400_000).toISOString().slice(0, 10);
  const days = all.filter(({ date }) => date >= oldest);
  const stored = await readStored(options.url);
  const actions = options.dryRun
    ? new Map(
      days.map(({ date, total }) => [date, total > (stored.get(date) ?? 0) ? "write" : "keep"]),
    )
    : await send(options.url, days);
  console.log(table([
    ["day", "stored", "imported", options.dryRun ? "would" : "done"],
    ...days.map(({ date, total }) => [date, stored.get(date) ?? 0, total, actions.get(date) ?? ""]),
  ]));
  const written = [...actions.values()].filter((action) => action === "write").length;
  console.log(
    `${daysText(written)} ${options.dryRun ? "would be " : ""}written, ${
      actions.size - written
    } kept as they are, ${all.length - days.length} too old: days are kept for ${DAYS_KEPT} days`,
  );
}

/** Reads the command line and imports; gives the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const options = usage(() => readArguments(args));
    if (!options) {
      console.log(HELP);
      return 0;
    }
    await importAll(options);
    return 0;
  } catch (error) {
    return fail(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
