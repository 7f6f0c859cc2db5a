/**
 * `GET /badge.svg` and `GET /count.js`: the number of views on a picture or in the page itself.
 *
 * `<script async src="/count.js?path=/about"></script>` is replaced by the number. `?path=` narrows it to
 * one page, `?days=` says of how many days; 30 unless given.
 *
 * Public, or with the admin token where `TRAFFIC_PRIVATE` is set. KV: what reading the days costs, at
 * most once a minute.
 *
 * @module
 */

import { formatCount } from "../page/format.ts";
import { markup } from "../page/html.ts";
import { countOf, sumOf } from "../page/model.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";
import { answerData } from "./_answer.ts";
import { readQuery } from "./_query.ts";
import { shareRange } from "./_reports.ts";

/** The routes of this file. */
export const badgeRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/badge.svg",
    handle: (context) => answer(context, "image/svg+xml", renderBadge),
  },
  {
    method: "GET",
    path: "/count.js",
    handle: (context) =>
      answer(
        context,
        "text/javascript",
        (count) => `document.currentScript.replaceWith("${count}")`,
      ),
  },
];

function answer(
  context: RouteContext,
  type: string,
  write: (count: string) => string,
): Promise<Response> {
  return answerData(context, type, async () => {
    const query = context.url.searchParams;
    const asked = readQuery(query) ?? { days: 30 };
    if (!("days" in asked)) return errorResponse(400, "badQuery", "Expected days=1 to 90");
    const path = query.get("path");
    const { report } = await shareRange(context, asked.days);
    return write(formatCount(
      path === null ? report.total : sumOf(report.days, (day) => countOf(day.paths, path)),
    ));
  }, { "cross-origin-resource-policy": "cross-origin" });
}

/** A badge in the manner of shields.io: the word at the left, the number at the right. */
function renderBadge(count: string): string {
  const width = count.length * 7 + 10;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${
    45 + width
  }" height="20" role="img" aria-label="${count} views"><path fill="#3c4540" d="M0 0h45v20H0z"/><path fill="#0c6b58" d="M45 0h${width}v20H45z"/><g fill="#fff" font-family="Verdana,sans-serif" font-size="11"><text x="7" y="14">views</text><text x="50" y="14" textLength="${
    width - 10
  }">${count}</text></g></svg>`.text;
}
