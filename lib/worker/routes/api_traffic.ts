/**
 * `GET /api/traffic` and `GET /api/traffic.csv`: the numbers of a day or of the last days.
 *
 * Public, or with the admin token where `TRAFFIC_PRIVATE` is set. KV: what reading the days costs, at
 * most every 45 seconds.
 *
 * @module
 */

import type { DayReport, RangeReport } from "../../views/types.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";
import { checkAccess } from "./_access.ts";
import { answerText, dataHeaders } from "./_answer.ts";
import { toCsv } from "./_csv.ts";
import { readQuery } from "./_query.ts";
import { shareDay, shareRange } from "./_reports.ts";

/** The routes of this file. */
export const apiTrafficRoutes: readonly Route[] = [
  { method: "GET", path: "/api/traffic", handle: handleJson },
  { method: "GET", path: "/api/traffic.csv", handle: handleCsv },
];

function handleJson(context: RouteContext): Promise<Response> {
  return answer(context, "application/json", (report) => JSON.stringify(report));
}

function handleCsv(context: RouteContext): Promise<Response> {
  return answer(
    context,
    "text/csv; charset=utf-8; header=present",
    (report) => toCsv("days" in report ? report.days : [report]),
  );
}

async function answer(
  context: RouteContext,
  type: string,
  write: (report: DayReport | RangeReport) => string,
): Promise<Response> {
  const access = await checkAccess(context);
  if (access.refusal) return access.refusal;
  const asked = readQuery(context.url.searchParams) ?? { date: context.reports.today() };
  if ("problem" in asked) return errorResponse(400, "badQuery", asked.problem);
  const { report } = "date" in asked
    ? await shareDay(context, asked.date)
    : await shareRange(context, asked.days);
  return answerText(context, write(report), dataHeaders(context, type, access));
}
