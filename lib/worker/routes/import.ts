/**
 * `POST /api/import`: takes days from elsewhere, one JSON object a line, at most 25 a request.
 *
 * Of a stored and a given day the fuller one stands, and a day whose shards are still kept (eight days)
 * stays as it was counted here. Nothing is ever added up: a repeat changes nothing, and no view counts
 * twice where two counters ran side by side. The answer tells of each day whether it was written
 * (`write`) or stays (`keep`).
 *
 * Needs `Authorization: Bearer` with `ADMIN_TOKEN`. KV: a read and at most one write a day given, and
 * for each of the last eight days what reading that day costs. The writes come out of the site's own
 * reserve: somebody asked for them.
 *
 * @module
 */

import { DAYS_MAX } from "../../views/report.ts";
import { addDays, isDay } from "../../views/day.ts";
import { rollUpKey } from "../../views/census.ts";
import { ROLL_UP_TTL_SECONDS } from "../../views/roll_up.ts";
import {
  capTally,
  type CountMap,
  countsOf,
  parseJson,
  parseTally,
  type Tally,
} from "../../views/tally.ts";
import type { Kv } from "../../kv/kv.ts";
import { errorResponse, noStore, type Route, type RouteContext } from "../route.ts";
import { checkAccess } from "./_access.ts";
import { forgetReports } from "./_reports.ts";

/** Days a request may carry, so that its KV operations fit into one invocation. */
const DAYS_AT_ONCE_MAX = 25;
/** The routes of this file. */
export const importRoutes: readonly Route[] = [
  { method: "POST", path: "/api/import", handle: handleImport },
];

async function handleImport(context: RouteContext): Promise<Response> {
  const access = await checkAccess(context, "token");
  if (access instanceof Response) return access;
  const { kv, request, reports } = context;
  if (!kv) return noStore();
  const given = (await request.text()).trim().split("\n").map((line) =>
    readLine(line, reports.today())
  );
  const bad = given.slice(0, DAYS_AT_ONCE_MAX).findIndex((day) => !day);
  if (bad >= 0 || given.length > DAYS_AT_ONCE_MAX) {
    return errorResponse(
      400,
      "badLine",
      `Cannot use line ${
        bad + 1
      }: expected at most ${DAYS_AT_ONCE_MAX} days of the last ${DAYS_MAX} whose sums are right`,
    );
  }
  const days = [];
  for (const day of given) {
    // deno-lint-ignore scrimp/no-await-in-loop -- in order, so that a failure leaves the first ones done
    if (day) days.push({ date: day.date, action: await importDay(context, kv, day) });
  }
  await forgetReports(context);
  return Response.json({ days });
}

interface GivenDay {
  readonly date: string;
  readonly tally: Tally;
}

function readLine(line: string, today: string): GivenDay | undefined {
  const value = parseJson(line);
  const tally = parseTally(value);
  const { date } = Object(value) as { date: unknown };
  return tally && typeof date === "string" && isDay(date) && date <= addDays(today, 1) &&
      date >= addDays(today, -DAYS_MAX) && sumOf(tally.paths) === tally.total &&
      sumOf(tally.refs) === tally.total
    ? { date, tally }
    : undefined;
}

function sumOf(counts: CountMap): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

async function importDay(
  { budget, reports }: RouteContext,
  kv: Kv,
  { date, tally }: GivenDay,
): Promise<"write" | "keep"> {
  const { total, freshness } = await reports.day(date);
  if (freshness.shards > 0 || tally.total <= total) return "keep";
  const value = JSON.stringify({ v: 1, date, ...countsOf(capTally(tally)) });
  await kv.put(rollUpKey(date), value, { expirationTtl: ROLL_UP_TTL_SECONDS });
  budget.note("import", "write");
  return "write";
}
