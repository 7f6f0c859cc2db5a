/**
 * Reads what other counters, and this one, have exported.
 *
 * @module
 */
import { createPathKey } from "../lib/views/paths.ts";
import { createReferrerKey } from "../lib/views/referrers.ts";
import {
  addTally,
  capTally,
  countsOf,
  emptyTally,
  parseJson,
  parseTally,
} from "../lib/views/tally.ts";
import type { CountMap, Tally } from "../lib/views/tally.ts";
import type { DayCounts } from "../lib/views/types.ts";
import { readCsv } from "./_csv.ts";

/** Days by date, as far as read. */
export type Days = Map<string, Tally>;

/** One day as it is sent. */
export interface ImportDay extends DayCounts {
  /** The format's version. */
  readonly v: 1;
  /** The day, `YYYY-MM-DD`. */
  readonly date: string;
}

/** What a file turned out to be. */
export interface ImportedFile {
  /** The format, in words. */
  readonly format: string;
  /** Days that the file named. */
  readonly days: number;
}

/** Sources that GoatCounter and Plausible call by name, and where they are. */
const NAMED_SOURCES: Readonly<Record<string, string>> = {
  "bing": "bing.com",
  "duckduckgo": "duckduckgo.com",
  "facebook": "facebook.com",
  "github": "github.com",
  "google": "google.com",
  "hacker news": "news.ycombinator.com",
  "instagram": "instagram.com",
  "linkedin": "linkedin.com",
  "lobsters": "lobste.rs",
  "reddit": "reddit.com",
  "twitter": "twitter.com",
  "wikipedia": "wikipedia.org",
  "youtube": "youtube.com",
};

type Row = ReadonlyMap<string, string>;

/** Adds to a day. `part` is what the number is a sum of; `total` is a day's number without parts. */
type Add = (
  date: string,
  part: "paths" | "refs" | "skipped" | "total",
  key: string,
  n: number,
) => void;

/** A CSV format: known by its columns, read row by row. */
interface Format {
  readonly name: string;
  readonly columns: readonly string[];
  read(row: Row, add: Add, keys: Keys): void;
}

interface Keys {
  path(target: string): string;
  referrer(referrer: string): string;
}

const FORMATS: readonly Format[] = [
  { name: "GoatCounter", columns: ["2Path", "Event", "Bot", "Referrer", "Date"], read: readHit },
  { name: "GoatCounter", columns: ["1Path", "Event", "Bot", "Referrer", "Date"], read: readHit },
  { name: "Plausible pages", columns: ["date", "page", "pageviews"], read: readPage },
  { name: "Plausible sources", columns: ["date", "source", "pageviews"], read: readSource },
  {
    name: "Plausible visitors",
    columns: ["date", "visitors", "pageviews", "bounces"],
    read: readDay,
  },
];

/** One page view or event. Bots are counted as skipped, events not at all. */
function readHit(row: Row, add: Add, { path, referrer }: Keys): void {
  const cell = (name: string) => row.get(name) ?? "";
  const date = cell("Date").slice(0, 10);
  if (/^(true|1)$/i.test(cell("Event"))) return;
  if (!/^0?$/.test(cell("Bot"))) return add(date, "skipped", "bot", 1);
  add(date, "paths", path(cell("2Path") || cell("1Path")), 1);
  add(date, "refs", referrer(cell("Referrer")), 1);
}

function readPage(row: Row, add: Add, { path }: Keys): void {
  add(row.get("date") ?? "", "paths", path(row.get("page") ?? ""), Number(row.get("pageviews")));
}

function readSource(row: Row, add: Add, { referrer }: Keys): void {
  const source = row.get("referrer") || row.get("source") || "";
  add(row.get("date") ?? "", "refs", referrer(source), Number(row.get("pageviews")));
}

function readDay(row: Row, add: Add): void {
  add(row.get("date") ?? "", "total", "", Number(row.get("pageviews")));
}

/**
 * Reads a file into days. Several files of one export go into the same days.
 *
 * @param text The file.
 * @param days What grows.
 * @param site The site's own address, by which its own links are told.
 * @returns What the file was.
 * @throws {Error} If the file is nothing that is known.
 */
