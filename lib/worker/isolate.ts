/**
 * What one isolate of the Worker keeps between requests.
 *
 * @module
 */

import type { Clock, Random } from "../clock.ts";
import { PageViews } from "../page_views.ts";
import { Calendar } from "../views/day.ts";
import { createPathTemplates, type PathTemplates } from "../views/paths.ts";
import { defaultEdgeCache, type EdgeCache } from "../views/edge_cache.ts";
import { DEFAULT_SHARES, WriteBudget } from "../write_budget.ts";
import type { Env } from "./env.ts";
import { rulesOf } from "./rules.ts";

/** What an isolate is made of. */
export interface IsolateParts {
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** The data center's cache; `null` for none, `undefined` for the Cache API. */
  readonly edgeCache: EdgeCache | null | undefined;
  /** Told of everything that failed. */
  readonly onError: (error: unknown) => void;
}

/** The state of one isolate. */
export interface Isolate {
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** Days. */
  readonly calendar: Calendar;
  /** The data center's name. */
  readonly colo: string;
  /** The data center's cache. */
  readonly edgeCache: EdgeCache | null;
  /** The counter. */
  readonly views: PageViews;
  /** Writes a day for page views over the whole network. */
  readonly writesPerDay: number;
  /** The ledger. */
  readonly budget: WriteBudget;
  /** Turns stored paths into the site's templates. */
  readonly templates: PathTemplates;
  /** Objects that routes keep. */
  readonly kept: Map<string, unknown>;
  /** Errors that visitors did not see. */
  readonly errors: { count: number; last: string | null };
  /** Takes note of one. */
  readonly report: (error: unknown) => void;
}

/**
 * Makes an isolate at its first request: nothing may be read or done before.
 *
 * @param parts What it is made of.
 * @param request The first request.
 * @param env Its environment.
 * @returns The isolate.
 */
export function makeIsolate(parts: IsolateParts, request: Request, env: Env): Isolate {
  const { clock, random, onError } = parts;
  const errors: Isolate["errors"] = { count: 0, last: null };
  const report = (error: unknown) => {
    errors.count++;
    errors.last = error instanceof Error ? error.message : String(error);
    onError(error);
  };
  const { cf } = request as { cf?: { colo?: unknown } };
  const colo = typeof cf?.colo === "string" ? cf.colo : "X";
  const edgeCache = parts.edgeCache === undefined
    ? defaultEdgeCache(new URL(request.url).host)
    : parts.edgeCache;
  const writesPerDay = setting(Number(env.VIEWS_WRITES_PER_DAY ?? 400), 400, report);
  const budget = new WriteBudget({
    now: () => clock.now(),
    random,
    shares: { ...DEFAULT_SHARES, views: Math.min(660, writesPerDay) },
  });
  const timeZone = zone(env.TIME_ZONE, report);
  const rules = rulesOf(env, report);
  const views = new PageViews(undefined, {
    clock,
    random,
    edgeCache,
    colo,
    timeZone,
    writesPerDay,
    budget,
    exchange: budget,
    onError: report,
    ...rules,
  });
  const calendar = new Calendar(timeZone);
  const templates = createPathTemplates(rules.pathTemplates, rules);
  const kept = new Map<string, unknown>();
  return {
    clock,
    random,
    calendar,
    colo,
    edgeCache,
    views,
    writesPerDay,
    budget,
    templates,
    kept,
    errors,
    report,
  };
}

/** A setting that is out of range must not take the site down. */
function setting(value: number, fallback: number, report: (error: unknown) => void): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  report(new RangeError(`Cannot use VIEWS_WRITES_PER_DAY ${value}: expected an integer from 1`));
  return fallback;
}

function zone(name: string | undefined, report: (error: unknown) => void): string {
  try {
    return new Calendar(name || "UTC").timeZone;
  } catch (error) {
    report(error);
    return "UTC";
  }
}
