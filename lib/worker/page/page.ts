/**
 * The traffic page: one HTML document, complete without script.
 *
 * @module
 */

import { addDays } from "../../views/day.ts";
import type { DayReport } from "../../views/types.ts";
import { renderChart } from "./chart.ts";
import { formatCount, formatDay, formatFullDay, trafficUrl } from "./format.ts";
import { Html, markup } from "./html.ts";
import { renderClients, renderPagesAndSources } from "./lists.ts";
import { type TrafficView, viewsOf } from "./model.ts";
import { REFRESH_SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";
import { dayAnchor, renderNumber, renderTrust, renderWarning, skippedOf } from "./summary.ts";

/**
 * Renders the traffic page. Pure: the same view gives the same text.
 *
 * @param view What the page shows.
 * @returns The document.
 */
export function renderPage(view: TrafficView): string {
  const { days, before, filter, period, readAt, signedIn, site } = view;
  const last = days[days.length - 1] as DayReport;
  const around = days.length > 1 ? days : [...before, ...days];
  const compared = days === around ? before : [];
  const any = days.some((day) => viewsOf(day, filter) > 0);
  const title = heading(view);
  const warning = renderWarning(days);
  const current = last.warning !== null;
  return renderDocument(
    `${title} · ${site}`,
    markup`<header><a href="/"><b>${site}</b></a><nav aria-label="Period"><ul>${
      [1, 7, 30, 90].map((count) =>
        markup`<li><a href="${trafficUrl({ days: count }, filter)}"${
          "days" in period && period.days === count && markup` aria-current="page"`
        }>${count > 1 ? `${count} days` : "Today"}</a></li>`
      )
    }</ul></nav></header><main><div class="row"><h1>${title}</h1><small>${
      aside(view, last)
    }</small></div>${current && warning}<section aria-label="Views">${renderNumber(view)}${
      any
        ? around.length > 2 &&
          markup`${renderChart(around, compared, view)}${table(around, compared, view)}`
        : empty(view)
    }</section>${!current && warning}${any && renderPagesAndSources(view)}${
      !filter && renderClients(days)
    }${renderTrust(view)}</main><footer><small>Read at ${
      new Date(readAt).toISOString().slice(11, 16)
    } UTC. The same as ${
      ["traffic", "traffic.csv"].map((name) =>
        markup`<a href="/api/${name}${trafficUrl(period)}">${name.slice(8) || "json"}</a>, `
      )
    }<a href="/api/export">all there is</a>, <a href="/badge.svg">a badge</a>, <a href="/api/openapi.json">how to ask</a>.</small>${
      signedIn &&
      markup`<form method="post" action="/traffic/logout"><button>Log out</button></form>`
    }</footer>`,
    last.partial && REFRESH_SCRIPT,
  );
}

/**
 * Renders a whole document with the page's style.
 *
 * @param title The title, plain text.
 * @param content What stands in the body.
 * @param script A script without anything from a request in it.
 * @returns The document.
 */
export function renderDocument(title: string, content: Html, script?: string | false): string {
  return markup`<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex,nofollow"><title>${title}</title><link rel="icon" href="data:,"><style>${new Html(
    STYLE,
  )}</style><body>${content}${script && markup`<script>${new Html(script)}</script>`}`.text;
}

function heading({ days, filter, period }: TrafficView): string {
  const last = formatFullDay(days.at(-1)?.date ?? "");
  const when = days.length > 1
    ? `${formatDay(days[0]?.date ?? "")} to ${last}`
    : "days" in period
    ? `Today, ${last}`
    : last;
  return filter ? `${filter.key}, ${when}` : when;
}

/** A way out of the filter, links to the day before and after, or what a day is. */
function aside({ days, filter, period, readAt }: TrafficView, day: DayReport): Html {
  if (filter) return markup`<a href="${trafficUrl(period)}">Show everything</a>`;
  if (days.length > 1) return markup`Days in ${day.timeZone}`;
  return markup`${
    readAt - Date.parse(day.date) < 89 * 86_400_000 && markup`← ${dayAnchor(addDays(day.date, -1))}`
  }${!day.partial && markup` ${dayAnchor(addDays(day.date, 1))} →`}`;
}

function empty({ filter }: TrafficView): Html {
  return markup`<p>${
    filter
      ? "No views by this name. A day keeps the 30 most viewed pages and sources by name, the rest as one sum."
      : "No views. Open a page of the site in a browser: it shows here within a minute."
  }</p>`;
}

function table(
  days: readonly DayReport[],
  before: readonly DayReport[],
  { filter }: TrafficView,
): Html {
  const head = (name: string) => markup`<th scope="col">${name}</th>`;
  const row = (day: DayReport, i: number) => {
    const earlier = before[i];
    return markup`<tr><th scope="row">${dayAnchor(day.date)}</th><td>${
      formatCount(viewsOf(day, filter))
    }</td>${earlier && markup`<td>${formatCount(viewsOf(earlier, filter))}</td>`}<td>${
      formatCount(skippedOf(day))
    }</td><td>${
      [
        day.partial && "so far",
        day.warning && "looks automated",
        day.damaged > 0 && "unreadable values",
        day.dropped > 0 && `${formatCount(day.dropped)} lost`,
      ].filter(Boolean).join(", ")
    }</td></tr>`;
  };
  return markup`<details><summary>Every day</summary><table><thead><tr>${head("Day")}${
    head("Views")
  }${before.length > 0 && head(`${days.length} days before`)}${
    head("Not counted")
  }<td></td></tr></thead><tbody>${days.map(row).reverse()}</tbody></table></details>`;
}
