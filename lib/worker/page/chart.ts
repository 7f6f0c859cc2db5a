/**
 * The chart of views per day, an SVG that fits any width while its text keeps its size.
 *
 * @module
 */

import type { DayReport } from "../../views/types.ts";
import { formatCount, formatCounted, formatDay, round, trafficUrl } from "./format.ts";
import { type Html, markup } from "./html.ts";
import { type TrafficView, viewsOf } from "./model.ts";

/** Where bars end and how high they can get, in percent of the picture's height. */
const FLOOR = 90;
const HEIGHT = 86;

/**
 * Renders the chart with its legend. The picture has one label for screen readers; the links on its
 * bars are for the mouse, and the table of days holds the same links for everyone.
 *
 * @param days The days to draw, oldest first.
 * @param before As many days before, drawn as a line, or none.
 * @param view What the page shows.
 * @returns The markup.
 */
export function renderChart(
  days: readonly DayReport[],
  before: readonly DayReport[],
  { filter }: TrafficView,
): Html {
  const values = days.map((day) => viewsOf(day, filter));
  const earlier = before.map((day) => viewsOf(day, filter));
  const most = Math.max(...values);
  const max = niceMax(Math.max(most, ...earlier));
  const width = days.length;
  const y = (value: number) => round(FLOOR - value / max * HEIGHT);
  const x = (i: number) => `${round(i * 100 / width)}%`;
  const bars = (kind: string) =>
    days.map((day, i) => {
      const value = values[i] ?? 0;
      const top = Math.min(y(value), FLOOR - 1);
      return value > 0 && kindOf(day) === kind ? `M${i}.14 ${FLOOR}V${top}h.72V${FLOOR}z` : "";
    }).join("");
  return markup`<div class="chart"><svg role="img" aria-label="${days.length} days, most views on ${
    formatDay(days[values.indexOf(most)]?.date ?? "")
  }: ${formatCount(most)}. The table has every day.">${
    [0, max / 2, max].map((value) =>
      markup`<line x2="100%" y1="${y(value)}%" y2="${y(value)}%"/><text x="-8" y="${
        y(value)
      }%" dy="4" class="e">${formatCount(value)}</text>`
    )
  }<svg viewBox="0 0 ${width} 100" preserveAspectRatio="none">${
    ["b", "w", "p"].map((kind) => markup`<path class="${kind}" d="${bars(kind)}"/>`)
  }<path class="d" d="${
    earlier.map((value, i) => `${i ? "V" : "M0 "}${y(value)}h1`).join("")
  }"/></svg>${
    days.map((day, i) => label(day, width - 1 - i, width, x(i + 0.5)))
  }</svg><svg aria-hidden="true">${
    days.map((day, i) =>
      markup`<a tabindex="-1" href="${trafficUrl({ date: day.date }, filter)}"><title>${
        formatDay(day.date)
      }: ${formatCounted(values[i] ?? 0, "view")}</title><rect x="${x(i)}" width="${x(1)}"/></a>`
    )
  }</svg></div>${legend(days, before.length)}`;
}

/** Twice the least round number that is not below half of the largest value. */
function niceMax(value: number): number {
  const half = Math.max(value / 2, 1);
  const unit = 10 ** Math.floor(Math.log10(half));
  return 2 * Math.ceil(half / unit) * unit;
}

function kindOf(day: DayReport): string {
  return day.partial ? "p" : day.warning ? "w" : "b";
}

/** A name on at most eight days, the last among them. */
function label(day: DayReport, left: number, width: number, x: string): Html | false {
  const every = width > 8 ? Math.ceil(width / 5) : 1;
  const name = formatDay(day.date);
  return left % every === 0 &&
    markup`<text x="${x}" y="99%">${every > 1 ? name.slice(4) : name.slice(0, 3)}</text>`;
}

function legend(days: readonly DayReport[], before: number): Html {
  const entry = (kind: string, text: string, path = "M0 0h9v9H0z") =>
    markup`<li><svg viewBox="0 0 9 9"><path class="${kind}" d="${path}"/></svg>${text}</li>`;
  return markup`<ul class="legend">${days.at(-1)?.partial && entry("p", "Today so far")}${
    days.some((day) => kindOf(day) === "w") && entry("w", "Looks automated")
  }${before > 0 && entry("d", `${before} days before`, "M-5 5h14")}</ul>`;
}
