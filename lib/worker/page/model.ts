/**
 * What the traffic page is made from, and the sums it shows.
 *
 * @module
 */

import type { Counts, DayReport } from "../../views/types.ts";

/** One page or one source that the page is narrowed to. */
export interface TrafficFilter {
  /** What is narrowed. */
  readonly by: "path" | "ref";
  /** The page's or the source's key. */
  readonly key: string;
}

/** One day, or the last so many days. */
export type Period = { readonly date: string } | { readonly days: number };

/** Everything the traffic page shows. Rendering it reads nothing else. */
export interface TrafficView {
  /** The days shown, oldest first; at least one. */
  readonly days: readonly DayReport[];
  /** The days before, oldest first, to compare with; may be empty. */
  readonly before: readonly DayReport[];
  /** What was asked for. */
  readonly period: Period;
  /** What the page is narrowed to. */
  readonly filter: TrafficFilter | undefined;
  /** The site's name, for example `example.org`. */
  readonly site: string;
  /** When the numbers were read, milliseconds since the epoch. */
  readonly readAt: number;
  /** Writes a day that page views may use. */
  readonly writesMax: number;
  /** Whether there is a session to end. */
  readonly signedIn: boolean;
}

/** Counts by key, the largest first, `other` last. */
export type Ranking = readonly (readonly [key: string, count: number])[];

/** What a key of a day counts, 0 where it is missing. */
export function countOf(counts: Counts, key: string): number {
  return Object.hasOwn(counts, key) ? counts[key] ?? 0 : 0;
}

/** A day's views, of one page or source where the page is narrowed to it. */
export function viewsOf(day: DayReport, filter: TrafficFilter | undefined): number {
  if (!filter) return day.total;
  return countOf(filter.by === "path" ? day.paths : day.refs, filter.key);
}

/** The sum of a number over days. */
export function sumOf(days: readonly DayReport[], pick: (day: DayReport) => number): number {
  return days.reduce((sum, day) => sum + pick(day), 0);
}

/** The sums by key over days. */
export function rank(days: readonly DayReport[], pick: (day: DayReport) => Counts): Ranking {
  const sums = new Map<string, number>();
  for (const day of days) {
    for (const [key, count] of Object.entries(pick(day))) {
      if (count > 0) sums.set(key, (sums.get(key) ?? 0) + count);
    }
  }
  const rest = ([key]: readonly [string, number]) => key === "other" ? 1 : 0;
  return [...sums].sort((a, b) => rest(a) - rest(b) || b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
