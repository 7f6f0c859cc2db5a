/**
 * What one day teaches the next, carried by its roll-up.
 *
 * @module
 */

import type { Kv } from "../kv/kv.ts";
import { type NetworkView, viewNetwork } from "./network.ts";
import type { ListedShard } from "./shard.ts";
import { isCount, parseJson } from "./tally.ts";

/** Views of a data center at which some of them probably wait at midnight, where writes are scarce. */
const VIEWS_TO_WAIT = 12;
/** Late writes are planned for with this margin: a data center may need two. */
const FINALS_MARGIN = 1.08;

/** What one day teaches the next: how large the network is, and what it still has to store. */
export interface Census {
  /** Data centers that counted something, on the fullest of the last days. */
  readonly dataCenters: number;
  /** Views, on the fullest of the last days. */
  readonly total: number;
  /** The sum of the square roots of the data centers' views, on the fullest of the last days. */
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
    dataCenters: Math.max(...views.map(({ writers }) => writers)),
    total: Math.ceil(Math.max(...views.map(({ foretold }) => foretold))),
    weight: Math.ceil(Math.max(...views.map(({ weight }) => weight))),
    finals: finalsOf(views[0]?.used.late ?? 0, viewNetwork(shards, 0, Infinity, "yesterday")),
  };
}

/**
 * Late writes that follow a day. What was needed the last time tells most; else, the more views a data
 * center has, the likelier some of them wait at midnight.
 */
function finalsOf(late: number, day: NetworkView): number {
  const { modes, writers, foretold } = day;
  if (modes[0] > modes[1] + modes[2]) return late;
  const guess = writers * (1 - Math.exp(-foretold / Math.max(1, writers) / VIEWS_TO_WAIT));
  return Math.ceil(FINALS_MARGIN * (late > 0 ? Math.max(late, 0.5 * guess) : guess));
}

/**
 * Reads the census that a day's roll-up carries. One read. Never rejects.
 *
 * @param kv The store.
 * @param day The day, `YYYY-MM-DD`.
 * @returns The census, or `undefined` where there is none.
 */
export async function readCensus(kv: Pick<Kv, "get">, day: string): Promise<Census | undefined> {
  try {
    const value = parseJson(await kv.get(rollUpKey(day))) as { census?: Census } | undefined;
    const { dataCenters, total, weight, finals }: Partial<Census> = value?.census ?? {};
    return [dataCenters, total, weight, finals].every(isCount) ? value?.census : undefined;
  } catch {
    // Without it the day is paced as if it were the first.
    return undefined;
  }
}
