/**
 * What a listing of the day's shards tells of the whole network.
 *
 * @module
 */

import { coloOf, type ListedShard } from "./shard.ts";

/** The network on one day, as one listing showed it. */
export interface NetworkView {
  /** When it was listed, in milliseconds. */
  readonly at: number;
  /** Writes tried for the day's shards. */
  readonly writes: number;
  /** Writes tried that day for days before, as far as known. */
  readonly late: number;
  /** Late writes expected that day, as far as known. */
  readonly finals: number;
  /** Shards written within the last five minutes. */
  readonly recent: number;
  /** Data centres that have stored something. */
  readonly writers: number;
  /** The sum of the square roots of their totals. */
  readonly weight: number;
  /** Views stored. */
  readonly total: number;
  /** Other writes of the network, by purpose, as far as known. */
  readonly other: Readonly<Record<string, number>>;
}

/** How far back a write counts as recent, in seconds. */
export const RECENT_SECONDS = 300;

/**
 * Sums up a listing.
 *
 * @param shards The day's shards.
 * @param now When they were listed, in milliseconds.
 * @returns The network.
 */
export function viewNetwork(shards: readonly ListedShard[], now: number): NetworkView {
  const totals = new Map<string, number>();
  const late = new Map<string, number>();
  const other = new Map<string, Map<string, number>>();
  let writes = 0, finals = 0, recent = 0, total = 0;
  for (const { writer, metadata } of shards) {
    const colo = coloOf(writer);
    totals.set(colo, (totals.get(colo) ?? 0) + (metadata?.total ?? 0));
    if (!metadata) continue;
    writes += metadata.writes;
    total += metadata.total;
    finals = Math.max(finals, metadata.finals);
    if (now / 1000 - metadata.at < RECENT_SECONDS) recent++;
    // Each data centre's shards carry the same ledgers, so the largest of them is the latest.
    late.set(colo, Math.max(late.get(colo) ?? 0, metadata.late));
    for (const [purpose, used] of Object.entries(metadata.other ?? {})) {
      const byColo = other.get(purpose) ?? new Map<string, number>();
      other.set(purpose, byColo.set(colo, Math.max(byColo.get(colo) ?? 0, used)));
    }
  }
  let weight = 0;
  for (const views of totals.values()) weight += Math.sqrt(Math.max(1, views));
  return {
    at: now,
    writes,
    late: sum(late.values()),
    finals,
    recent,
    writers: totals.size,
    weight,
    total,
    other: Object.fromEntries([...other].map(([purpose, used]) => [purpose, sum(used.values())])),
  };
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
