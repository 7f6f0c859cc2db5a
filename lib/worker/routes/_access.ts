/**
 * Who may see the numbers: everyone, or whoever knows the secret.
 *
 * @module
 */

import { signText } from "../../bytes.ts";
import { hashKey } from "../../hash_id.ts";
import { errorResponse, type RouteContext } from "../route.ts";

/** How long a session lasts, in seconds. */
const SESSION_SECONDS = 7 * 86_400;
/** Wrong secrets that one client may try within a window, in one isolate. */
const FAILURES_MAX = 5;
const WINDOW_MS = 900_000;
/** Clients remembered; then all are forgotten, so that memory stays bounded. */
const CLIENTS_MAX = 1000;

/** What a request may see. */
export interface Access {
  /** Whether the numbers are private, so that no shared cache may keep them. */
  readonly private: boolean;
  /** Whether a cookie let it in, so that there is a session to end. */
  readonly signedIn: boolean;
}

/** Whether the numbers are private: `TRAFFIC_PRIVATE` is neither empty nor `0` nor `false`. */
export function isPrivate({ env }: RouteContext): boolean {
  return !/^(|0|false)$/i.test(String(env.TRAFFIC_PRIVATE ?? ""));
}

/**
 * Decides on a request. Where the numbers are private, `ADMIN_TOKEN` has to be set, and opens them as
 * `Authorization: Bearer …` or through the cookie of {@linkcode sessionCookie}. No KV operation.
 *
 * @param context The request.
 * @param wanted `token` wants the header even where the numbers are public, and takes no cookie.
 * @returns What it may see, or the refusal.
 */
export async function checkAccess(
  context: RouteContext,
  wanted?: "token",
): Promise<Access | Response> {
  const { request, env } = context;
  if (!wanted && !isPrivate(context)) return { private: false, signedIn: false };
  if (!env.ADMIN_TOKEN) return errorResponse(503, "noToken", "The secret ADMIN_TOKEN is not set");
  if (!wanted && await hasSession(context, env.ADMIN_TOKEN)) {
    return { private: true, signedIn: true };
  }
  const [, token] = /^bearer (.*)/i.exec(request.headers.get("authorization") ?? "") ?? [];
  const status = token === undefined ? 401 : await trySecret(context, token);
  if (status === 200) return { private: true, signedIn: false };
  return errorResponse(status, "unauthorized", "Expected the header Authorization: Bearer TOKEN", {
    "www-authenticate": "Bearer",
    "retry-after": `${WINDOW_MS / 1000}`,
  });
}

interface Failures {
  count: number;
  readonly since: number;
}

/**
 * Tries a secret. A client gets five wrong ones in 15 minutes from one isolate; the count lives in
 * memory only.
 *
 * @param context The request.
 * @param given What was given.
 * @returns 200 when it is right, 401 when it is wrong, 429 when it was not even looked at.
 */
export async function trySecret(context: RouteContext, given: string): Promise<200 | 401 | 429> {
  const clients = context.once("accessFailures", () => new Map<string, Failures>());
  const now = context.clock.now();
  // Of an IPv6 address the network of a household.
  const ip = context.request.headers.get("cf-connecting-ip") ?? "";
  const client = `${ip.split("::")[0]?.split(":", 4)}`;
  let failures = clients.get(client);
  if (!failures || now - failures.since >= WINDOW_MS) failures = { count: 0, since: now };
  if (failures.count >= FAILURES_MAX) return 429;
  if (!clients.has(client) && clients.size >= CLIENTS_MAX) clients.clear();
  clients.set(client, failures);
  const secret = context.env.ADMIN_TOKEN;
  const right = secret && await isSame(secret, given, secret);
  // Looked at again after the comparison, so that attempts at the same time count as well, while any
  // number of right ones pass.
  if (failures.count >= FAILURES_MAX) return 429;
  if (!right) failures.count++;
  else if (clients.get(client) === failures) clients.delete(client);
  return right ? 200 : 401;
}

/**
 * A session's `Set-Cookie` header: `HttpOnly`, `SameSite=Strict`, and `Secure` on HTTPS.
 *
 * @param context The request that gave the right secret, or that ends the session.
 * @param seconds How long it lasts; 0 ends it.
 * @returns The header's value.
 */
export async function sessionCookie(
  { clock, env, url }: RouteContext,
  seconds = SESSION_SECONDS,
): Promise<string> {
  const until = `${clock.now() + seconds * 1000}`;
  const mac = seconds > 0 && env.ADMIN_TOKEN ? await sign(env.ADMIN_TOKEN, until) : "";
  return `scrimp=${until}.${mac}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${
    url.protocol === "https:" ? "; Secure" : ""
  }`;
}

async function hasSession({ request, clock }: RouteContext, secret: string): Promise<boolean> {
  const cookies = request.headers.get("cookie") ?? "";
  const [, until = "", mac = ""] = /(?:^|; *)scrimp=(\d+)\.([^;]*)/.exec(cookies) ?? [];
  return Number(until) > clock.now() && await isSame(secret, mac, await sign(secret, until));
}

/** Compares what is signed, so that the time it takes says nothing of where two texts differ. */
async function isSame(secret: string, given: string, wanted: string): Promise<boolean> {
  return await sign(secret, given) === await sign(secret, wanted);
}

async function sign(secret: string, text: string): Promise<string> {
  return await signText(await hashKey(secret), text);
}
