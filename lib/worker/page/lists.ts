/**
 * The ranked lists of the traffic page: pages, sources, clients, reasons.
 *
 * @module
 */

import type { DayReport } from "../../views/types.ts";
import { formatCount, formatShare, round, trafficUrl } from "./format.ts";
import { type Html, type HtmlValue, markup } from "./html.ts";
import { rank, type Ranking, type TrafficFilter, type TrafficView } from "./model.ts";

/** Rows shown of a list; the rest is one sum. */
const ROWS_MAX = 30;

/**
 * Renders the pages and the sources. Where the page is narrowed to one of either kind, the other
 * list is replaced by the reason why it cannot be told apart.
 *
 * @param view What the page shows.
 * @returns The markup of the sections.
 */
export function renderPagesAndSources(view: TrafficView): Html {
  return markup`<div class="two">${linkedList(view, "path", "Pages")}${
    linkedList(view, "ref", "Sources")
  }</div>`;
}

function linkedList(
  { days, filter, period }: TrafficView,
  by: TrafficFilter["by"],
  title: string,
): Html {
  if (filter && filter.by !== by) {
    return section(
      title,
      markup`<p>Not known: pages and sources are stored apart, so that no visit can be pieced together.</p>`,
    );
  }
  const link = (key: string) =>
    markup`<a href="${trafficUrl(period, { by, key })}"${
      filter?.key === key && markup` aria-current="true"`
    }>${name(key)}</a>`;
  return section(
    title,
    rows(rank(days, (day) => by === "path" ? day.paths : day.refs), link, "views"),
  );
}

/**
 * Renders who asked, and what was asked for and not counted.
 *
 * @param days The days shown.
 * @returns The markup of the sections.
 */
export function renderClients(days: readonly DayReport[]): Html {
  const skipped = rank(days, (day) => day.skipped);
  const kinds = rank(days, (day) => day.kinds);
  return markup`<div class="two">${section("Who asked", rows(kinds, name, "views"))}${
    section("Not counted", rows(skipped, name, "requests"))
  }</div>`;
}

function section(title: string, body: Html): Html {
  return markup`<section><h2>${title}</h2>${body}</section>`;
}

/** A key as it is, or `notFound` as `Not found`: pages begin with a slash, hosts have a dot. */
function name(key: string): string {
  return /^[a-z]+[A-Za-z]*$/.test(key)
    ? key.replace(/^.|[A-Z]/g, (c, at) => at === 0 ? c.toUpperCase() : ` ${c.toLowerCase()}`)
    : key;
}

function rows(ranking: Ranking, label: (key: string) => HtmlValue, unit: string): Html {
  if (ranking.length === 0) return markup`<p>None.</p>`;
  const total = ranking.reduce((sum, [, count]) => sum + count, 0);
  const max = Math.max(...ranking.map(([, count]) => count));
  const row = (key: HtmlValue, count: number) =>
    markup`<li><svg aria-hidden="true"><rect width="${
      round(Math.min(1, count / max) * 100)
    }%"/></svg><span>${key}</span><b>${formatCount(count)}<i> ${unit}</i></b><small>${
      formatShare(count, total)
    }</small></li>`;
  const shown = ranking.slice(0, ROWS_MAX);
  const rest = ranking.length - shown.length;
  const left = total - shown.reduce((sum, [, count]) => sum + count, 0);
  return markup`<ol>${shown.map(([key, count]) => row(label(key), count))}${
    rest > 0 && row(`${formatCount(rest)} more`, left)
  }</ol>`;
}
