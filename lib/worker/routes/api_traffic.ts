/**
 * `GET /api/traffic` and `GET /api/traffic.csv`: the numbers of a day or of the last days.
 *
 * Public, or with the admin token where `TRAFFIC_PRIVATE` is set. KV: what reading the days costs, at
 * most once a minute.
 *
 * @module
 */

import type { DayReport, RangeReport } from "../../views/types.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";
import { answerData } from "./_answer.ts";
import { toCsv } from "./_csv.ts";
import { readQuery } from "./_query.ts";
import { shareDay, shareRange } from "./_reports.ts";

/** The routes of this file. */
export const apiTrafficRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/traffic",
    handle: (context) => answer(context, "application/json", JSON.stringify),
  },
  {
    method: "GET",
    path: "/api/traffic.csv",
    handle: (context) =>
      answer(
        context,
        "text/csv; charset=utf-8",
        (report) => toCsv("days" in report ? report.days : [report]),
      ),
  },
];

function answer(
  context: RouteContext,
  type: string,
  write: (report: DayReport | RangeReport) => string,
): Promise<Response> {
  return answerData(context, type, async () => {
    const asked = readQuery(context.url.searchParams) ?? { date: context.reports.today() };
    if ("problem" in asked) return errorResponse(400, "badQuery", asked.problem);
    const { report } = "date" in asked
      ? await shareDay(context, asked.date)
      : await shareRange(context, asked.days);
    return write(report);
  });
}
