/**
 * The ready Worker: serves the site, counts its page views, shows them at `/traffic`, takes signups, and
 * answers an API for the rest.
 *
 * Bindings and settings are listed at {@linkcode Env}; all are optional. Without `KV` the site is served
 * and nothing stored. A page is answered without waiting for KV, and the same whether KV works or not.
 *
 * @example Usage
 * ```ts
 * import { createWorker } from "@scrimp/kv/worker";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const clock = { now: () => 0, sleep: () => Promise.resolve() };
 * const worker = createWorker({ clock, edgeCache: null });
 * const env = { KV: new MemoryKv({ now: clock.now }) };
 * const ctx = { waitUntil() {} };
 * const request = new Request("https://example.com/api/traffic?date=1970-01-01");
 * const report = await (await worker.fetch(request, env, ctx)).json();
 * assertEquals(report.total, 0);
 * ```
 *
 * @module
 */

import type { EdgeCache } from "../views/edge_cache.ts";
import type { WaitUntil } from "../wait_until.ts";
import type { Env } from "./env.ts";
// As a request meets them: in this order the bundle compresses best.
import { debugHeader, isAssetPath } from "../views/classify.ts";
import { isOn } from "./rules.ts";
import { type Isolate, type IsolateParts, makeIsolate } from "./isolate.ts";
import { bounded, routeEnv } from "./bound_kv.ts";
import { limitPost } from "./post_limit.ts";
import { matchRoute } from "./router.ts";
import { routes as ownRoutes } from "./routes.ts";
import { errorResponse, type Reports, type Route, type RouteContext } from "./route.ts";
import { emptyStore } from "./empty_store.ts";
import { type Clock, type Random, systemClock, systemRandom } from "../clock.ts";
import { addDays } from "../views/day.ts";
import { DAYS_KEPT } from "../views/day_keeper.ts";
import { reportDay, reportDays } from "../views/report.ts";
import { rollUpDays } from "../views/roll_up.ts";

export type { Clock, EdgeCache, Env, Random, WaitUntil };
export type { Fetcher } from "./env.ts";
export type { Kv } from "../kv/kv.ts";

/** Settings of {@linkcode createWorker}. */
export interface WorkerOptions {
  /** Time. @default {systemClock} */
  readonly clock?: Clock;
  /** Chance. @default {systemRandom} */
  readonly random?: Random;
  /** The data center's cache; `null` for none. @default {the Cache API} */
  readonly edgeCache?: EdgeCache | null;
  /** Told of everything that failed and that no visitor saw. @default {does nothing} */
  readonly onError?: (error: unknown) => void;
}

/** A Worker. */
export interface ScrimpWorker {
  /** Answers a request. */
  fetch(request: Request, env: Env, ctx: WaitUntil): Promise<Response>;
  /** Rolls the last days up. For a daily cron trigger. */
  scheduled(event: unknown, env: Env, ctx: WaitUntil): Promise<void>;
}

/**
 * Makes the Worker. One call is one isolate: all state lives in what it returns.
 *
 * Answering a page costs no KV operation; what is counted is stored after the response.
 *
 * @param options Settings.
 * @returns The Worker.
 */
export function createWorker(options: WorkerOptions = {}): ScrimpWorker {
  const parts: IsolateParts = {
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    edgeCache: options.edgeCache,
    onError: options.onError ?? ignore,
  };
  let isolate: Isolate | undefined;
  return {
    async fetch(request, env, ctx) {
      isolate ??= makeIsolate(parts, request, env);
      isolate.views.kv = env.KV;
      return await answer(isolate, request, env, ctx);
    },
    async scheduled(_event, env) {
      // Only a request tells where an isolate is and which host's cache it shares: none is kept here.
      const { calendar, budget, clock, report, writesPerDay } = isolate ??
        makeIsolate(parts, new Request("https://scheduled.invalid/"), env);
      const today = calendar.dayAt(clock.now()).name;
      if (env.KV) await rollUpDays(env.KV, today, { budget, writesPerDay, onError: report });
    },
  };
}

function ignore(): void {}

