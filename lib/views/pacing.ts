/**
 * When to write: a day's writes shared out over a network that only sees itself through listings.
 *
 * Pure functions of numbers. Nothing here reads a clock or a store.
 *
 * @module
 */

import type { Census } from "./census.ts";
import type { Day } from "./day.ts";
import { type NetworkView, RECENT_SECONDS, wholeDay } from "./network.ts";

/** The share of the budget that pacing never plans for; it covers what a stale listing hides. */
const RESERVE = 0.02;
/** The same where there is no cache: every isolate writes, and hints are written too. */
const VOLATILE_RESERVE = 0.12;
/** The share of a day's writes that may be gone at its very beginning. */
const HEAD_START = 0.25;
/** The least part of a day from which its traffic is foretold. */
const FORETELL_DAYS = 0.02;
/** How much of a day it takes until today's views tell more than yesterday's. */
const EXPECTED_DAYS = 0.1;
/** How late a listing may be, in milliseconds: writes of that long are assumed on top of it. */
const LISTING_LAG_MS = 120_000;
/** Writes are held back this long after a view, in milliseconds, for the visitor's next page. */
const HOLD_MS = 21_500;
/** Views that are held back while writes abound, at most: a crowd must not put them off. */
const HELD_VIEWS_MAX = 3;
/** Views that a write must save on the first day, times this power of how far the day is ahead of its plan. */
const PRICE_FIRST = { views: 0.28, power: 5 } as const;
/** That power where the day before has taught the price: below its plan the price stays. */
const PRICE_POWER = 4;
/** Chance that a visitor who has not asked for another page while a write was held asks for none. */
const VISIT_OVER = 0.75;
/** How old a listing may be for a turn, in milliseconds. */
const TURN_LOOK_MS = 30 * 60_000;
/** How steeply the pause between turns rises while the day is ahead of its plan. */
const TURN_POWER = 4;
/** How steeply the views that a write must carry rise beyond the plan where there is no cache. */
const VOLATILE_POWER = 6;
/** The chance of nobody coming below which nothing need be written for safety. */
const NOBODY_SURE = 0.005;
/** Views of a visit, at most: more of them are several visitors' who came without a pause. */
const VIEWS_A_VISIT = 10;
/** Views for each write of the budget above which every data center will need a late write. */
const VIEWS_A_WRITE_MANY = 10;
/** Those above which freshness keeps its share for itself by day. */
const VIEWS_A_WRITE_KEPT = 25;
/** The share of the writes that goes into freshness instead of safety: at least, and at most. */
const FRESHNESS = { least: 0.12, most: 0.9 } as const;
/** Views of a data center at which about two thirds of the writes go into freshness. */
const VIEWS_TO_FRESHEN = 60;
/** The end of a day is planned as if this much of it were left, so that a late rush fits. */
const HORIZON_DAYS = 1 / 24;
/** Data centers that a busy network is taken to have until it is known. */
const DATA_CENTERS_BUSY = 200;
/** How much of the plan is not taken to be used where no listing tells, if there is a view for each write. */
const SPARE = 0.15;
/** How much of it is taken to be used where there is no cache. */
const VOLATILE_GUESS = 0.5;
/** How long it takes until half of what a listing showed is forgotten, in milliseconds. */
const FORGET_MS = 6 * 3_600_000;
/** Writes of a shard for the day before, at most, unless writes abound. */
export const LATE_WRITES_MAX = 2;
/** Views that are worth one more: an isolate may bring in what the cache had forgotten. */
export const LATE_VIEWS = 10;
/** The article's schedule, followed while listings fail. */
export const FALLBACK = { pendingViews: 250, intervalMs: 30 * 60_000, writesMax: 48 } as const;

/** How a shard is paced: 0, writes abound; 1, what might be lost is written; 2, it takes turns. */
export type PaceMode = 0 | 1 | 2;

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
  /** What the roll-up of the day before taught. */
  readonly census: Census | undefined;
  /** Views that the data center has seen today, stored or not. */
  readonly total: number;
  /** Views that it saw yesterday, as far as known. */
  readonly totalBefore: number;
  /** Visits to the data center today, as far as known. */
  readonly visits: number;
  /** The same yesterday. */
  readonly visitsBefore: number;
  /** Views that wait to be stored. */
  readonly pending: number;
  /** When the last of them was counted, or brought in from an isolate, in milliseconds. */
  readonly countedAt: number;
  /** When the shard was last stored, or else began, in milliseconds. */
  readonly since: number;
  /** Whether what waits dies with the isolate, because there is no data-center cache. */
  readonly volatile: boolean;
}

