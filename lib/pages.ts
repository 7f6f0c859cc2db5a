/**
 * Counts the page views of a site on Cloudflare Pages, static files and functions alike.
 *
 * @example functions/_middleware.ts
 * ```ts
 * import { pagesPageViews } from "@scrimp/kv/pages";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
 * const clock = { now: () => 0, sleep: () => Promise.resolve() };
 * // In a site: export const onRequest = pagesPageViews();
 * const onRequest = pagesPageViews({ clock });
 *
 * const waiting: Promise<unknown>[] = [];
 * const page = new Response("<h1>Home</h1>", { headers: { "content-type": "text/html" } });
 * const context = {
 *   request: new Request("https://site.example/", { headers: { "user-agent": browser } }),
 *   env: { KV: new MemoryKv({ now: clock.now }) },
 *   next: () => Promise.resolve(page),
 *   waitUntil: (promise: Promise<unknown>) => void waiting.push(promise),
 * };
 * assertEquals(await onRequest(context), page);
 * await Promise.all(waiting);
 *
 * const { keys } = await context.env.KV.list({ prefix: "views:1970-01-01:" });
 * assertEquals(keys.map(({ metadata }) => Object(metadata).total), [1]);
 * ```
 *
 * @module
 */

import { type AdapterOptions, createCountView } from "./_adapter.ts";
import type { WaitUntil } from "./wait_until.ts";

export type { AdapterOptions, WaitUntil };
export type * from "./page_views.ts";

/** What is read of a function's context. */
export interface PagesContext<Env = unknown> extends WaitUntil {
  /** The request. */
  readonly request: Request;
  /** The bindings. */
  readonly env: Env;
  /** Asks the next function, or the static files. */
  next(): Promise<Response>;
}

/** A middleware of Pages Functions. */
export type PagesMiddleware<Env = unknown> = (context: PagesContext<Env>) => Promise<Response>;

/**
 * Makes a middleware that counts pages. Export it as `onRequest` from `functions/_middleware.ts`.
 *
 * Answers are passed on untouched and at once; what was counted is stored after the response, in the
 * context's `waitUntil`. Static assets and `apiPaths` are left alone. Answering costs no KV operation;
 * storing costs what `PageViews.flush` does.
 *
 * @param options Settings.
 * @returns The middleware: one counter.
 * @throws {RangeError} If a setting is out of range.
 */
export function pagesPageViews<Env = unknown>(
  options: AdapterOptions<Env> = {},
): PagesMiddleware<Env> {
  const countView = createCountView(options);
  return async (context) => {
    const response = await context.next();
    countView(context.request, response, context.env, () => context);
    return response;
  };
}
