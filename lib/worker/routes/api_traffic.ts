/**
 * `GET /api/traffic`: what was counted, as JSON.
 *
 * @module
 */

import { isDay } from "../../views/day.ts";
import { DAYS_MAX } from "../../views/report.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";

/** One day with `date`, several with `days`, today with neither. */
export const apiTrafficRoutes: readonly Route[] = [{
  method: "GET",
  path: "/api/traffic",
  handle: traffic,
}];

async function traffic({ url, reports }: RouteContext): Promise<Response> {
  const days = url.searchParams.get("days");
  const headers = { "cache-control": "no-store" };
  if (days !== null) {
    if (!/^\d{1,2}$/.test(days) || Number(days) < 1 || Number(days) > DAYS_MAX) {
      const message = `Cannot use days ${JSON.stringify(days)}: expected an integer from 1 to 90`;
      return errorResponse(400, "badDays", message);
    }
    return Response.json(await reports.days(Number(days)), { headers });
  }
  const date = url.searchParams.get("date") ?? reports.today();
  if (!isDay(date)) {
    const message = `Cannot use date ${JSON.stringify(date)}: expected a day as YYYY-MM-DD`;
    return errorResponse(400, "badDate", message);
  }
  return Response.json(await reports.day(date), { headers });
}
