/**
 * `GET /badge.svg` and `GET /count.js`: the number of views on a picture or in the page itself.
 *
 * `<script async src="/count.js?path=/about"></script>` is replaced by the number.
 *
 * Public, or with the admin token where `TRAFFIC_PRIVATE` is set. KV: what reading 30 days costs, at
 * most every 45 seconds.
 *
 * @module
 */

import { countOf, sumOf } from "../page/model.ts";
import { formatCount, formatCounted } from "../page/format.ts";
import { markup } from "../page/html.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";
import { checkAccess } from "./_access.ts";
import { answerText } from "./_answer.ts";
import { readQuery } from "./_query.ts";
import { shareRange } from "./_reports.ts";

/** The routes of this file. */
export const badgeRoutes: readonly Route[] = [
  { method: "GET", path: "/badge.svg", handle: handleBadge },
  { method: "GET", path: "/count.js", handle: handleCount },
];

/** Width of the badge's left part and of a digit, and the room around the number, in pixels. */
const LEFT_PX = 45;
const CHARACTER_PX = 7;
const ROOM_PX = 12;

function handleBadge(context: RouteContext): Promise<Response> {
  return answer(context, "image/svg+xml", renderBadge);
}

function handleCount(context: RouteContext): Promise<Response> {
  return answer(
    context,
    "text/javascript; charset=utf-8",
    (count) => `document.currentScript.replaceWith("${formatCount(count)}")`,
  );
}

async function answer(
  context: RouteContext,
  type: string,
  write: (count: number, days: number) => string,
): Promise<Response> {
  const access = await checkAccess(context);
  if (access.refusal) return access.refusal;
  const query = context.url.searchParams;
  const asked = readQuery(query) ?? { days: 30 };
  if (!("days" in asked)) return errorResponse(400, "badQuery", "Expected days=1 to 90");
  const path = query.get("path");
  const { report } = await shareRange(context, asked.days);
  const count = path === null
    ? report.total
    : sumOf(report.days, (day) => countOf(day.paths, path));
  return answerText(context, write(count, asked.days), {
    "content-type": type,
    "cache-control": access.private ? "private, no-cache" : "public, max-age=60",
    "cross-origin-resource-policy": "cross-origin",
    "x-robots-tag": "noindex",
  });
}

function renderBadge(count: number, days: number): string {
  const value = formatCount(count);
  const right = Math.round(value.length * CHARACTER_PX) + ROOM_PX;
  const title = `${formatCounted(count, "view")} in ${formatCounted(days, "day")}`;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${
    LEFT_PX + right
  }" height="20" role="img" aria-label="${title}"><title>${title}</title><rect width="100%" height="20" rx="3" fill="#3c4540"/><path fill="#0c6b58" d="M${LEFT_PX} 0h${
    right - 3
  }a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-${
    right - 3
  }z"/><g fill="#fff" font-family="Verdana,sans-serif" font-size="11"><text x="7" y="14">views</text><text x="${
    LEFT_PX + 6
  }" y="14" textLength="${right - ROOM_PX}">${value}</text></g></svg>`.text;
}
