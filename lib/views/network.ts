/**
 * What a listing of the day's shards tells of the whole network.
 *
 * @module
 */

import { coloOf, type ListedShard, type NetworkUse } from "./shard.ts";
import { isAmount } from "./tally.ts";

/** The network, as one listing of a day's shards showed it. */
export interface NetworkView {
  /** When it was listed, in milliseconds. */
  readonly at: number;
  /** What has been spent on the day of the listing. */
  readonly used: NetworkUse;
  /** Shards written within the last five minutes. */
  readonly recent: number;
  /** Data centers that have stored something. */
  readonly writers: number;
  /** The sum of the square roots of the views that their whole days are foretold to have. */
  readonly weight: number;
  /** Views stored. */
  readonly total: number;
  /** Views of the whole day, if shards that had to wait had gone on as until they were written. */
  readonly foretold: number;
  /** Other writes of the network, by purpose, as far as known. */
  readonly other: Readonly<Record<string, number>>;
}

/** How far back a write counts as recent, in seconds. */
export const RECENT_SECONDS = 300;

const DAY_MS = 86_400_000;
/** The least part of a day from which a shard's day is foretold. */
const GONE_MIN = 0.25;

/**
 * Foretells a day's views from a part of it.
 *
 * @param views Views so far.
 * @param gone The part of the day that is gone, 0 to 1.
 * @returns Views of the whole day.
 */
export function wholeDay(views: number, gone: number): number {
  return views / Math.min(1, Math.max(GONE_MIN, gone));
}

/**
 * Sums up a listing of today's shards, or of yesterday's.
 *
 * @param shards The shards.
 * @param now When they were listed, in milliseconds.
 * @param today Today's first millisecond.
 * @param which Whose shards they are.
 * @returns The network.
 */
export function viewNetwork(
  shards: readonly ListedShard[],
  now: number,
  today: number,
  which: "today" | "yesterday",
): NetworkView {
  const totals = new Map<string, number>();
  const other = new Map<string, Map<string, number>>();
  const told = { writes: 0, late: 0 };
  let writes = 0, late = 0, recent = 0, total = 0, foretold = 0;
  for (const { day, writer, metadata } of shards) {
    const colo = coloOf(writer);
    if (!totals.has(colo)) totals.set(colo, 0);
    if (!metadata) continue;
    const { at, seen } = metadata;
    total += metadata.total;
    const gone = (at * 1000 - Date.parse(`${day}T00:00:00Z`)) / DAY_MS;
    const views = wholeDay(metadata.total, gone);
    totals.set(colo, (totals.get(colo) ?? 0) + views);
    foretold += metadata.mode > 0 ? views : metadata.total;
    writes += metadata.writes - metadata.late;
    late += metadata.late;
    if (now / 1000 - at < RECENT_SECONDS) recent++;
    if (at * 1000 < today) continue;
    // What is not in this listing is told by those who listed the other day's shards.
    told.writes = Math.max(told.writes, seen.writes);
    told.late = Math.max(told.late, seen.late);
    // Each data center's shards carry the same ledger, so the largest of them is the latest.
    for (const [purpose, used] of Object.entries(metadata.other ?? {})) {
      const byColo = other.get(purpose) ?? new Map<string, number>();
      other.set(purpose, byColo.set(colo, Math.max(byColo.get(colo) ?? 0, used)));
    }
  }
  return {
    at: now,
    used: {
      writes: Math.max(told.writes, which === "today" ? writes : 0),
      late: Math.max(told.late, late),
    },
    writers: totals.size,
    weight: sum(totals, (views) => Math.sqrt(Math.max(1, views))),
    recent,
    total,
    foretold,
    other: Object.fromEntries([...other].map(([purpose, used]) => [purpose, sum(used)])),
  };
}

function sum(numbers: ReadonlyMap<unknown, number>, of = (n: number): number => n): number {
  let total = 0;
  for (const number of numbers.values()) total += of(number);
  return total;
}

/**
 * The key under which writers without a data-center cache tell each other of the network.
 *
 * @param day The day, `YYYY-MM-DD`.
 * @returns `network:<day>`.
 */
export function hintKey(day: string): string {
  return `network:${day}`;
}

/**
 * Reads a network from foreign data. Never throws.
 *
 * @param value What was stored, already parsed as JSON.
 * @returns The network, or `undefined` where the value is damaged.
 */
export function parseNetwork(value: unknown): NetworkView | undefined {
  const view: Partial<NetworkView> = Object(value);
  const { at, used, recent, writers, weight, total, foretold } = view;
  const numbers = [at, used?.writes, used?.late, recent, writers, weight, total, foretold];
  return numbers.every(isAmount) ? { ...(view as NetworkView), other: {} } : undefined;
}
