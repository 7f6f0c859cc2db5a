/**
 * Real work on Cloudflare Workers KV within its free daily allowance.
 *
 * @module
 */

export * from "./lib/clock.ts";
export * from "./lib/kv/kv.ts";
