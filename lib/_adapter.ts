/**
 * What the adapters share: one counter an isolate, made at its first request.
 *
 * @module
 */

import { type Kv, PageViews, type PageViewsOptions } from "./page_views.ts";
import { isAssetPath } from "./views/classify.ts";
import { defaultEdgeCache } from "./views/edge_cache.ts";
import type { WaitUntil } from "./wait_until.ts";

/**
 * Settings of the adapters: those of `PageViews`. Where `colo` and `edgeCache` are left out, the first
 * request's `cf.colo` and the runtime's Cache API are taken.
 */
export interface AdapterOptions<Env = unknown> extends PageViewsOptions {
  /**
   * Gives the store; called once a request. While it gives `undefined`, views are counted in memory.
   *
   * @default {(env) => env.KV}
   */
  readonly kv?: (env: Env) => Kv | undefined;
}

/** Counts one answered request. Never throws. */
export type CountView<Env> = (
  request: Request,
  response: Response,
  env: Env,
  context: () => unknown,
) => void;

/**
 * Prepares counting. Draws and reads nothing: an isolate has its identity from its first request on.
 *
 * @param options Settings.
 * @returns What counts a request; `context` is asked for a `waitUntil` when there is something to store.
 * @throws {RangeError} If a setting is out of range.
 */
export function createCountView<Env>(options: AdapterOptions<Env>): CountView<Env> {
  const { kv = kvOf, onError = ignore, apiPaths = ["/api/"] } = options;
  // Misuse is told where the app starts, not at its first visitor.
  new PageViews(undefined, { ...options, random: zero });
  let views: PageViews | undefined;
  return (request, response, env, context) => {
    try {
      const { host, pathname } = new URL(request.url);
      if (isAssetPath(pathname) || apiPaths.some((start) => pathname.startsWith(start))) return;
      const { edgeCache = defaultEdgeCache(host), colo = coloOf(request) } = options;
      views ??= new PageViews(undefined, { ...options, colo, edgeCache });
      views.kv = kv(env);
      views.record(request, response);
      if (!views.isFlushDue()) return;
      const flushed = views.flush();
      const known: Partial<WaitUntil> = Object(context());
      // Where the runtime has no such thing, promises just go on.
      if (typeof known.waitUntil === "function") known.waitUntil(flushed);
    } catch (error) {
      onError(error);
    }
  };
}

function coloOf(request: Request): string {
  const { cf } = request as { readonly cf?: { readonly colo?: unknown } };
  return typeof cf?.colo === "string" ? cf.colo : "X";
}

function kvOf(env: unknown): Kv | undefined {
  return Object(env).KV;
}

function zero(): number {
  return 0;
}

function ignore(): void {}
