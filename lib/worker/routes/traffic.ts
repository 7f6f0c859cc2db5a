/**
 * `GET /traffic`: the page, and the log-in and log-out where the numbers are private.
 *
 * `?days=1…90` or `?date=YYYY-MM-DD`, narrowed by `?path=` or `?ref=`. KV: what reading the days costs
 * (with as many before to compare), at most every 45 seconds.
 *
 * @module
 */

import { DAYS_MAX } from "../../views/report.ts";
import { markup } from "../page/html.ts";
import type { Period, TrafficFilter, TrafficView } from "../page/model.ts";
import { renderDocument, renderPage } from "../page/page.ts";
import { REFRESH_SCRIPT } from "../page/script.ts";
import { STYLE } from "../page/style.ts";
import { errorResponse, type Route, type RouteContext } from "../route.ts";
import { checkAccess, isPrivate, sessionCookie, trySecret } from "./_access.ts";
import { answerText } from "./_answer.ts";
import { hashText } from "../../bytes.ts";
import { readBody } from "./_body.ts";
import { readQuery } from "./_query.ts";
import { shareDay, shareRange } from "./_reports.ts";

/** The period that is shown first. */
const DAYS_DEFAULT = 7;
/** A key is shorter; what is longer can only be a mistake. */
const FILTER_CHARACTERS_MAX = 100;

/** The routes of this file. */
export const trafficRoutes: readonly Route[] = [
  { method: "GET", path: "/traffic", handle: handlePage },
  { method: "POST", path: "/traffic/login", handle: handleLogin },
  { method: "POST", path: "/traffic/logout", handle: handleLogout },
];

async function handlePage(context: RouteContext): Promise<Response> {
  const access = await checkAccess(context);
  if (access instanceof Response) return access.status === 401 ? loginPage(context) : access;
  const query = context.url.searchParams;
  const asked = readQuery(query) ?? { days: DAYS_DEFAULT };
  if ("problem" in asked) return problemPage(context, 400, asked.problem);
  let days: DaysOfView;
  try {
    days = await readDays(context, asked);
  } catch (error) {
    context.report(error);
    return problemPage(context, 503, "The store does not answer: try again later");
  }
  const page = renderPage({
    ...days,
    filter: readFilter(query),
    site: context.url.host,
    writesMax: context.budget.status().purposes.views?.share ?? 0,
    signedIn: access.signedIn,
  });
  return answerPage(context, page);
}

type DaysOfView = Pick<TrafficView, "days" | "before" | "period" | "readAt">;

async function readDays(
  context: RouteContext,
  asked: Period,
): Promise<DaysOfView> {
  if ("date" in asked) {
    const { at, report, before } = await shareDay(context, asked.date);
    return { days: [report], before, period: asked, readAt: at };
  }
  const { days } = asked;
  // A single day is shown beside the week before it, others beside as many days before.
  const count = days === 1 ? 8 : days * 2;
  const { at, report } = await shareRange(context, count > DAYS_MAX ? days : count);
  return {
    days: report.days.slice(-days),
    before: report.days.slice(0, -days),
    period: asked,
    readAt: at,
  };
}

function readFilter(query: URLSearchParams): TrafficFilter | undefined {
  for (const by of ["path", "ref"] as const) {
    const key = query.get(by);
    if (key) return { by, key: key.slice(0, FILTER_CHARACTERS_MAX) };
  }
  return undefined;
}

/** Answers with a document under a policy that allows its own style and script and nothing else. */
async function answerPage(
  context: RouteContext,
  document: string,
  status = 200,
): Promise<Response> {
  const [style, script] = await Promise.all([hashText(STYLE), hashText(REFRESH_SCRIPT)]);
  return answerText(context, document, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy":
      `default-src 'none'; style-src 'sha256-${style}'; script-src 'sha256-${script}'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    "referrer-policy": "same-origin",
  }, status);
}

function problemPage(context: RouteContext, status: number, problem: string): Promise<Response> {
  const content =
    markup`<main><h1>Nothing to show</h1><p>${problem}.</p><p><a href="/traffic">Show the last days</a></p></main>`;
  return answerPage(context, renderDocument("Nothing to show", content), status);
}

function loginPage(context: RouteContext, problem?: string, status = 401): Promise<Response> {
  const content =
    markup`<main><h1>${context.url.host}</h1><section><form method="post" action="/traffic/login"><p><label for="token">The numbers are private. Admin token:</label></p><p><input id="token" name="token" type="password" autocomplete="current-password" required> <button>Log in</button></p>${
      problem && markup`<p role="alert" class="m">${problem}</p>`
    }</form></section></main>`;
  return answerPage(context, renderDocument("Log in", content), status);
}

async function handleLogin(context: RouteContext): Promise<Response> {
  const foreign = refuseForeign(context);
  if (foreign) return foreign;
  if (!isPrivate(context)) return redirect();
  const form = await readBody(context.request);
  const status = await trySecret(context, form instanceof Response ? "" : String(form.token ?? ""));
  if (status === 200) return redirect(await sessionCookie(context));
  const problem = status === 401 ? "Wrong token" : "Too many attempts, try again in 15 minutes";
  return loginPage(context, problem, status);
}

async function handleLogout(context: RouteContext): Promise<Response> {
  const ended = 0;
  return refuseForeign(context) ?? redirect(await sessionCookie(context, ended));
}

/** Refuses a form that stands on another site. */
function refuseForeign({ request, url }: RouteContext): Response | undefined {
  const origin = request.headers.get("origin");
  return origin === null || origin === url.origin
    ? undefined
    : errorResponse(403, "foreignOrigin", `Expected a form of ${url.origin}`);
}

function redirect(cookie?: string): Response {
  const headers = new Headers({ location: "/traffic", "cache-control": "no-store" });
  if (cookie !== undefined) headers.set("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}
