/**
 * `deno task replay FILE`: runs the rules over an access log and says what would have been counted.
 *
 * @module
 */
import { type ClassifyOptions, createClassifier } from "../lib/views/classify.ts";
import { Calendar } from "../lib/views/day.ts";
import { countsOf, emptyTally, type Tally, tallyVerdict } from "../lib/views/tally.ts";
import type { DayCounts, TrafficWarning } from "../lib/views/types.ts";
import { trafficWarning } from "../lib/views/warning.ts";
import { fail, usage } from "./_failure.ts";
import { parseLogLine } from "./_log_lines.ts";
import { readSiteRules } from "./_site_rules.ts";
import { table } from "./_table.ts";
import { parseArgs } from "node:util";

/** Longer lines are not looked at. */
const LINE_CHARACTERS_MAX = 65_536;
/** Keys told apart over the whole log, and how many of them are printed. */
const KEYS_MAX = 1_000;
const KEYS_SHOWN = 10;
/** Days told apart; a log that claims more is odd. */
const DAYS_MAX = 1_000;
const PROGRESS_LINES = 50_000;

const HELP = `Run the rules over an access log and print what would have been counted.

Usage: deno task replay FILE [options]

FILE is in the combined format (Apache, nginx, Caddy) or Cloudflare's JSON lines (Logpush's
http_requests, "wrangler tail --format json"); it may be gzipped; "-" is the standard input.

Options:
  --host HOST       The site's host, for logs that do not tell it. Default: localhost
  --time-zone ZONE  The zone whose days are counted. Default: TIME_ZONE of wrangler.toml, or UTC
  --json            Print JSON
  --help            Print this

A log in the combined format tells neither Content-Type nor Sec-Fetch: what has no extension of data
is taken for a page, and no view for a verified browser's. The site's settings are read from the
[vars] of wrangler.toml.
`;

/** How a log is replayed. */
export interface ReplayOptions {
  /** The rules. */
  readonly rules?: ClassifyOptions;
  /** The site's host, for logs that do not tell it. */
  readonly host?: string;
  /** The zone whose days are counted. */
  readonly timeZone?: string;
  /** Told every 50,000 lines how many lines and bytes have been read. */
  readonly onProgress?: (lines: number, bytes: number) => void;
}

/** What a log comes to. */
export interface Replay {
  /** Lines that are not empty. */
  readonly lines: number;
  /** Lines that are no requests. */
  readonly unreadable: number;
  /** The zone whose days are counted. */
  readonly timeZone: string;
  /** Over the whole log. */
  readonly all: DayCounts;
  /** By day, the earliest first. */
  readonly days: readonly (DayCounts & { date: string; warning: TrafficWarning | null })[];
}

/**
 * Replays a log in bounded memory.
 *
 * @param log The log's bytes, not compressed.
 * @param options The rules, and what the log does not tell.
 * @returns What it comes to.
 */
export async function replay(
  log: ReadableStream<Uint8Array<ArrayBuffer>>,
  options: ReplayOptions = {},
): Promise<Replay> {
  const { rules, host = "localhost", timeZone = "UTC", onProgress } = options;
  const classify = createClassifier(rules);
  const calendar = new Calendar(timeZone);
  const all = emptyTally();
  const days = new Map<string, Tally>();
  let lines = 0;
  let unreadable = 0;
  let bytes = 0;

  function take(line: string): void {
    if (line.trim() === "") return;
    lines += 1;
    const entry = line.length > LINE_CHARACTERS_MAX ? undefined : parseLogLine(line, host);
    const day = entry && dayOf(calendar, days, entry.ms);
    if (!entry || !day) {
      unreadable += 1;
      return;
    }
    const verdict = classify(entry.request, entry.response);
    tallyVerdict(day, verdict);
    tallyVerdict(all, verdict, KEYS_MAX);
  }

  let rest = "";
  let told = 0;
  const counted = log.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        bytes += chunk.length;
        controller.enqueue(chunk);
      },
    }),
  );
  for await (const text of counted.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    // Of an endless line only the beginning is kept: enough to know that it is too long.
    rest = (parts.pop() ?? "").slice(0, LINE_CHARACTERS_MAX + 1);
    for (const part of parts) take(part);
    if (lines - told >= PROGRESS_LINES) onProgress?.(told = lines, bytes);
  }
  take(rest);
  onProgress?.(lines, bytes);
  return {
    lines,
    unreadable,
    timeZone,
    all: countsOf(all),
    days: [...days].sort(([a], [b]) => a < b ? -1 : 1).map(([date, tally]) => {
      const counts = countsOf(tally);
      return { date, ...counts, warning: trafficWarning(counts) };
    }),
  };
}

