/**
 * What one day teaches the next, carried by its roll-up.
 *
 * @module
 */

import type { Kv } from "../kv/kv.ts";
import { type NetworkView, viewNetwork } from "./network.ts";
import { coloOf, type ListedShard } from "./shard.ts";
import { isAmount, parseJson } from "./tally.ts";

/** Views of a data center at which some of them probably wait at midnight, where writes are scarce. */
const VIEWS_TO_WAIT = 12;
/** Late writes are planned for with this margin: a data center may need two. */
const FINALS_MARGIN = 1.08;

/** How much of what is remembered of visits is kept from one day to the next. */
const VISITS_KEPT = 0.85;
/** Views that a write must save on the first day, and the bounds of what is learnt. */
export const PRICE = { first: 0.25, least: 0.03, most: 2 } as const;
/** How strongly the price answers to writes that were too many or too few. */
const PRICE_POWER = 2.5;
/** The share of a day's writes that is aimed at. */
const AIM = 0.9;
/** Visits of a shard that are believed, those remembered of a data center, and the least of these. */
const VISITS = { day: 288, most: 2_000, least: 0.05 } as const;
/** Data centers that are remembered. */
const DATA_CENTERS_MAX = 1_000;
/** The largest price and the largest sum of days that are believed. Other numbers live for a day only. */
const PRICE_MAX = 10;

/** What one day teaches the next: how large the network is, and what it still has to store. */
interface Lessons {
  /** Data centers that counted something, on the fullest of the last days. */
  readonly dataCenters: number;
  /** Views, on the fullest of the last days. */
  readonly total: number;
  /** The sum of the square roots of the data centers' views, on the fullest of the last days. */
  readonly weight: number;
  /** Late writes to expect. */
  readonly finals: number;
  /** Views that a write must save for the day's writes to last. */
  readonly price: number;
  /** Days of which visits are remembered, up to the day before; the older, the less. */
  readonly days: number;
}

/** What a data center takes from it. */
export interface Census extends Lessons {
  /** Visits to the data center on those days. */
  readonly visits: number;
}

/** What a roll-up carries. */
export interface NetworkCensus extends Lessons {
  /** Visits on those days, by data center. */
  readonly visits: Readonly<Record<string, number>>;
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

/** What the census of yesterday is made from. */
export interface CensusInput {
  /** The shards of the day before yesterday. */
  readonly before: readonly ListedShard[];
  /** Yesterday's shards. */
  readonly shards: readonly ListedShard[];
  /** The census of the day before. */
  readonly previous: NetworkCensus | undefined;
  /** Writes a day for page views over the whole network. */
  readonly writesPerDay: number;
}

/**
 * What yesterday and the day before, whose shards are complete by now, teach today.
 *
 * @param input What it is made from.
 * @returns The census.
 */
export function censusOf({ before, shards, previous, writesPerDay }: CensusInput): NetworkCensus {
  const view = (day: readonly ListedShard[]) => viewNetwork(day, 0, Infinity, "yesterday");
  const views = [view(before), view(shards)] as const;
  const late = views[0].used.late;
  const used = shards.reduce((sum, { metadata: m }) => sum + (m ? m.writes - m.late : 0), late);
  const { price, days, visits } = previous ?? { price: PRICE.first, days: 0, visits: {} };
  return {
    dataCenters: Math.max(...views.map(({ writers }) => writers)),
    total: Math.ceil(Math.max(views[0].total, views[1].foretold)),
    weight: Math.ceil(Math.max(...views.map(({ weight }) => weight))),
    finals: finalsOf(late, views[1], writesPerDay),
    price: nextPrice(shards, price, used / writesPerDay / AIM),
    days: before.length > 0 ? rounded(VISITS_KEPT * days + 1) : days,
    visits: visitsOf(before, visits),
  };
}

/** What yesterday's writers had to save, corrected by whether the day's writes lasted. */
function nextPrice(shards: readonly ListedShard[], price: number, used: number): number {
  const prices = shards.flatMap(({ metadata: m }) =>
    m && m.mode < 2 ? Math.min(m.price, 100 * PRICE_MAX) : []
  );
  const paid = prices.reduce((sum, each) => sum + each, 0) / 100 / prices.length;
  const next = (prices.length > 0 ? paid : price) * used ** PRICE_POWER;
  return rounded(Math.min(PRICE.most, Math.max(PRICE.least, next)));
}

/** Remembered visits, with those of one day more. */
function visitsOf(
  shards: readonly ListedShard[],
  remembered: NetworkCensus["visits"],
): NetworkCensus["visits"] {
  if (shards.length === 0) return remembered;
  const sums = new Map(
    Object.entries(remembered).map((
      [colo, visits],
    ) => [colo, Math.min(VISITS.most, VISITS_KEPT * visits)]),
  );
  for (const { writer, metadata } of shards) {
    const colo = coloOf(writer);
    sums.set(colo, (sums.get(colo) ?? 0) + Math.min(VISITS.day, metadata?.visits ?? 0));
  }
  // Rounding would keep the last hundredths of a data center that has gone for good.
  const kept = [...sums].filter(([, visits]) => visits >= VISITS.least).slice(-DATA_CENTERS_MAX);
  return Object.fromEntries(kept.map(([colo, visits]) => [colo, rounded(visits)]));
}

function rounded(value: number): number {
  return Math.round(100 * value) / 100;
}

/**
 * Late writes that follow a day. What was needed the last time tells most; else, the more views a data
 * center has, the likelier some of them wait at midnight.
 */
function finalsOf(late: number, day: NetworkView, writesPerDay: number): number {
  const { writers, foretold } = day;
  if (foretold <= writesPerDay) return late;
  const guess = writers * (1 - Math.exp(-foretold / Math.max(1, writers) / VIEWS_TO_WAIT));
  return Math.ceil(FINALS_MARGIN * (late > 0 ? Math.max(late, 0.5 * guess) : guess));
}

/**
 * Reads a census from foreign data. Never throws.
 *
 * @param value What was stored, already parsed as JSON: for the network, or for one data center.
 * @returns The census, or `undefined` where it is damaged, beyond belief, or of a version before.
 */
export function parseCensus<T extends Census | NetworkCensus>(value: unknown): T | undefined {
  const census: Partial<NetworkCensus> = Object(value);
  const { dataCenters, total, weight, finals, price, days, visits } = census;
  const many: unknown[] = visits instanceof Object ? Object.values(visits) : [visits];
  const numbers = [dataCenters, total, weight, finals, price, days, ...many];
  return numbers.every(isAmount) && Math.max(Number(price), Number(days)) <= PRICE_MAX
    ? census as T
    : undefined;
}

/**
 * Reads the census that a day's roll-up carries. One read. Never rejects.
 *
 * @param kv The store.
 * @param day The day, `YYYY-MM-DD`.
 * @param colo The data center.
 * @returns The census, or `undefined` where there is none.
 */
export async function readCensus(
  kv: Pick<Kv, "get">,
  day: string,
  colo: string,
): Promise<Census | undefined> {
  try {
    const value = parseJson(await kv.get(rollUpKey(day))) as { census?: unknown } | undefined;
    const census = parseCensus<NetworkCensus>(value?.census);
    return census &&
      {
        ...census,
        visits: Object.entries(census.visits).find(([name]) => name === colo)?.[1] ?? 0,
      };
  } catch {
    // Without it the day is paced as if it were the first.
    return undefined;
  }
}
