/** A Worker that limits in every way there is, for the test in workerd. */

import type { Kv } from "../lib/kv/kv.ts";
import {
  type Limiter,
  limitRequest,
  type RateLimitBinding,
  RateLimiter,
} from "../lib/rate_limiter.ts";
import { type ObjectNamespace, StrictRateLimiter } from "../lib/rate_limiter_object.ts";
import type { WaitUntil } from "../lib/wait_until.ts";

export { RateLimiterObject } from "../lib/rate_limiter_object.ts";

interface Env {
  readonly KV: Kv;
  readonly LIMITS: ObjectNamespace;
  readonly FIRST: RateLimitBinding;
}

const limiters = new Map<string, Limiter>();

function limiterOf(path: string, env: Env): Limiter {
  const options = { limit: 3, windowMs: 3_600_000, hashIds: "secret" };
  if (path.startsWith("/strict")) return new StrictRateLimiter(env.LIMITS, options);
  if (path === "/first") {
    return new RateLimiter(env.KV, { ...options, limit: 100, first: env.FIRST });
  }
  return new RateLimiter(env.KV, options);
}

export default {
  async fetch(request: Request, env: Env, ctx: WaitUntil): Promise<Response> {
    const path = new URL(request.url).pathname;
    const limiter = limiters.get(path) ?? limiterOf(path, env);
    limiters.set(path, limiter);
    return await limitRequest(limiter, request, ctx) ?? new Response("admitted");
  },
};
