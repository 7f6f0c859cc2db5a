/**
 * Which days a request asks for.
 *
 * @module
 */

import { isDay } from "../../views/day.ts";
import { DAYS_MAX } from "../../views/report.ts";

/** What was asked for: one day, the last so many days, or nothing that makes sense. */
export type Asked =
  | { readonly date: string }
  | { readonly days: number }
  | { readonly problem: string };

/**
 * Reads `?date=YYYY-MM-DD` or `?days=1…90`.
 *
 * @param query The query.
 * @returns What was asked for, or the problem as a sentence that names the accepted form, or
 * `undefined` where neither is given.
 */
export function readQuery(query: URLSearchParams): Asked | undefined {
  const [date, days] = [query.get("date"), query.get("days")];
  if (date !== null && (days !== null || !isDay(date))) {
    return {
      problem: `Cannot use date "${date}": expected a day as YYYY-MM-DD, without days`,
    };
  }
  if (date !== null) return { date };
  if (days === null) return undefined;
  return /^[1-9]\d?$/.test(days) && Number(days) <= DAYS_MAX ? { days: Number(days) } : {
    problem: `Cannot use days "${days}": expected an integer from 1 to ${DAYS_MAX}`,
  };
}
