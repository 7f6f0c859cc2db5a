/**
 * Who may see the numbers: everyone, or whoever knows the secret.
 *
 * @module
 */

import { errorResponse, type RouteContext } from "../route.ts";

/** How long a session lasts. */
const SESSION_MS = 7 * 86_400_000;
/** Wrong secrets that one client may try within a window, in one isolate. */
const FAILURES_MAX = 5;
const WINDOW_MS = 900_000;
/** Clients remembered; while there are more, no secret is looked at. */
const CLIENTS_MAX = 1000;

/** What a request may do. */
export interface Access {
  /** The JSON answer to give when it may not go on. */
  readonly refusal?: Response;
  /** Whether the numbers are private, so that no shared cache may keep them. */
  readonly private: boolean;
  /** Whether a cookie let it in, so that there is a session to end. */
  readonly signedIn?: boolean;
}

/** Whether the numbers are private: `TRAFFIC_PRIVATE` is neither empty nor `0` nor `false`. */
export function isPrivate({ env }: RouteContext): boolean {
  return !/^(|0|false)$/i.test(String(env.TRAFFIC_PRIVATE ?? ""));
}

/**
 * Decides on a request. Where the numbers are private, `ADMIN_TOKEN` has to be set, and opens them as
 * `Authorization: Bearer …` or through the cookie of {@linkcode signIn}. No KV operation.
 *
 * @param context The request.
 * @param wanted `token` wants the header even where the numbers are public, and takes no cookie.
 * @returns Whether it may go on.
 */
export async function checkAccess(context: RouteContext, wanted?: "token"): Promise<Access> {
  if (!wanted && !isPrivate(context)) return { private: false };
  if (!context.env.ADMIN_TOKEN) return refuse(503, "The secret ADMIN_TOKEN is not set");
  if (!wanted && await hasSession(context)) return { private: true, signedIn: true };
  const [, token] = /^bearer +(.*)$/i.exec(context.request.headers.get("authorization") ?? "") ??
    [];
  if (token === undefined) return refuse(401, "Expected the header Authorization: Bearer <token>");
  const status = await trySecret(context, token);
  return status === 200 ? { private: true } : refuse(status, "Cannot accept this token");
}

function refuse(status: number, message: string): Access {
  return {
    private: true,
    refusal: errorResponse(status, status === 429 ? "tooManyAttempts" : "unauthorized", message, {
      "www-authenticate": "Bearer",
      "retry-after": `${WINDOW_MS / 1000}`,
    }),
  };
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
  const clients = context.once(
    "accessFailures",
    () => new Map<string, { count: number; readonly since: number }>(),
  );
  const now = context.clock.now();
  for (const [name, { since }] of clients) if (now - since >= WINDOW_MS) clients.delete(name);
  // Of an IPv6 address the network of a household.
  const ip = context.request.headers.get("cf-connecting-ip") ?? "";
  const client = ip.split("::")[0]?.split(":", 4).join(":") ?? "";
  const failures = clients.get(client) ?? { count: 0, since: now };
  if (failures.count >= FAILURES_MAX || clients.size >= CLIENTS_MAX) return 429;
  // Counted before the comparison, so that attempts at the same time count as well.
  failures.count++;
  clients.set(client, failures);
  const wanted = context.env.ADMIN_TOKEN ?? "";
  if (!wanted || !await verify(wanted, wanted, await sign(wanted, given))) return 401;
  clients.delete(client);
  return 200;
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
  seconds = SESSION_MS / 1000,
): Promise<string> {
  const until = `${clock.now() + seconds * 1000}`;
  const mac = btoa(String.fromCharCode(...await sign(env.ADMIN_TOKEN || "-", until)));
  const secure = url.protocol === "https:" ? "; Secure" : "";
  return `${
    cookieName(url)
  }=${until}.${mac}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

function cookieName(url: URL): string {
  return url.protocol === "https:" ? "__Host-scrimp" : "scrimp";
}

function hasSession({ request, url, clock, env }: RouteContext): Promise<boolean> | boolean {
  const cookies = `; ${request.headers.get("cookie") ?? ""}`;
  const [, rest = ""] = cookies.split(`; ${cookieName(url)}=`);
  const [, until = "", mac = ""] = /^(\d{1,15})\.([\w+/]{43}=)(;|$)/.exec(rest) ?? [];
  return Number(until) > clock.now() &&
    verify(env.ADMIN_TOKEN || "-", until, Uint8Array.from(atob(mac), (c) => c.charCodeAt(0)));
}

/** Compares in a time that says nothing of where two texts differ. */
async function verify(
  secret: string,
  text: string,
  mac: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return crypto.subtle.verify("HMAC", await hmacKey(secret), mac, encode(text));
}

async function sign(secret: string, text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", await hmacKey(secret), encode(text)));
}

function hmacKey(secret: string): Promise<CryptoKey> {
  const extractable = false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", encode(secret), algorithm, extractable, ["sign", "verify"]);
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