export function readImport(text: string, days: Days, site: string): ImportedFile {
  const json = readJsonDays(text);
  if (json) {
    for (const [date, tally] of json) addTally(dayOf(days, date), tally);
    return { format: "buckets by day", days: json.length };
  }
  const rows = readCsv(text);
  const format = FORMATS.find(({ columns }) => columns.every((name) => rows[0]?.has(name)));
  if (!format) {
    throw new Error(
      "Cannot tell what this is: expected an export of Scrimp, GoatCounter (version 1 or 2) or Plausible, or the buckets of traffic:<day> as JSON",
    );
  }
  const seen = new Set<string>();
  const keys = keysOf(site);
  const add: Add = (date, part, key, count) => {
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || !Number.isSafeInteger(count) || count <= 0) return;
    seen.add(date);
    const tally = dayOf(days, date);
    if (part === "total") tally.total = Math.max(tally.total, count);
    else tally[part].set(key, (tally[part].get(key) ?? 0) + count);
  };
  for (const row of rows) format.read(row, add, keys);
  return { format: format.name, days: seen.size };
}

function keysOf(site: string): Keys {
  const pathKey = createPathKey();
  const referrerKey = createReferrerKey();
  return {
    path: (target) => pathKey(target.startsWith("/") ? target : `/${target}`),
    referrer: (referrer) => {
      const name = referrer.trim().toLowerCase();
      if (name === "" || name === "direct / none") return "direct";
      const place = Object.hasOwn(NAMED_SOURCES, name) ? NAMED_SOURCES[name] : referrer.trim();
      return referrerKey(/^[a-z-]+:\/\//i.test(`${place}`) ? `${place}` : `https://${place}`, site);
    },
  };
}

function dayOf(days: Days, date: string): Tally {
  const tally = days.get(date) ?? emptyTally();
  days.set(date, tally);
  return tally;
}

/**
 * Buckets as JSON: one, a list, an object by key, wrangler's `[{ key, value }]`, or one a line.
 * `undefined` where it is no JSON.
 */
function readJsonDays(text: string): [string, Tally][] | undefined {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return undefined;
  const whole = parseJson(trimmed);
  const values = whole === undefined ? trimmed.split(/\r?\n/).map(parseJson) : [whole];
  return values.flatMap((value) => findDays("", value));
}

function findDays(key: string, value: unknown): [string, Tally][] {
  if (typeof value === "string") return findDays(key, parseJson(value));
  if (Array.isArray(value)) return value.flatMap((each) => findDays(key, each));
  if (typeof value !== "object" || value === null) return [];
  const tally = parseTally(value);
  const entry = value as { date?: unknown; key?: unknown; name?: unknown; value?: unknown };
  const date = /\d{4}-\d\d-\d\d$/.exec(key || String(entry.date ?? ""))?.[0];
  if (tally && date !== undefined) return [[date, tally]];
  if (entry.value !== undefined) {
    return findDays(String(entry.key ?? entry.name ?? ""), entry.value);
  }
  return Object.entries(value).flatMap(([name, each]) => findDays(name, each));
}

/**
 * Makes days fit to be sent: at most 30 pages and sources, and sums that agree. Where a part is known
 * for fewer views than another, the difference is `other`.
 *
 * @param days What was read.
 * @returns The days with views, oldest first.
 */
export function finishDays(days: Days): ImportDay[] {
  const finished: ImportDay[] = [];
  for (const [date, tally] of [...days].sort(([a], [b]) => a < b ? -1 : 1)) {
    const total = Math.max(tally.total, sumOf(tally.paths), sumOf(tally.refs));
    if (total === 0) continue;
    const kinds = tally.kinds.size > 0 ? tally.kinds : new Map([["unverified", total]]);
    for (const counts of [tally.paths, tally.refs]) fill(counts, "other", total);
    fill(kinds, "unverified", total);
    finished.push({ v: 1, date, ...countsOf(capTally({ ...tally, total, kinds })) });
  }
  return finished;
}

function sumOf(counts: CountMap): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function fill(counts: CountMap, key: string, total: number): void {
  const missing = total - sumOf(counts);
  if (missing > 0) counts.set(key, (counts.get(key) ?? 0) + missing);
}
