/**
 * The form of the Worker's routes. Each file in `routes/` exports an array of them.
 *
 * @module
 */

import type { WriteBudget } from "../write_budget.ts";
import type { Clock, Random } from "../clock.ts";
import type { Kv } from "../kv/kv.ts";
import type { PageViews } from "../page_views.ts";
import type { EdgeCache } from "../views/edge_cache.ts";
import type { DayReport, RangeReport } from "../views/types.ts";
import type { WaitUntil } from "../wait_until.ts";
import type { Env } from "./env.ts";

/** A report, and the views by shard that it has, of days that are still written. */
export interface StoredRange extends RangeReport {
  /** Shards and their views. */
  readonly stored: readonly (readonly [string, number])[];
}

/** What has been counted. Without a namespace every day is empty. */
export interface Reports {
  /** Today, `YYYY-MM-DD`. */
  today(): string;
  /** One day. One list, and a read for it and for each shard that is not rolled up. */
  day(date: string): Promise<DayReport>;
  /** The last `count` days, today included. One list for each 1,000 shards, reads as for one day. */
  days(count: number): Promise<StoredRange>;
}

/** What a handler gets. */
export interface RouteContext {
  /** The request. */
  readonly request: Request;
  /** Its address, parsed. */
  readonly url: URL;
  /** The named parts of the route's path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Bindings and settings. */
  readonly env: Env;
  /** The execution context; call `waitUntil` as a method. */
  readonly ctx: WaitUntil;
  /** The namespace, where one is bound. */
  readonly kv: Kv | undefined;
  /** This data center's cache, where there is one. */
  readonly edgeCache: EdgeCache | null;
  /** The data center's name, for example `LHR`. */
  readonly colo: string;
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** The counter. */
  readonly views: PageViews;
  /** What it has counted. */
  readonly reports: Reports;
  /** Errors so far that visitors did not see. */
  readonly errors: { readonly count: number; readonly last: string | null };
  /** Takes note of an error that the visitor is not to see. */
  readonly report: (error: unknown) => void;
  /** The ledger of KV operations. */
  readonly budget: WriteBudget;
  /**
   * An object of this isolate, made once by `make` and kept under `name`: where a route keeps its
   * `RateLimiter`, `Feed` and the like.
   */
  once<T>(name: string, make: () => T): T;
}

/** One route. A path with other methods only is answered 405 with `Allow`. */
export interface Route {
  /** The method; `HEAD` is served by the `GET` route. */
  readonly method: "GET" | "POST" | "DELETE";
  /** An exact path; a part that starts with `:` matches any one segment, as in `/api/chat/:thread`. */
  readonly path: string;
  /** Answers. What it throws is answered 503 with a JSON error and reported. */
  handle(context: RouteContext): Response | Promise<Response>;
}

/**
 * A JSON error answer: `{ "error": { "code", "message" } }`.
 *
 * @param status The HTTP status.
 * @param code A stable name in camelCase.
 * @param message What was wrong and what is wanted.
 * @param headers More headers.
 * @returns The response.
 */
export function errorResponse(
  status: number,
  code: string,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return answerJson({ error: { code, message } }, status, headers);
}

/**
 * The answer of a route that cannot do without a namespace.
 *
 * @returns The response.
 */
export function noStore(): Response {
  return errorResponse(503, "noStore", "No KV namespace is bound");
}

/**
 * Answers with JSON that nobody keeps.
 *
 * @param body The JSON.
 * @param status The HTTP status.
 * @param headers More headers.
 * @returns The response.
 */
export function answerJson(
  body: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}

/**
 * What modules are told of the isolate that they run in.
 *
 * @param context The request.
 * @returns Their options.
 */
export function optionsOf({ clock, random, budget, edgeCache, report }: RouteContext): {
  readonly clock: Clock;
  readonly random: Random;
  readonly budget: WriteBudget;
  readonly edgeCache: EdgeCache | null;
  readonly onError: (error: unknown) => void;
} {
  return { clock, random, budget, edgeCache, onError: report };
}
