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
import { SHARD_TTL_SECONDS } from "../../views/shard.ts";
import {
  capTally,
  type CountMap,
  countsOf,
  parseJson,
  parseTally,
  type Tally,
} from "../../views/tally.ts";
import type { Kv } from "../../kv/kv.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";
import { checkAccess } from "./_access.ts";
import { forgetReports } from "./_reports.ts";

/** Days a request may carry, so that its KV operations fit into one invocation. */
const DAYS_AT_ONCE_MAX = 25;
/** As many keys of 48 characters as a day may have, and as much again. */
const LINE_CHARACTERS_MAX = 10_000;

/** The routes of this file. */
export const importRoutes: readonly Route[] = [
  { method: "POST", path: "/api/import", handle: handleImport },
];

async function handleImport(context: RouteContext): Promise<Response> {
  const { refusal } = await checkAccess(context, "token");
  if (refusal) return refusal;
  const { kv } = context;
  if (!kv) return errorResponse(503, "noStore", "No KV namespace is bound");
  const lines = (await context.request.text()).split("\n").filter((line) => line.trim());
  const today = new Date(context.clock.now()).toISOString().slice(0, 10);
  const given = lines.slice(0, DAYS_AT_ONCE_MAX).map((line) => readLine(line, today));
  const bad = given.indexOf(undefined);
  if (bad >= 0 || lines.length > DAYS_AT_ONCE_MAX) {
    const wanted = `at most ${DAYS_AT_ONCE_MAX} days of the last ${DAYS_MAX} whose sums are right`;
    return errorResponse(400, "badLine", `Cannot use line ${bad + 1}: expected ${wanted}`);
  }
  const days = [];
  for (const day of given) {
    // deno-lint-ignore scrimp/no-await-in-loop -- in order, so that a failure leaves the first ones done
    if (day) days.push({ date: day.date, action: await importDay(context, kv, day, today) });
  }
  await forgetReports(context);
  return Response.json({ days });
}

interface GivenDay {
  readonly date: string;
  readonly tally: Tally;
}

function readLine(line: string, today: string): GivenDay | undefined {
  const value = parseJson(line.slice(0, LINE_CHARACTERS_MAX));
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
  today: string,
): Promise<"write" | "keep"> {
  const isRecent = date >= addDays(today, -SHARD_TTL_SECONDS / 86_400);
  if (isRecent && (await reports.day(date)).freshness.shards > 0) return "keep";
  const stored = parseTally(parseJson(await kv.get(rollUpKey(date))));
  if (stored && tally.total <= stored.total) return "keep";
  const value = JSON.stringify({ v: 1, date, ...countsOf(capTally(tally)) });
  await kv.put(rollUpKey(date), value, { expirationTtl: ROLL_UP_TTL_SECONDS });
  budget.note("import", "write");
  return "write";
}