/** What pacing says. */
export interface Pace {
  /** Whether the network must be looked at before: not where a data center keeps to its own share. */
  readonly look: boolean;
  /** From when on a write is in order, in milliseconds; `Infinity` for not today. */
  readonly dueAt: number;
  /** How the shard is paced. */
  readonly mode: PaceMode;
  /** Views that a write must save at the moment; 0 where that is not asked. */
  readonly price: number;
}

/** Writes that may be gone at a moment of the day. */
function planned(pool: number, day: Day, now: number): number {
  return pool * (HEAD_START + (1 - HEAD_START) * goneOf(day, now));
}

/** The part of a day that is gone, from 0 to 1. */
function goneOf({ start, end }: Day, now: number): number {
  return (now - start) / (end - start);
}

/** Writes that a listing does not show yet. */
function hidden(network: NetworkView): number {
  return network.recent * LISTING_LAG_MS / (RECENT_SECONDS * 1000);
}

/** Views a day, by what a listing showed and, as far as that is young, by what was expected. */
function viewsADay(day: Day, { at, total }: NetworkView, expected = 0): number {
  const gone = Math.max(FORETELL_DAYS, goneOf(day, at));
  const weight = expected > 0 ? EXPECTED_DAYS : 0;
  return (total + weight * expected) / (gone + weight);
}

/** Views of the whole day, as far as can be foretold: at least so much of yesterday's. */
function viewsToday({ today, network, before, census }: PaceInput, least = 0.5): number {
  const listed = before ? viewsADay(before.day, before.network) : 0;
  const yesterday = Math.max(listed, census?.total ?? 0);
  return network ? Math.max(viewsADay(today, network, yesterday), least * yesterday) : yesterday;
}

/** Views still to come today. */
function viewsToCome(input: PaceInput): number {
  return viewsToday(input) * Math.max(HORIZON_DAYS, 1 - goneOf(input.today, input.now));
}

/** The chance that nobody comes to this data center before today ends, and before tomorrow does. */
function chanceOfNobody(input: PaceInput): { today: number; tomorrow: number } {
  const { now, today, visits, visitsBefore, totalBefore, census } = input;
  const left = 1 - goneOf(today, now);
  // Visits come as by a Poisson process of unknown rate, of which half a visit in half a day is the prior.
  const known = census ? 1 + census.days : totalBefore > 0 ? 1 : 0;
  const watched = 1 - left + known + 0.5;
  // Where views never pause, visits do not show.
  const seen = Math.max(visits + visitsBefore, (input.total + totalBefore) / VIEWS_A_VISIT) +
    (census?.visits ?? 0) + 0.5;
  const nobody = (days: number) => VISIT_OVER * (watched / (watched + days)) ** seen;
  return { today: nobody(left), tomorrow: nobody(left + 1) };
}

/**
 * Says when a shard of today may be written.
 *
 * While writes abound (the day's plan is not used up and the traffic foretold fits into what is left)
 * it is at once. Otherwise a write must save views: those that wait, times the chance that nobody comes
 * to carry them on before tomorrow is over, against a price that rises steeply as the day's plan is
 * used up. Some of the writes go into freshness: data centers take turns in proportion to the square
 * roots of their traffic. What dies with its isolate is written when it has grown to what each write of
 * the rest of the day must carry.
 *
 * @param input What is known.
 * @returns When, and how things stand.
 */
export function pace(input: PaceInput): Pace {
  const { now, today, pending } = input;
  const { pool, used } = stand(input);
  const plan = planned(pool, today, now);
  const left = Math.max(0, pool - used);
  const demand = 0.8 * viewsToCome(input);
  const held = input.countedAt + HOLD_MS;
  if (used < plan && demand <= 1.2 * left) {
    const isHeld = demand > 0.6 * left && pending <= HELD_VIEWS_MAX;
    return { dueAt: isHeld ? held : now, mode: 0, look: true, price: 0 };
  }
  const never: Pace = { dueAt: Infinity, mode: 2, look: true, price: 0 };
  if (left < 1) return never;
  if (input.volatile) {
    // What each write of the rest of the day must carry, and more while the day is ahead of its plan.
    const worth = Math.max(1, demand / left) * Math.max(1, used / plan) ** VOLATILE_POWER;
    return { ...never, mode: 0, dueAt: pending >= worth ? now : Infinity };
  }
  const nobody = chanceOfNobody(input);
  if (nobody.tomorrow > NOBODY_SURE) {
    const gone = goneOf(today, now);
    // What freshness has not used by the evening may go into safety.
    const kept = isBusy(input, VIEWS_A_WRITE_KEPT) ? 1 - freshness(input) * (1 - gone) : 1;
    const ahead = used / (plan * kept);
    const price = input.census
      ? input.census.price * Math.max(1, ahead) ** PRICE_POWER
      : PRICE_FIRST.views * ahead ** PRICE_FIRST.power;
    // A write that turns out to be the day's last spares a late one, if somebody comes tomorrow.
    const cost = 1 - (nobody.today - nobody.tomorrow);
    if (pool * kept - used >= 1 && pending * nobody.tomorrow >= price * cost) {
      return { dueAt: held, mode: 1, look: true, price };
    }
  }
  return { ...never, ...turn(input, pool, used / plan) };
}

