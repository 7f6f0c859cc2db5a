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

import { DAYS_MAX, noteOf } from "../../views/report.ts";
import { parseJson } from "../../views/tally.ts";
import type { DayReport, RangeReport } from "../../views/types.ts";
import type { RouteContext } from "../route.ts";

/** How long a report is shared, in milliseconds, at first. */
const KEEP_MS = 60_000;
/** Readings of one day after which it is shared twice as long. */
const READS_TO_DOUBLE = 50;
/** Readings ahead of time between two regular ones. */
const EARLY_MAX = 3;
/** Days that every reader of a recent day shares. */
export const RECENT_DAYS = 14;
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
  readonly at: number;
  readonly early: number;
  readonly pending: number;
  readonly writes: number | null;
  readonly shared: Promise<Shared<unknown>>;
}

interface Memory {
  day: string;
  reads: number;
  readonly kept: Map<string, Kept>;
}

/**
 * One day's report. Days that are too old for the least of the shared reports are read each time: one
 * read, for they have no shards to list.
 *
 * @param context The request.
 * @param date The day, `YYYY-MM-DD`.
 * @returns The report.
 */
export async function shareDay(context: RouteContext, date: string): Promise<Shared<DayReport>> {
  const { at, report } = await shareRange(context, RECENT_DAYS);
  const day = report.days.find((each) => each.date === date);
  return { at, report: day ?? await context.reports.day(date) };
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
  const { at, report, pending } = await share(
    context,
    `days:${size}`,
    () => context.reports.days(size),
  );
  const days = report.days.slice(-count).map((day) => withPending(day, pending));
  const sum = (name: "total" | "damaged") => days.reduce((all, day) => all + day[name], 0);
  return { at, report: { ...report, days, total: sum("total"), damaged: sum("damaged") } };
}

function withPending(day: DayReport, pending: number): DayReport {
  if (!day.partial || day.pending === pending) return day;
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

async function share<T>(
  context: RouteContext,
  name: string,
  read: () => Promise<T>,
): Promise<Shared<T> & { readonly pending: number }> {
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
  const isEarly = hasMoved && old.early < EARLY_MAX && now - old.at < keepMs;
  let kept = old;
  if (!kept || isEarly || now - kept.at >= keepMs) {
    const shared = load(context, memory, { name, isEarly, keepMs, read }).catch((error) => {
      if (old) return old.shared;
      memory.kept.delete(name);
      throw error;
    });
    kept = { at: now, early: isEarly ? old.early + 1 : 0, pending, writes, shared };
    memory.kept.set(name, kept);
    // Others may be waiting for this reading, even when this client has gone.
    context.ctx.waitUntil(shared.catch(() => {}));
  }
  return { ...await kept.shared as Shared<T>, pending };
}

interface Reading<T> {
  readonly name: string;
  readonly isEarly: boolean;
  readonly keepMs: number;
  read(): Promise<T>;
}

/** Reads through the data center's cache, whose failures are no reason not to answer. */
async function load<T>(
  { edgeCache, clock, ctx }: RouteContext,
  memory: Memory,
  { name, isEarly, keepMs, read }: Reading<T>,
): Promise<Shared<T>> {
  const now = clock.now();
  const key = `report:${name}`;
  if (edgeCache && !isEarly) {
    const known = parseJson(await edgeCache.get(key).catch(() => undefined));
    if (known && now - (known as Shared<T>).at < keepMs) return known as Shared<T>;
  }
  memory.reads++;
  const shared = { at: now, report: await read() };
  if (edgeCache) {
    ctx.waitUntil(edgeCache.set(key, JSON.stringify(shared), keepMs / 1000).catch(() => {}));
  }
  return shared;
}
