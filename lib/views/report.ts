/**
 * Answers what was counted, from what is stored.
 *
 * @module
 */

import { readMany } from "../kv/read_many.ts";
import type { Budget } from "../budget.ts";
import type { Kv } from "../kv/kv.ts";
import { addDays, type Calendar } from "./day.ts";
import { rollUpKey } from "./census.ts";
import { applyTemplates, type PathTemplates } from "./paths.ts";
import { mergeStored, type StoredDay } from "./roll_up.ts";
import { coloOf, type ListedShard, listShards } from "./shard.ts";
import { countsOf } from "./tally.ts";
import type { DayReport, Freshness, RangeReport } from "./types.ts";
import { trafficWarning } from "./warning.ts";

/** What a report is made with. */
export interface ReportContext {
  /** The store. */
  readonly kv: Kv;
  /** The time, in milliseconds. */
  readonly now: number;
  /** Days. */
  readonly calendar: Calendar;
  /** Turns paths that were stored before the site had templates into these. */
  readonly templates?: PathTemplates;
  /** Views of today that the answering data center has not stored. */
  readonly pending?: number;
  /** Told which of a day's views, by shard, the report has. */
  readonly learn?: (day: string, writers: ReadonlyMap<string, number>) => void;
  /** Where the operations are booked. */
  readonly budget?: Budget;
}

/** Days of one report at most. */
export const DAYS_MAX = 90;

/** After how many days a day has no shards: late ones are written for three and kept for eight. */
const SHARDS_GONE_DAYS = 12;

/**
 * Reports one day. One list, one read, and one more for each shard that is not rolled up. A day that can
 * have no shards, too old or yet to come, costs one read: nobody can spend the lists by asking for it.
 *
 * @param context What it is made with.
 * @param day The day, `YYYY-MM-DD`.
 * @returns The report.
 */
export async function reportDay(context: ReportContext, day: string): Promise<DayReport> {
  const { kv, budget, calendar, now } = context;
  const today = calendar.dayAt(now).name;
  const hasShards = day <= today && addDays(day, SHARDS_GONE_DAYS) >= today;
  budget?.note("views", "read");
  const [{ shards }, stored] = await Promise.all([
    hasShards ? listShards(kv, day, budget) : { shards: [] },
    kv.get(rollUpKey(day)),
  ]);
  const merged = await mergeStored(kv, day, shards, stored, budget);
  context.learn?.(day, merged.writers);
  return toReport(context, day, merged);
}

/**
 * Reports several days up to today. One list (for each 1,000 shards of the last eight days), one read
 * a day, and one more for each shard that is not rolled up.
 *
 * @param context What it is made with.
 * @param count Days, 1 to 90.
 * @returns The report, oldest day first.
 */
export async function reportDays(context: ReportContext, count: number): Promise<RangeReport> {
  const { kv, now, calendar, budget } = context;
  const today = calendar.dayAt(now).name;
  const names = Array.from({ length: count }, (_, index) => addDays(today, index - count + 1));
  budget?.note("views", "read", count);
  const [{ shards }, stored] = await Promise.all([
    listShards(kv, undefined, budget),
    readMany(kv, names.map(rollUpKey)),
  ]);
  const byDay = new Map<string, ListedShard[]>(names.map((name) => [name, []]));
  for (const shard of shards) byDay.get(shard.day)?.push(shard);
  const days: DayReport[] = [];
  for (const name of names) {
    const rolled = stored.get(rollUpKey(name)) ?? null;
    // deno-lint-ignore scrimp/no-await-in-loop -- few days have shards; the others cost nothing
    const day = await mergeStored(kv, name, byDay.get(name) ?? [], rolled, budget);
    context.learn?.(name, day.writers);
    days.push(toReport(context, name, day));
  }
  return {
    days,
    total: days.reduce((sum, { total }) => sum + total, 0),
    timeZone: calendar.timeZone,
    damaged: days.reduce((sum, { damaged }) => sum + damaged, 0),
  };
}

function toReport(
  { now, calendar, templates, pending = 0 }: ReportContext,
  date: string,
  stored: StoredDay,
): DayReport {
  const today = calendar.dayAt(now).name;
  const partial = today <= date;
  const counts = countsOf(stored.tally);
  if (templates) counts.paths = applyTemplates(counts.paths, templates);
  const freshness = freshnessOf(stored, now);
  const report = {
    date,
    ...counts,
    timeZone: calendar.timeZone,
    partial,
    pending: date === today ? pending : 0,
    freshness,
    damaged: stored.damaged,
    writes: stored.writes,
    warning: trafficWarning(counts),
  };
  return { ...report, note: noteOf(report) };
}

function freshnessOf({ shards, source }: StoredDay, now: number): Freshness {
  const ages = shards.flatMap(({ metadata }) =>
    metadata ? [Math.max(0, Math.floor(now / 1000) - metadata.at)] : []
  );
  return {
    dataCenters: new Set(shards.map(({ writer }) => coloOf(writer))).size,
    shards: shards.length,
    oldestSeconds: ages.length > 0 ? Math.max(...ages) : null,
    newestSeconds: ages.length > 0 ? Math.min(...ages) : null,
    source,
  };
}

/**
 * What a day's number is worth.
 *
 * @param report The day.
 * @returns A sentence.
 */
export function noteOf(report: Omit<DayReport, "note">): string {
  const { partial, damaged, dropped, pending, freshness } = report;
  const parts = [
    partial
      ? "The day is not over: this is what has been stored so far, and views of the last minutes may be missing"
      : freshness.source === "none"
      ? "Nothing has been stored for this day"
      : "Never more than was viewed; views that died with a server before they were stored are missing",
  ];
  if (pending > 0) parts.push(`${pending} more wait in this data center`);
  if (dropped > 0) parts.push(`${dropped} are known to be lost`);
  if (damaged > 0) parts.push(`${damaged} stored values were unreadable and left out`);
  return `${parts.join("; ")}.`;
}
