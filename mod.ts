/**
 * Real work on Cloudflare Workers KV within its free daily allowance: page views, rate limits,
 * conversations, feeds and keyword logs from one namespace, and fakes as nasty as the real KV to test
 * them on. Each module has a sub-path of its own, for example `@scrimp/kv/page-views`; import that where
 * the bundle's size counts.
 *
 * @example Counting a view, and seeing it stored
 * ```ts
 * import { MemoryKv, PageViews } from "@scrimp/kv";
 * import { assertEquals } from "@std/assert";
 *
 * const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
 * const clock = { now: () => 0, sleep: () => Promise.resolve() };
 * const kv = new MemoryKv({ now: clock.now });
 * const views = new PageViews(kv, { clock, edgeCache: null });
 *
 * const request = new Request("https://example.com/about", { headers: { "user-agent": browser } });
 * const response = new Response("<h1>About</h1>", { headers: { "content-type": "text/html" } });
 * views.record(request, response);
 * await views.flush();
 *
 * const { keys } = await kv.list({ prefix: "views:1970-01-01:" });
 * assertEquals(keys.map(({ metadata }) => Object(metadata).total), [1]);
 * ```
 *
 * @module
 */

export * from "./lib/budget.ts";
export * from "./lib/claims.ts";
export * from "./lib/clock.ts";
export * from "./lib/conversations.ts";
export * from "./lib/feed.ts";
export * from "./lib/hash_id.ts";
export * from "./lib/ip_key.ts";
export * from "./lib/keyword_log.ts";
export * from "./lib/kv/deno_kv.ts";
export * from "./lib/kv/errors.ts";
export * from "./lib/kv/keys.ts";
export * from "./lib/kv/kv.ts";
export * from "./lib/kv/kv_server.ts";
export * from "./lib/kv/kv_world.ts";
export * from "./lib/kv/limits.ts";
export * from "./lib/kv/memory_kv.ts";
export * from "./lib/rate_limiter.ts";
export * from "./lib/rate_limiter_object.ts";
export * from "./lib/sim/mod.ts";
export * from "./lib/wait_until.ts";
export * from "./lib/page_views.ts";
export { type HonoContext, type HonoMiddleware, honoPageViews } from "./lib/hono.ts";
export { type PagesContext, type PagesMiddleware, pagesPageViews } from "./lib/pages.ts";
export {
  type AdapterOptions,
  type CountedHandler,
  type FetchHandler,
  withPageViews,
} from "./lib/with_page_views.ts";
export * from "./lib/worker/create_worker.ts";
export * from "./lib/write_budget.ts";
export * from "./lib/views/classify.ts";
export { explain, type Explanation } from "./lib/views/explain.ts";
export {
  Calendar,
  type Day,
  type DayReport,
  type Freshness,
  type RangeReport,
  type ReportContext,
  reportDay,
  reportDays,
  rollUpDays,
} from "./lib/traffic.ts";
export { trafficWarning } from "./lib/views/warning.ts";
