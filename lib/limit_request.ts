/**
 * A rate limit in front of a handler, with the standard headers.
 *
 * @module
 */

import type { RateLimitResult } from "./_rate_limit.ts";
import { ipKey } from "./ip_key.ts";
import type { WaitUntil } from "./wait_until.ts";

/** Whatever can be asked whether a hit is within its limit: a `RateLimiter`, or a strict one. */
export interface Limiter {
  /** Counts a hit if it is within the limit, and says whether it is. */
  limit(id: string, options?: { readonly ctx?: WaitUntil }): Promise<RateLimitResult>;
}

/**
 * The headers that tell a client where it stands: `RateLimit-Policy` and `RateLimit` as the IETF's
 * draft has them, and `Retry-After` in whole seconds when the hit was denied.
 *
 * @param result What a limiter answered.
 * @returns The headers.
 */
export function rateLimitHeaders(result: RateLimitResult): Headers {
  const { success, limit, remaining, retryAfterSeconds, resetSeconds, windowMs } = result;
  const wait = success ? resetSeconds : retryAfterSeconds;
  const headers = new Headers({
    "ratelimit-policy": `"default";q=${limit}${
      windowMs === undefined ? "" : `;w=${Math.ceil(windowMs / 1000)}`
    }`,
    "ratelimit": `"default";r=${remaining}${wait === undefined ? "" : `;t=${wait}`}`,
  });
  if (!success) headers.set("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  return headers;
}

/**
 * Limits a request by its client's address, which is taken from `CF-Connecting-IP` and nothing else.
 *
 * A request without that header did not come through Cloudflare and is not limited; all requests
 * with a malformed one share a limit. Costs what the limiter costs.
 *
 * @example In front of a handler
 * ```ts
 * import { limitRequest, RateLimiter } from "@scrimp/kv/rate-limiter";
 * import { assertEquals } from "@std/assert";
 *
 * const limiter = new RateLimiter(undefined, { limit: 1, windowMs: 60_000 });
 * const headers = { "cf-connecting-ip": "192.0.2.7" };
 * const request = new Request("https://example.org/", { method: "POST", headers });
 * const ctx = { waitUntil: () => {} };
 * assertEquals(await limitRequest(limiter, request, ctx), undefined);
 * assertEquals((await limitRequest(limiter, request, ctx))?.status, 429);
 * ```
 *
 * @param limiter What decides. Give it the option `hashIds`, so that no address is stored.
 * @param request The request.
 * @param ctx Keeps the write behind the answer alive.
 * @returns The answer 429 with `{ "error": { "code", "message" } }`, or `undefined` to go on.
 */
export async function limitRequest(
  limiter: Limiter,
  request: Request,
  ctx: WaitUntil,
): Promise<Response | undefined> {
  const address = request.headers.get("cf-connecting-ip");
  if (address === null) return undefined;
  const result = await limiter.limit(idOf(address), { ctx });
  if (result.success) return undefined;
  const headers = rateLimitHeaders(result);
  headers.set("cache-control", "no-store");
  const message = `Too many requests: try again in ${result.retryAfterSeconds} s`;
  return Response.json({ error: { code: "rateLimited", message } }, { status: 429, headers });
}

function idOf(address: string): string {
  try {
    return ipKey(address);
  } catch {
    return "invalid";
  }
}
