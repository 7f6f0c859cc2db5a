/**
 * Reads what was counted, and rolls days up: for apps that count with `./page-views` or an adapter and
 * have no ready Worker beside them.
 *
 * Call {@linkcode rollUpDays} from a daily cron trigger: shards are kept for eight days, roll-ups for 90.
 * Without it the last eight days are still reported, from shards. Numbers are eventually consistent, as KV
 * is, and never too high. What each call costs is told beside it; shares of the day are booked where a
 * budget is given.
 *
 * @example Usage
 * ```ts
 * import { Calendar, reportDay, rollUpDays } from "@scrimp/kv/traffic";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const now = Date.parse("2026-11-30T12:00:00Z");
 * const kv = new MemoryKv({ now: () => now });
 * // A shard, as `PageViews` stores it.
 * const shard = { v: 1, total: 2, paths: { "/": 2 }, refs: { direct: 2 } };
 * await kv.put("views:2026-11-30:LHR-a1b2c3", JSON.stringify(shard));
 *
 * await rollUpDays(kv, "2026-11-30");
 * const { total, paths } = await reportDay({ kv, now, calendar: new Calendar() }, "2026-11-30");
 * assertEquals({ total, paths }, { total: 2, paths: { "/": 2 } });
 * ```
 *
 * @module
 */

export { Calendar } from "./views/day.ts";
export type { Day } from "./views/day.ts";
export { reportDay, reportDays } from "./views/report.ts";
export type { ReportContext } from "./views/report.ts";
export { rollUpDays } from "./views/roll_up.ts";
export type { Budget, BudgetGrant, KvOperation } from "./budget.ts";
export type * from "./kv/kv.ts";
export type { Counts, DayCounts, DayReport, Freshness, RangeReport } from "./views/types.ts";
export type { TrafficWarning } from "./views/types.ts";
export type { PathTemplates } from "./views/paths.ts";