async function answer(
  isolate: Isolate,
  request: Request,
  env: Env,
  ctx: WaitUntil,
): Promise<Response> {
  const url = new URL(request.url);
  const match = matchRoute(ownRoutes, request.method, url.pathname);
  if (!match && url.pathname.startsWith("/api/")) {
    return errorResponse(404, "notFound", `There is no API at ${JSON.stringify(url.pathname)}`);
  }
  if (match && "allow" in match) {
    const message = `${request.method} is not possible here: expected ${match.allow}`;
    return errorResponse(405, "methodNotAllowed", message, { allow: match.allow });
  }
  if (match) {
    const bound = routeEnv(env, isolate.clock);
    const context = contextOf(isolate, request, url, bound, ctx, match.params);
    const sync = () => isolate.budget.sync(isolate.edgeCache);
    // What may be written depends on what this data center's other isolates have written.
    if (request.method === "POST") await bounded(isolate.clock, sync).catch(isolate.report);
    const response = await handle(match.route, context);
    after(isolate, ctx, sync);
    flush(isolate, ctx);
    return request.method === "HEAD" ? new Response(null, response) : response;
  }
  const response = env.ASSETS
    ? await env.ASSETS.fetch(request)
    : new Response("Not found\n", { status: 404 });
  return isAssetPath(url.pathname) ? response : count(isolate, request, response, env, ctx);
}

/** Counts a page. Whatever fails in here, the page is served as it is. */
function count(
  isolate: Isolate,
  request: Request,
  response: Response,
  env: Env,
  ctx: WaitUntil,
): Response {
  try {
    const verdict = isolate.views.record(request, response);
    flush(isolate, ctx);
    if (!isOn(env.SCRIMP_DEBUG)) return response;
    const marked = new Response(response.body, response);
    marked.headers.set("x-scrimp", debugHeader(verdict));
    return marked;
  } catch (error) {
    isolate.report(error);
    return response;
  }
}

/** Stores what is counted, if it is time. */
function flush(isolate: Isolate, ctx: WaitUntil): void {
  const { views, budget, edgeCache } = isolate;
  // A flush hears of the network: the data center's other isolates shall know it, too.
  if (views.isFlushDue()) {
    after(isolate, ctx, () => views.flush().then(() => budget.sync(edgeCache)));
  }
}

/** Does something after the response; its failure is only noted. */
function after(isolate: Isolate, ctx: WaitUntil, work: () => Promise<unknown>): void {
  try {
    ctx.waitUntil(work().catch(isolate.report));
  } catch (error) {
    isolate.report(error);
  }
}

async function handle(route: Route, context: RouteContext): Promise<Response> {
  try {
    return await limitPost(context) ?? await route.handle(context);
  } catch (error) {
    context.report(error);
    const message = "The store did not answer as expected: try again later";
    return errorResponse(503, "unavailable", message, { "retry-after": "60" });
  }
}

function contextOf(
  isolate: Isolate,
  request: Request,
  url: URL,
  env: Env,
  ctx: WaitUntil,
  params: Readonly<Record<string, string>>,
): RouteContext {
  const { kept } = isolate;
  return {
    ...isolate,
    request,
    url,
    params,
    env,
    ctx,
    kv: env.KV,
    reports: reportsOf(isolate, env),
    once<T>(name: string, make: () => T): T {
      if (!kept.has(name)) kept.set(name, make());
      return kept.get(name) as T;
    },
  };
}

function reportsOf({ clock, calendar, views, budget, templates }: Isolate, env: Env): Reports {
  const context = async () => {
    const now = clock.now();
    const pending = await views.pending(calendar.dayAt(now).name);
    return { kv: env.KV ?? emptyStore, now, calendar, pending, budget, templates };
  };
  return {
    today: () => calendar.dayAt(clock.now()).name,
    day: async (date) => reportDay(await context(), date),
    async days(count) {
      const oldest = addDays(calendar.dayAt(clock.now()).name, 1 - DAYS_KEPT);
      const stored: [string, number][] = [];
      const learn = (day: string, writers: ReadonlyMap<string, number>) => {
        if (day >= oldest) stored.push(...writers);
      };
      const report = await reportDays({ ...await context(), learn }, count);
      return { ...report, stored };
    },
  };
}
