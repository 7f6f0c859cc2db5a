/**
 * `GET /api/export`: all days that are kept, one JSON object a line, oldest first.
 *
 * Public, or with the admin token where `TRAFFIC_PRIVATE` is set. KV: what reading 90 days costs, at
 * most once a minute.
 *
 * @module
 */

import { DAYS_MAX } from "../../views/report.ts";
import type { DayReport } from "../../views/types.ts";
import type { Route } from "../route.ts";
import { answerData } from "./_answer.ts";
import { shareRange } from "./_reports.ts";

/** The routes of this file. */
export const exportRoutes: readonly Route[] = [{
  method: "GET",
  path: "/api/export",
  handle: (context) =>
    answerData(context, "application/x-ndjson", async () => {
      const { report } = await shareRange(context, DAYS_MAX);
      return report.days.map(exportDay).join("");
    }, { "content-disposition": "attachment; filename=scrimp.ndjson" }),
}];

/** One line; none for a day on which nothing was seen. */
function exportDay(day: DayReport): string {
  const { date, total, paths, refs, kinds, skipped, dropped } = day;
  const line = { v: 1, date, total, paths, refs, kinds, skipped, dropped };
  return day.freshness.source === "none" ? "" : `${JSON.stringify(line)}\n`;
}
