/**
 * What a budget of writes guarantees where data centers see each other in listings only.
 *
 * @module
 */

import { addDays, type Calendar } from "../../lib/views/day.ts";
import type { HostileOptions } from "./hostile_options.ts";
import type { WriteNote } from "./hostile_parts.ts";

/** How long listings hide a write, if KV is as documented. */
const LIST_LAG_MS = 60_000;
/** How old a listing may be when it is acted on, and how long a flush may take from there. */
const LISTED_AGO_MS = 150_000;
/** Where more operations fail than this, listings fail too often to tell. */
const FAULT_RATE_MAX = 0.1;
/** Writes that took place although they were answered with an error are seen in listings only. */
const FAULTY_SHARE = 0.01;

/**
 * Invariant 4. Listings lag: what data centers write while the last writes of the budget are hidden from
 * them may go beyond it, and nothing that they write later. What is written for the day before yesterday
 * must stop as well, but nobody counts it who does not write for that day. Roll-ups are not looked at
 * here.
 *
 * @param options The world.
 * @param calendar Its days.
 * @param writes All writes, in any order.
 * @param span When the world began and ended, in milliseconds.
 * @returns What should not have been.
 */
export function overspent(
  { writesPerDay, staleness, outage, quota, faultRate, cache }: HostileOptions,
  calendar: Calendar,
  writes: readonly WriteNote[],
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): string[] {
  // Without listings data centers cannot know of each other: each follows a schedule of its own.
  const isBlind = outage === "lists" || outage === "everything" || quota === "spent";
  if (isBlind || faultRate > FAULT_RATE_MAX) return [];
  // Isolates that cannot reach each other overwrite each other's numbers of writes.
  if (cache === "failing" || (cache === "none" && faultRate > 0)) return [];
  const problems: string[] = [];
  const spare = faultRate > 0 ? Math.ceil(FAULTY_SHARE * writesPerDay) : 0;
  for (let day = calendar.dayAt(startMs); day.start < endMs; day = calendar.dayAt(day.end)) {
    const { name, start, end } = day;
    const today = writes.filter(({ at }) => at >= start && at < end);
    const seen = today.filter(({ key }) => !key.startsWith(`views:${addDays(name, -2)}:`));
    const spent = seen.map(({ at }) => at).sort((a, b) => a - b)[writesPerDay - 1] ?? end;
    const shown = spent + LIST_LAG_MS * staleness + LISTED_AGO_MS;
    const over = today.filter(({ at }) => at > shown).length;
    if (over > spare) {
      problems.push(`${over} of ${today.length} writes on ${name} after its budget was gone`);
    }
  }
  return problems;
}
