/**
 * Reports that many readers share, so that looking at them costs few lists: the free plan has 1,000 a
 * day, for everything.
 *
 * A report is read once a minute at most, less and less often when many are read a day, and at once
 * when this data center has stored something since, up to three times a minute. In between it comes
 * from memory or from the data center's cache; only what waits to be stored is always up to date.
 *
 * @module
 */

import { addDays } from "../../views/day.ts";
import { DAYS_KEPT } from "../../views/day_keeper.ts";
import { DAYS_MAX, noteOf } from "../../views/report.ts";
import { parseJson } from "../../views/tally.ts";
import type { DayReport, RangeReport } from "../../views/types.ts";
import type { RouteContext, StoredRange } from "../route.ts";

/** How long a report is shared, in milliseconds, at first. */
const KEEP_MS = 60_000;
/** Readings of one day after which it is shared twice as long. */
const READS_TO_DOUBLE = 50;
/** Readings ahead of time between two regular ones. */
const EARLY_MAX = 3;
/** Days that every reader of a recent day shares. */
const RECENT_DAYS = 14;
/** Days that are read at once. */
const SIZES = [RECENT_DAYS, 60, DAYS_MAX] as const;
/** A report and when it was read. */
export interface Shared<T> {
  /** When, in milliseconds since the epoch. */
  readonly at: number;
  /** The report. */
  readonly report: T;
}

interface Kept {
  readonly day: string;
  readonly at: number;
  readonly early: number;
  readonly pending: number;
  readonly writes: number | null;
  readonly shared: Promise<Shared<StoredRange>>;
}

interface Memory {
  day: string;
  reads: number;
  readonly kept: Map<string, Kept>;
}

/**
 * One day's report, and those of up to seven days before as far as they are at hand. Days that are too old for the least of the shared reports are read each time: one
 * read, for they have no shards to list.
 *
 * @param context The request.
 * @param date The day, `YYYY-MM-DD`.
 * @returns The report.
 */
export async function shareDay(
  context: RouteContext,
  date: string,
): Promise<Shared<DayReport> & { readonly before: readonly DayReport[] }> {
  const { at, report: { days } } = await shareRange(context, RECENT_DAYS);
  const i = days.findIndex((each) => each.date === date);
  const before = days.slice(Math.max(0, i - 7), Math.max(0, i));
  return { at, report: days[i] ?? await context.reports.day(date), before };
}

/**
 * The report of the last days. Cut from one of three sizes, so that readers of different periods share
 * what was read and see the same numbers.
 *
 * @param context The request.
 * @param count How many.
 * @returns The report.
 */
export async function shareRange(
  context: RouteContext,
  count: number,
): Promise<Shared<RangeReport>> {
  const size = SIZES.find((each) => each >= count) ?? DAYS_MAX;
  const { at, report: { stored, ...report } } = await share(context, size);
  const known = new Map(stored);
  const days = await Promise.all(
    report.days.slice(-count).map((day) => withPending(context, day, known)),
  );
  const sum = (name: "total" | "damaged") => days.reduce((all, day) => all + day[name], 0);
  return { at, report: { ...report, days, total: sum("total"), damaged: sum("damaged") } };
}

/** Of what was stored meanwhile, only the report tells which part it has: none must count twice. */
async function withPending(
  { views, reports }: RouteContext,
  day: DayReport,
  stored: ReadonlyMap<string, number>,
): Promise<DayReport> {
  if (day.date < addDays(reports.today(), 1 - DAYS_KEPT)) return day;
  const pending = await views.pending(day.date, stored);
  if (day.pending === pending) return day;
  const now = { ...day, pending };
  return { ...now, note: noteOf(now) };
}

function memoryOf(context: RouteContext): Memory {
  return context.once<Memory>("sharedReports", () => ({ day: "", reads: 0, kept: new Map() }));
}

/**
 * Forgets what this isolate and its data center's cache share, because what is stored has changed.
 *
 * @param context The request.
 */
export async function forgetReports(context: RouteContext): Promise<void> {
  const { kept } = memoryOf(context);
  const names = [...kept.keys()];
  kept.clear();
  await Promise.all(names.map((name) => context.edgeCache?.set(`report:${name}`, "", 60)));
}

async function share(
  context: RouteContext,
  size: number,
): Promise<Shared<StoredRange>> {
  const name = `days:${size}`;
  const { views, reports, clock } = context;
  const today = reports.today();
  const pending = await views.pending(today);
  const { networkWrites: writes } = views.status();
  const memory = memoryOf(context);
  if (memory.day !== today) Object.assign(memory, { day: today, reads: 0 });
  const now = clock.now();
  const keepMs = KEEP_MS * 2 ** Math.floor(memory.reads / READS_TO_DOUBLE);
  const old = memory.kept.get(name);
  const hasMoved = old !== undefined && (old.writes !== writes || pending < old.pending);
  // What was read yesterday ends with yesterday.
  const isGood = old?.day === today && isYoung(old, now, keepMs);
  const isEarly = hasMoved && old.early < EARLY_MAX && isGood;
  let kept = old;
  if (!kept || isEarly || !isGood) {
    const shared = load(context, memory, { size, isEarly, keepMs }).catch((error) => {
      if (old) return old.shared;
      memory.kept.delete(name);
      throw error;
    });
    kept = { day: today, at: now, early: isEarly ? old.early + 1 : 0, pending, writes, shared };
    memory.kept.set(name, kept);
    // Others may be waiting for this reading, even when this client has gone.
    context.ctx.waitUntil(shared.catch(() => {}));
  }
  return await kept.shared;
}

/** A clock that was set back must not keep a report for good. */
function isYoung({ at }: { readonly at: number }, now: number, keepMs: number): boolean {
  return Math.abs(now - at) < keepMs;
}

interface Reading {
  readonly size: number;
  readonly isEarly: boolean;
  readonly keepMs: number;
}

/** Reads through the data center's cache, whose failures are no reason not to answer. */
async function load(
  { edgeCache, clock, ctx, reports }: RouteContext,
  memory: Memory,
  { size, isEarly, keepMs }: Reading,
): Promise<Shared<StoredRange>> {
  const now = clock.now();
  const key = `report:days:${size}`;
  if (edgeCache && !isEarly) {
    const known = parseJson(await quietly(() => edgeCache.get(key))) as Shared<StoredRange>;
    // An entry may be old, of the day before, or anything at all.
    const days = known?.report?.days;
    const isWhole = Array.isArray(days) && days.length >= size &&
      Array.isArray(known.report.stored) && days.at(-1)?.date === reports.today();
    if (isWhole && isYoung(known, now, keepMs)) return known;
  }
  memory.reads++;
  const shared = { at: now, report: await reports.days(size) };
  if (edgeCache) {
    ctx.waitUntil(quietly(() => edgeCache.set(key, JSON.stringify(shared), keepMs / 1000)));
  }
  return shared;
}

/** `undefined` where it fails, at once or later. */
async function quietly<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}
