/**
 * Counts the page views of a Hono app.
 *
 * @example Usage
 * ```ts
 * import { honoPageViews } from "@scrimp/kv/hono";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
 * const clock = { now: () => 0, sleep: () => Promise.resolve() };
 * // In an app: app.use(honoPageViews());
 * const middleware = honoPageViews({ clock });
 *
 * const waiting: Promise<unknown>[] = [];
 * const context = {
 *   req: { raw: new Request("https://site.example/", { headers: { "user-agent": browser } }) },
 *   res: new Response("<h1>Home</h1>", { headers: { "content-type": "text/html" } }),
 *   env: { KV: new MemoryKv({ now: clock.now }) },
 *   executionCtx: { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) },
 * };
 * await middleware(context, () => Promise.resolve());
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

/** What is read of Hono's context. */
export interface HonoContext<Env = unknown> {
  /** The request. */
  readonly req: { readonly raw: Request };
  /** The answer, once there is one. */
  readonly res: Response;
  /** The bindings. */
  readonly env: Env;
  /** The execution context. Reading it throws where the runtime has none. */
  readonly executionCtx: WaitUntil;
}

/** A middleware of Hono's. */
export type HonoMiddleware<Env = unknown> = (
  context: HonoContext<Env>,
  next: () => Promise<void>,
) => Promise<void>;

/**
 * Makes a middleware that counts pages. Use it before the routes, so that it sees what they answer.
 *
 * Answers are passed on untouched and at once; what was counted is stored after the response, where there
 * is an execution context in its `waitUntil`. Static assets and `apiPaths` are left alone. Answering costs
 * no KV operation; storing costs what `PageViews.flush` does.
 *
 * @param options Settings.
 * @returns The middleware: one counter.
 * @throws {RangeError} If a setting is out of range.
 */
export function honoPageViews<Env = unknown>(
  options: AdapterOptions<Env> = {},
): HonoMiddleware<Env> {
  const countView = createCountView(options);
  return async (context, next) => {
    await next();
    countView(context.req.raw, context.res, context.env, () => executionOf(context));
  };
}

function executionOf(context: HonoContext): WaitUntil | undefined {
  try {
    return context.executionCtx;
  } catch {
    // Deno and Node have none, and need none.
    return undefined;
  }
}
