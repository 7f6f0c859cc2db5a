/**
 * When to write: a day's writes shared out over a network that only sees itself through listings.
 *
 * Pure functions of numbers. Nothing here reads a clock or a store.
 *
 * @module
 */

import type { Day } from "./day.ts";
import { type NetworkView, RECENT_SECONDS } from "./network.ts";

/** The share of the budget that pacing never plans for; it covers what a stale listing hides. */
const RESERVE = 0.05;
/** The share of a day's writes that may be gone at its very beginning. */
const HEAD_START = 0.25;
/** Views up to which a day is too young to foretell its traffic. */
const VIEWS_TO_FORETELL = 60;
/** How late a listing may be, in milliseconds: writes of that long are assumed on top of it. */
const LISTING_LAG_MS = 120_000;
/** The end of a day is planned as if this much of it were left, so that a late rush fits. */
const HORIZON_MIN_MS = 15 * 60_000;
/** Writes of a data centre's share that fall due for the day before, at most, unless writes abound. */
export const LATE_WRITES_MAX = 2;
/** The article's schedule, followed while listings fail. */
export const FALLBACK = { pendingViews: 250, intervalMs: 30 * 60_000, writesMax: 48 } as const;

/** What pacing knows. */
export interface PaceInput {
  /** The time, in milliseconds. */
  readonly now: number;
  /** Today. */
  readonly today: Day;
  /** Writes a day for page views over the whole network. */
  readonly writesPerDay: number;
  /** Today's network, as last listed. */
  readonly network: NetworkView | undefined;
  /** Yesterday's network, as last listed, with that day. */
  readonly before: { readonly day: Day; readonly network: NetworkView } | undefined;
  /** Views that the shard holds, stored or not. */
  readonly total: number;
  /** Views that wait to be stored. */
  readonly pending: number;
  /** When the shard was last stored, or else began, in milliseconds. */
  readonly since: number;
  /** Whether the shard has been stored today. */
  readonly stored: boolean;
  /** Whether what waits dies with the isolate, because there is no data-centre cache. */
  readonly volatile: boolean;
}

/** What pacing says. */
export interface Pace {
  /** From when on a write is in order, in milliseconds; `Infinity` for not today. */
  readonly dueAt: number;
  /** Whether writes abound, so that each view can be stored within seconds. */
  readonly plenty: boolean;
  /** Late writes that the network needs today for yesterday. */
  readonly finals: number;
}

/** Writes that may be gone at a moment of the day. */
function planned(pool: number, day: Day, now: number): number {
  const gone = (now - day.start) / (day.end - day.start);
  return pool * (HEAD_START + (1 - HEAD_START) * gone);
}

/** Writes that a listing does not show yet. */
function hidden(network: NetworkView): number {
  return network.recent * LISTING_LAG_MS / (RECENT_SECONDS * 1000);
}

/** How many data centres could not store yesterday all they had: each needs one late write today. */
function finalsAfter({ writesPerDay, before }: PaceInput): number {
  if (!before) return 0;
  const { day, network } = before;
  const scarce = network.writes + network.late >= 0.8 * planned(writesPerDay, day, network.at);
  return scarce ? network.writers : 0;
}

/** Views still to come today. */
function viewsToCome({ now, today, network, before }: PaceInput): number {
  const gone = Math.max(0.02, (now - today.start) / (today.end - today.start));
  const yesterday = before
    ? before.network.total * (before.day.end - before.day.start) /
      Math.max(3_600_000, before.network.at - before.day.start)
    : 0;
  const seen = network?.total ?? 0;
  const rate = seen < VIEWS_TO_FORETELL ? yesterday : Math.max(seen / gone, 0.5 * yesterday);
  return rate * (1 - gone);
}

/**
 * Says when a shard of today may be written.
 *
 * While writes abound (the day's plan is not used up and the traffic foretold fits into what is left)
 * it is now. Otherwise what is left is shared out over the rest of the day, between data centres in
 * proportion to the square roots of their traffic; a data centre's first write of the day goes ahead
 * as long as there is one for each that is still expected. What dies with its isolate is written when
 * it has grown to what a write of the rest of the day must carry.
 *
 * @param input What is known.
 * @returns When, and how things stand.
 */
export function pace(input: PaceInput): Pace {
  const { now, today, writesPerDay, network, before } = input;
  const finals = Math.max(network?.finals ?? 0, finalsAfter(input));
  const pool = writesPerDay * (1 - RESERVE) - Math.max(finals, network?.late ?? 0);
  const plan = planned(pool, today, now);
  const seen = network ? network.writes + hidden(network) : 0;
  // An old listing, or none, is carried on as if the plan had been kept since.
  const stale = network ? now - network.at > LISTING_LAG_MS : finals > 0;
  const used = stale && finals > 0 ? Math.max(seen, plan) : seen;
  const left = Math.max(0, pool - used);
  const toCome = viewsToCome(input);
  const plenty = used < plan && 0.8 * toCome <= 1.2 * left;
  if (plenty) return { dueAt: now, plenty, finals };

  const horizon = Math.max(HORIZON_MIN_MS, today.end - now);
  if (input.volatile) {
    const worth = Math.max(1, toCome / Math.max(0.01, left));
    return { dueAt: left >= 1 && input.pending >= worth ? now : Infinity, plenty, finals };
  }
  const known = Math.max(1, network?.writers ?? 0);
  const missing = Math.max(0, (before?.network.writers ?? 0) - known);
  const room = left - missing - writesPerDay * RESERVE;
  if (!input.stored && !stale && room > 0) return { dueAt: now, plenty, finals };
  if (left < 1) return { dueAt: Infinity, plenty, finals };
  const own = Math.sqrt(Math.max(1, input.total));
  const weight = Math.max(own, network?.weight ?? 0) * (1 + missing / known);
  return { dueAt: input.since + horizon * weight / (left * own), plenty, finals };
}

/**
 * Says when a shard may be written while listings fail: the article's schedule, ever more slowly.
 *
 * @param since When the shard was last stored, or else began, in milliseconds.
 * @param pending Views that wait.
 * @param writes Writes tried for the shard.
 * @returns From when on, in milliseconds; `Infinity` for not today.
 */
export function fallbackDueAt(since: number, pending: number, writes: number): number {
  if (writes === 0) return since;
  if (writes >= FALLBACK.writesMax) return Infinity;
  // Without a view of the network each writer must assume that it is one of many.
  const slow = 2 ** Math.min(10, writes - 1);
  return pending >= FALLBACK.pendingViews * slow ? since : since + FALLBACK.intervalMs * slow;
}
