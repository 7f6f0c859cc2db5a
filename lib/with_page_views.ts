/**
 * Counts the page views of any fetch handler.
 *
 * Works wherever an app is a function of a request: a Worker, `Deno.serve`, routers such as itty-router.
 * The handler's answer is passed on untouched and at once; counting touches memory only, and what was
 * counted is stored after the response, as `./page-views` tells.
 *
 * @example A Worker
 * ```ts
 * import { withPageViews } from "@scrimp/kv/with-page-views";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
 * const clock = { now: () => 0, sleep: () => Promise.resolve() };
 * const worker = {
 *   fetch: withPageViews((request) => {
 *     const { pathname } = new URL(request.url);
 *     return new Response(`<h1>${pathname}</h1>`, { headers: { "content-type": "text/html" } });
 *   }, { clock }),
 * };
 *
 * const env = { KV: new MemoryKv({ now: clock.now }) };
 * const waiting: Promise<unknown>[] = [];
 * const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
 * const request = new Request("https://site.example/about", { headers: { "user-agent": browser } });
 * const response = await worker.fetch(request, env, ctx);
 * await Promise.all(waiting);
 *
 * assertEquals(await response.text(), "<h1>/about</h1>");
 * const { keys } = await env.KV.list({ prefix: "views:1970-01-01:" });
 * assertEquals(keys.map(({ metadata }) => Object(metadata).total), [1]);
 * ```
 *
 * @example Deno, with Deno KV
 * ```ts ignore
 * import { withPageViews } from "@scrimp/kv/with-page-views";
 * import { DenoKv } from "@scrimp/kv/deno-kv";
 *
 * const kv = new DenoKv(await Deno.openKv());
 * Deno.serve(withPageViews(() => new Response("…"), { kv: () => kv }));
 * ```
 *
 * @module
 */

import { type AdapterOptions, createCountView } from "./_adapter.ts";

export type { AdapterOptions };
export type * from "./page_views.ts";

/** A fetch handler: a Worker's `fetch`, a router's, or what `Deno.serve` takes. */
export type FetchHandler<Env = unknown, Context = unknown> = (
  request: Request,
  env: Env,
  context: Context,
) => Response | Promise<Response>;

/** A handler whose pages are counted. It takes what the handler takes. */
export type CountedHandler<Env = unknown, Context = unknown> = (
  request: Request,
  env?: Env,
  context?: Context,
) => Promise<Response>;

/**
 * Wraps a fetch handler so that its pages are counted.
 *
 * Call it once, where the app starts: what it returns is one counter. The handler's second argument is
 * where the store is looked for; the third one's `waitUntil`, where there is one, keeps the invocation
 * alive while counts are stored. Static assets and `apiPaths` are left alone. An error of the handler is
 * passed on and not counted. Answering costs no KV operation; storing costs what `PageViews.flush` does.
 *
 * @example Another name for the namespace
 * ```ts
 * import { withPageViews } from "@scrimp/kv/with-page-views";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * interface Env {
 *   readonly STATS: MemoryKv;
 *   readonly NAME: string;
 * }
 * const handler = withPageViews(
 *   (_request, env: Env) => new Response(env.NAME),
 *   { kv: ({ STATS }) => STATS },
 * );
 * const env = { STATS: new MemoryKv(), NAME: "Plain text is no page" };
 * const request = new Request("https://site.example/api/name");
 * const response = await handler(request, env);
 * assertEquals(await response.text(), "Plain text is no page");
 * ```
 *
 * @param handler The handler.
 * @param options Settings.
 * @returns A handler that answers the same.
 * @throws {TypeError} If the handler is no function.
 * @throws {RangeError} If a setting is out of range.
 */
export function withPageViews<Env = unknown, Context = unknown>(
  handler: FetchHandler<Env, Context>,
  options: AdapterOptions<Env> = {},
): CountedHandler<Env, Context> {
  if (typeof handler !== "function") {
    throw new TypeError(`Cannot wrap ${typeof handler}: expected a function such as "app.fetch"`);
  }
  const countView = createCountView(options);
  return async (request, ...rest) => {
    // What is left out is what the handler does not ask for.
    const [env, context] = rest as [Env, Context];
    const response = await handler(request, env, context);
    countView(request, response, env, () => context);
    return response;
  };
}
