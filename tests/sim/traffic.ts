/**
 * The traffic of a simulated network: sessions over data centers, by the hour of each one's day.
 *
 * @module
 */

import type { Random } from "../../lib/clock.ts";

/** One request. */
export interface Visit {
  /** When, in milliseconds. */
  readonly at: number;
  /** Which data center answers. */
  readonly dataCenter: number;
  /** Which page is asked for. */
  readonly page: number;
  /** What it is. */
  readonly kind: "view" | "signup";
}

/** What traffic is like. */
export interface TrafficOptions {
  /** Chance. */
  readonly random: Random;
  /** The first day's first millisecond. */
  readonly start: number;
  /** Days. */
  readonly days: number;
  /** Views a day over the whole network, on average. */
  readonly viewsPerDay: number;
  /** Data centers; the n-th gets 1/n of what the first one gets. */
  readonly dataCenters: number;
  /** Views of a session, on average. */
  readonly pagesPerSession: number;
  /** Milliseconds between two pages of a session, on average. */
  readonly pageMs: number;
  /** The chance that a session ends with a signup. */
  readonly signupRate: number;
  /** A burst, or none. */
  readonly spike: Spike | undefined;
}

/** A burst: so many times the traffic for a while. */
export interface Spike {
  /** When it begins, in hours from the start. */
  readonly hour: number;
  /** How long it lasts, in hours. */
  readonly hours: number;
  /** How many times the traffic. */
  readonly factor: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Pages of the site. */
export const PAGES = 40;

/** Draws the index of a weight, by a table of running sums. */
function draw(sums: Float64Array, random: Random): number {
  const wanted = random() * (sums[sums.length - 1] ?? 0);
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Running sums of 1, 1/2, 1/3 … */
function zipf(count: number): Float64Array {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let n = 0; n < count; n++) sums[n] = sum += 1 / (n + 1);
  return sums;
}

/** How busy a data center is at a moment, from 0 to 1: least at night, by its longitude. */
function busyness(at: number, dataCenter: number): number {
  const longitude = (dataCenter * 0.618_034) % 1;
  return (1 + 0.8 * Math.sin(2 * Math.PI * (at / DAY_MS + longitude))) / 1.8;
}

/**
 * Draws all visits.
 *
 * @param options What traffic is like.
 * @returns The visits, in order.
 */
export function drawTraffic(options: TrafficOptions): Visit[] {
  const { random, start, days, viewsPerDay, pagesPerSession, pageMs, signupRate } = options;
  const byDataCenter = zipf(options.dataCenters);
  const byPage = zipf(PAGES);
  const visits: Visit[] = [];
  const end = start + days * DAY_MS;
  const session = (from: number, length: number) => {
    const dataCenter = draw(byDataCenter, random);
    let at = from + random() * length;
    while (random() > busyness(at, dataCenter)) at = from + random() * length;
    do {
      visits.push({ at: Math.floor(at), dataCenter, page: draw(byPage, random), kind: "view" });
      at += -Math.log(1 - random()) * pageMs;
    } while (at < end && random() > 1 / pagesPerSession);
    if (at >= end || random() >= signupRate) return;
    visits.push({ at: Math.floor(at), dataCenter, page: visits.length, kind: "signup" });
  };
  const sessions = Math.round(days * viewsPerDay / pagesPerSession);
  for (let n = 0; n < sessions; n++) session(start, days * DAY_MS);
  const { spike } = options;
  if (spike) {
    const more = viewsPerDay / 24 * spike.hours * (spike.factor - 1) / pagesPerSession;
    for (let n = 0; n < more; n++) session(start + spike.hour * HOUR_MS, spike.hours * HOUR_MS);
  }
  return visits.sort((a, b) => a.at - b.at);
}
