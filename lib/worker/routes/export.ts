/**
 * `GET /api/export`: all days that are kept, one JSON object a line, oldest first.
 *
 * Public, or with the admin token where `TRAFFIC_PRIVATE` is set. KV: what reading 90 days costs, at
 * most every 45 seconds.
 *
 * @module
 */

import { DAYS_MAX } from "../../views/report.ts";
import type { DayReport } from "../../views/types.ts";
import type { Route, RouteContext } from "../route.ts";
import { checkAccess } from "./_access.ts";
import { answerText, dataHeaders } from "./_answer.ts";
import { shareRange } from "./_reports.ts";

/** The routes of this file. */
export const exportRoutes: readonly Route[] = [
  { method: "GET", path: "/api/export", handle: handleExport },
];

async function handleExport(context: RouteContext): Promise<Response> {
  const access = await checkAccess(context);
  if (access.refusal) return access.refusal;
  const { report } = await shareRange(context, DAYS_MAX);
  const lines = report.days.filter(hasNumbers).map((day) => `${JSON.stringify(exportDay(day))}\n`);
  return answerText(context, lines.join(""), {
    ...dataHeaders(context, "application/x-ndjson", access),
    "content-disposition": 'attachment; filename="scrimp-traffic.ndjson"',
  });
}

function hasNumbers(day: DayReport): boolean {
  return day.total > 0 || day.dropped > 0 || Object.keys(day.skipped).length > 0;
}

function exportDay(day: DayReport): Record<string, unknown> {
  const { date, total, paths, refs, kinds, skipped, dropped, partial } = day;
  return {
    v: 1,
    date,
    total,
    paths,
    refs,
    kinds,
    skipped,
    dropped,
    ...(partial && { partial }),
  };
}
