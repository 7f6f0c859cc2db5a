/**
 * Numbers, days and addresses as the traffic page writes them.
 *
 * @module
 */

import type { Period, TrafficFilter } from "./model.ts";

/** A count with thousands separated: `12,345`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Two decimals, for lengths. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** A share in whole percent: `12 %`, `< 1 %`, and nothing where there is no whole. */
export function formatShare(part: number, whole: number): string {
  if (!(whole > 0)) return "";
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 1 ? "< 1 %" : `${Math.round(percent)} %`;
}

/** A count and its noun: `1 view`, `2 views`. */
export function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A day for people: `Mon 9 Nov`. */
export function formatDay(date: string): string {
  return formatFullDay(date).slice(0, -5);
}

/** A day for people, with its year: `Mon 9 Nov 2026`. */
export function formatFullDay(date: string): string {
  return new Date(date).toUTCString().slice(0, 16).replace(/, 0?/, " ");
}

/** A span of time in its largest unit: `12 minutes`. */
export function formatAge(seconds: number): string {
  const [size, unit] = seconds < 90
    ? [1, "second"]
    : seconds < 5400
    ? [60, "minute"]
    : seconds < 129_600
    ? [3600, "hour"]
    : [86_400, "day"];
  return formatCounted(Math.round(seconds / Number(size)), String(unit));
}

/** An address of the traffic page, relative to itself, narrowed as the page is. */
export function trafficUrl(period: Period, filter?: TrafficFilter): string {
  const url = "date" in period ? `?date=${period.date}` : `?days=${period.days}`;
  return filter ? `${url}&${filter.by}=${encodeURIComponent(filter.key)}` : url;
}