/** Whether there is so much traffic that freshness must get its own share of the writes. */
function isBusy(input: PaceInput, viewsAWrite = VIEWS_A_WRITE_MANY): boolean {
  return viewsToday(input, 1) > viewsAWrite * input.writesPerDay;
}

/** The share of the writes that goes into freshness: the busier data centers are, the less is at risk. */
function freshness(input: PaceInput): number {
  const { census } = input;
  if (!census && !isBusy(input, VIEWS_A_WRITE_KEPT)) return FRESHNESS.least;
  const views = viewsToday(input, 1) / Math.max(1, census?.dataCenters ?? DATA_CENTERS_BUSY);
  const share = 1 - Math.exp(-views / VIEWS_TO_FRESHEN);
  return Math.min(FRESHNESS.most, Math.max(FRESHNESS.least, share));
}

/**
 * When it is a data center's turn to freshen its numbers. It keeps to its own share of the network's
 * weight, and looks now and then whether the others did.
 */
function turn(
  input: PaceInput,
  pool: number,
  ahead: number,
): { dueAt: number; look: boolean } {
  const { today, network, census, since, countedAt, totalBefore } = input;
  const isKnown = census !== undefined && totalBefore > 0;
  const length = today.end - today.start;
  const ownDay = isKnown ? totalBefore : wholeDay(input.total, goneOf(today, input.now));
  const own = Math.sqrt(Math.max(1, ownDay));
  // A young day shows few of those that will come.
  const expected = census?.dataCenters ?? (isBusy(input) ? DATA_CENTERS_BUSY : 0);
  const seen = Math.max(1, network?.writers ?? 0);
  const listed = (network?.weight ?? own) * Math.max(1, expected / seen);
  const weight = Math.max(own, isKnown ? census.weight : listed);
  const isFresh = network !== undefined && input.now - network.at < TURN_LOOK_MS;
  const look = !isBusy(input) || !isFresh;
  const pause = length * weight / (freshness(input) * pool * own) *
    Math.max(1, ahead) ** TURN_POWER;
  return { dueAt: Math.max(countedAt + HOLD_MS, since + pause), look };
}

/** What has been used of today's writes, and what is meant for them: not what yesterday still needs. */
function stand(input: PaceInput): { pool: number; used: number } {
  const { now, today, writesPerDay, network, before } = input;
  const late = before && before.network.at >= today.start ? before.network.used : undefined;
  const finals = input.volatile ? 0 : input.census?.finals ?? 0;
  const spent = Math.max(network?.used.late ?? 0, late?.late ?? 0);
  const kept = input.volatile ? VOLATILE_RESERVE : RESERVE;
  const pool = Math.max(1, writesPerDay * (1 - kept) - Math.max(finals, spent));
  const seen = Math.max(network?.used.writes ?? 0, late?.writes ?? 0);
  if (network && now - network.at <= LISTING_LAG_MS) {
    return { pool, used: seen + hidden(network) };
  }
  // An old listing, or none: where traffic is more than can be written, most of the plan will have been
  // used, and what was spent beyond it is made up for by and by.
  const views = viewsToday(input);
  if (views <= pool || !(network ?? before ?? input.census)) {
    return { pool, used: seen };
  }
  const plan = planned(pool, today, now);
  const middle = input.volatile ? VOLATILE_GUESS : 1 - SPARE * pool / views;
  const last = network ? network.used.writes / planned(pool, today, network.at) : middle;
  const age = network ? now - network.at : 0;
  const guess = middle + (last - middle) * 0.5 ** (age / FORGET_MS);
  return { pool, used: Math.max(seen, plan * guess) };
}

/**
 * Whether a shard of yesterday may be written now.
 *
 * @param input What is known; `before` must have been listed a moment ago where writes are scarce.
 * @returns Whether it may, and whether writes are scarce.
 */
export function paceFinal(input: PaceInput): { allowed: boolean; scarce: boolean } {
  const { today, writesPerDay, network, before } = input;
  const scarce = viewsToday(input, 1) > writesPerDay;
  const views = [network, before?.network].filter((view) => view && view.at >= today.start);
  const most = (of: "writes" | "late") => Math.max(0, ...views.map((view) => view?.used[of] ?? 0));
  const isFresh = before && input.now - before.network.at < LISTING_LAG_MS;
  const used = most("writes") + most("late") + (isFresh ? hidden(before.network) : 0);
  return { allowed: used < writesPerDay * (1 - RESERVE / 2), scarce };
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
