/**
 * Limits every POST by the client's address.
 *
 * @module
 */

import { limitRequest, type RateLimitBinding, RateLimiter } from "../rate_limiter.ts";
import { optionsOf, type RouteContext } from "./route.ts";

/** POSTs that a client may send in a minute, unless `POSTS_PER_MINUTE` says otherwise. */
const POSTS_PER_MINUTE = 20;

/**
 * Answers 429 to a client that posts too much. The answer never waits for KV.
 *
 * Addresses are stored as a hash under a key that changes daily, made of `HASH_SECRET` or
 * `ADMIN_TOKEN`; where there is neither, the limit is kept in memory alone. The binding `RATE_LIMIT`
 * is asked first where there is one.
 *
 * @param context What the route gets.
 * @returns The refusal, or `undefined` to go on.
 */
export async function limitPost(context: RouteContext): Promise<Response | undefined> {
  const { request, ctx } = context;
  if (request.method !== "POST") return undefined;
  return await limitRequest(context.once("post-limit", () => makeLimiter(context)), request, ctx);
}

function makeLimiter(context: RouteContext): RateLimiter {
  const { env } = context;
  const secret = env.HASH_SECRET ?? env.ADMIN_TOKEN;
  const hashed = typeof secret === "string" && secret !== "";
  const asked = Number(env.POSTS_PER_MINUTE);
  const limit = Number.isSafeInteger(asked) && asked > 0 ? asked : POSTS_PER_MINUTE;
  return new RateLimiter(hashed ? env.KV : undefined, {
    ...optionsOf(context),
    limit,
    windowMs: 60_000,
    waitForStore: false,
    ...(hashed ? { hashIds: secret } : {}),
    ...(isBinding(env.RATE_LIMIT) ? { first: env.RATE_LIMIT } : {}),
  });
}

function isBinding(value: unknown): value is RateLimitBinding {
  return typeof value === "object" && value !== null && "limit" in value;
}