function dayOf(calendar: Calendar, days: Map<string, Tally>, ms: number): Tally | undefined {
  if (!(Math.abs(ms) < 8e15)) return undefined;
  const { name } = calendar.dayAt(ms);
  const known = days.get(name);
  if (known || days.size >= DAYS_MAX) return known;
  const tally = emptyTally();
  days.set(name, tally);
  return tally;
}

function textOf({ lines, unreadable, timeZone, all, days }: Replay): string {
  const top = (title: string, counts: Record<string, number>) => {
    const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
    return sorted.length === 0
      ? []
      : [table([[title, "requests"], ...sorted.slice(0, KEYS_SHOWN)])];
  };
  const skipped = Object.values(all.skipped).reduce((sum, count) => sum + count, 0);
  const rows = days.map(({ date, total, skipped, warning }) => [
    date,
    total,
    Object.values(skipped).reduce((sum, count) => sum + count, 0),
    warning === null ? "" : "looks automated",
  ]);
  return [
    table([
      ["", "requests"],
      ["counted", all.total],
      ["skipped", skipped],
      ["unreadable", unreadable],
      ["lines", lines],
    ]),
    ...top("skipped because", all.skipped),
    ...top("kind of view", all.kinds),
    ...top("page", all.paths),
    ...top("source", all.refs),
    table([[`day (${timeZone})`, "counted", "skipped", "warning"], ...rows]),
  ].join("\n\n");
}

/** The bytes of a file or of the standard input, and how many there are where that is known. */
async function open(
  file: string,
): Promise<{ log: ReadableStream<Uint8Array<ArrayBuffer>>; size: number | undefined }> {
  if (file === "-") return { log: Deno.stdin.readable, size: undefined };
  const { readable } = await Deno.open(file);
  if (!file.endsWith(".gz")) return { log: readable, size: (await Deno.stat(file)).size };
  return { log: readable.pipeThrough(new DecompressionStream("gzip")), size: undefined };
}

/** Shows how far it is, where somebody looks. */
function showProgress(lines: number, bytes: number, size: number | undefined): void {
  if (!Deno.stderr.isTerminal()) return;
  const share = size === undefined ? "" : `, ${Math.floor(bytes * 100 / Math.max(1, size))} %`;
  Deno.stderr.writeSync(
    new TextEncoder().encode(`\r${lines.toLocaleString("en-US")} lines${share}`),
  );
}

/** Reads the command line and replays; gives the exit code. */
async function main(args: string[]): Promise<number> {
  const string = { type: "string" } as const;
  const boolean = { type: "boolean" } as const;
  try {
    const { values, positionals } = usage(() =>
      parseArgs({
        args,
        options: { host: string, "time-zone": string, json: boolean, help: boolean },
        allowPositionals: true,
      })
    );
    if (values.help) {
      console.log(HELP);
      return 0;
    }
    const [file] = positionals;
    if (file === undefined || positionals.length > 1) {
      return usage(() => {
        throw new TypeError(`Cannot replay ${positionals.length} files: expected one`);
      });
    }
    const site = await readSiteRules();
    const { log, size } = await open(file);
    const result = await replay(log, {
      rules: site.rules,
      host: values.host ?? "localhost",
      timeZone: values["time-zone"] ?? site.timeZone,
      onProgress: (lines, bytes) => showProgress(lines, bytes, size),
    });
    if (Deno.stderr.isTerminal()) console.error();
    console.log(values.json ? JSON.stringify(result, undefined, 2) : textOf(result));
    if (result.lines > 0 && result.unreadable === result.lines) {
      throw new TypeError("No line could be read: is the log in one of the formats of --help?");
    }
    return 0;
  } catch (error) {
    return fail(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
