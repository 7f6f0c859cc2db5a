/**
 * The sentences of the traffic page: the warning, the number, and what the number is worth.
 *
 * @module
 */

import type { DayReport } from "../../views/types.ts";
import { formatAge, formatCount, formatCounted, formatDay, round, trafficUrl } from "./format.ts";
import { type Html, markup } from "./html.ts";
import { sumOf, type TrafficView, viewsOf } from "./model.ts";

/**
 * Renders the warning of the latest day that has one, with its reasons and the innocent explanation.
 *
 * @param days The days shown.
 * @returns The markup, or `undefined` when no day looks automated.
 */
export function renderWarning(days: readonly DayReport[]): Html | undefined {
  const day = days.findLast((each) => each.warning);
  if (!day?.warning) return undefined;
  const { message, reasons, innocent } = day.warning;
  return markup`<section class="warn"><h2>${dayAnchor(day.date)}: ${message}</h2><ul>${
    reasons.map((reason) => markup`<li>${reason}</li>`)
  }</ul><p>${innocent}</p></section>`;
}

/** A link to a day. */
export function dayAnchor(date: string): Html {
  return markup`<a href="${trafficUrl({ date })}">${formatDay(date)}</a>`;
}

/** Page requests that were not counted on a day. */
export function skippedOf(day: DayReport): number {
  return Object.values(day.skipped).reduce((sum, count) => sum + count, 0);
}

/**
 * Renders the number of views, the comparison with the period before, and a few figures.
 *
 * @param view What the page shows.
 * @returns The markup.
 */
export function renderNumber({ days, before, filter }: TrafficView): Html {
  const views = (some: readonly DayReport[]) => sumOf(some, (day) => viewsOf(day, filter));
  const partial = days.at(-1)?.partial === true;
  const full = days.length - (partial ? 1 : 0);
  const [total, now] = [views(days), views(days.slice(0, full))];
  const figure = (name: string, count: number) =>
    markup`<div><dt>${name}</dt><dd>${formatCount(count)}</dd></div>`;
  return markup`<div class="row"><div class="big"><strong>${formatCount(total)}</strong> ${
    total === 1 ? "view" : "views"
  }${partial && " so far"}${compare(days.length, full, now, before, views)}</div><dl>${
    days.length > 1 && figure("Per full day", Math.round(now / full))
  }${
    !filter &&
    markup`${figure("Not counted", sumOf(days, skippedOf))}${
      figure("Not stored yet", sumOf(days, (day) => day.pending))
    }${figure("Lost", sumOf(days, (day) => day.dropped))}`
  }</dl></div>`;
}

/** Compares full days with as many before: today, not over yet, would make every trend look down. */
function compare(
  count: number,
  full: number,
  now: number,
  before: readonly DayReport[],
  views: (days: readonly DayReport[]) => number,
): Html | undefined {
  if (before.length === 0) return undefined;
  if (count === 1) {
    return markup`<p>The day before had ${formatCounted(views(before.slice(-1)), "view")}${
      full === 0 && " in all"
    }.</p>`;
  }
  const then = views(before.slice(0, full));
  const change = Math.round((now / then - 1) * 100);
  return markup`<p>${
    then > 0 &&
    markup`<b>${change < 0 ? "▼" : "▲"} ${formatCount(Math.abs(change))} %<i> ${
      change < 0 ? "less" : "more"
    }</i></b> `
  }${full < count && "without today: "}${formatCount(now)}, after ${
    formatCount(then)
  } on the same ${formatCounted(full, "day")} a period before.</p>`;
}

/**
 * Renders how fresh and how complete the numbers are.
 *
 * @param view What the page shows.
 * @returns The markup of the section.
 */
export function renderTrust({ days, writesMax }: TrafficView): Html {
  const day = days[days.length - 1] as DayReport;
  const { dataCenters, oldestSeconds, newestSeconds } = day.freshness;
  const damaged = sumOf(days, (each) => each.damaged);
  return markup`<section><h2>What these numbers are worth</h2><p>${day.note}</p><ul><li>${
    oldestSeconds === null || newestSeconds === null
      ? "No data center has reported."
      : markup`Data of <b>${formatCounted(dataCenters, "data center")}</b>, the oldest <b>${
        formatAge(oldestSeconds)
      }</b> old, the newest ${formatAge(newestSeconds)}.`
  }</li><li><b>${formatCount(day.writes)}</b> of ${
    formatCount(writesMax)
  } writes a day used for counting.<svg class="meter" aria-hidden="true"><rect width="${
    Math.min(100, round(day.writes / writesMax * 100))
  }%"/></svg></li>${
    damaged > 0 &&
    markup`<li class="m">${
      formatCounted(damaged, "stored value")
    } could not be read: the true numbers are higher.</li>`
  }<li>Days are days in ${day.timeZone}${
    day.partial && ", and today is not over"
  }. Nothing finer is stored, and no address, browser or cookie.</li></ul></section>`;
}
