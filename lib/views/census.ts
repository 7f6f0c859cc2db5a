/**
 * What one day teaches the next, carried by its roll-up.
 *
 * @module
 */

import type { Kv } from "../kv/kv.ts";
import { viewNetwork } from "./network.ts";
import { finalsAfter } from "./pacing.ts";
import type { ListedShard } from "./shard.ts";
import { parseJson } from "./tally.ts";

/** What one day teaches the next: how large the network is, and what it still has to store. */
export interface Census {
  /** Data centres that counted something, on the fullest of the last days. */
  readonly dataCentres: number;
  /** Views, on the fullest of the last days. */
  readonly total: number;
  /** The sum of the square roots of the data centres' views, on the fullest of the last days. */
  readonly weight: number;
  /** Late writes to expect. */
  readonly finals: number;
}

/**
 * The key of a roll-up.
 *
 * @param day The day, `YYYY-MM-DD`.
 * @returns `traffic:<day>`.
 */
export function rollUpKey(day: string): string {
  return `traffic:${day}`;
}

/**
 * What yesterday and the day before, whose shards are complete by now, teach today.
 *
 * @param before The shards of the day before yesterday.
 * @param shards Yesterday's shards.
 * @returns The census.
 */
export function censusOf(before: readonly ListedShard[], shards: readonly ListedShard[]): Census {
  const views = [before, shards].map((day) => viewNetwork(day, 0, Infinity, "yesterday"));
  return {
    dataCentres: Math.max(...views.map(({ writers }) => writers)),
    total: Math.max(...views.map(({ total }) => total)),
    weight: Math.ceil(Math.max(...views.map(({ weight }) => weight))),
    finals: finalsOf(views[0]?.used.late ?? 0, views[1] ? finalsAfter(views[1]) : 0),
  };
}

/** What was needed the last time tells more than what the shards' modes foretell. */
function finalsOf(late: number, foretold: number): number {
  return Math.ceil(late > 0 ? Math.max(1.1 * late, 0.5 * foretold) : foretold);
}

/**
 * Reads the census that a day's roll-up carries. One read. Never rejects.
 *
 * @param kv The store.
 * @param day The day, `YYYY-MM-DD`.
 * @returns The census, or `undefined` where there is none.
 */
export async function readCensus(kv: Kv, day: string): Promise<Census | undefined> {
  try {
    const value = parseJson(await kv.get(rollUpKey(day))) as { census?: Census } | undefined;
    const { dataCentres, total, weight, finals }: Partial<Census> = value?.census ?? {};
    return [dataCentres, total, weight, finals].every((n) =>
        Number.isSafeInteger(n) && Number(n) >= 0
      )
      ? value?.census
      : undefined;
  } catch {
    // Without it the day is paced as if it were the first.
    return undefined;
  }
}
