/**
 * Answers that a client can keep: with an `ETag`, and 304 when nothing has changed.
 *
 * @module
 */

import type { RouteContext } from "../route.ts";

/**
 * Answers with a text.
 *
 * @param context The request.
 * @param body The text.
 * @param headers Its headers; `cache-control` is `no-cache` (keep and ask) unless given.
 * @param status The HTTP status; only 200 gets an `ETag`.
 * @returns The response, 304 without a body when the client has the text already.
 */
export async function answerText(
  { request }: RouteContext,
  body: string,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Promise<Response> {
  const all = new Headers({
    "cache-control": "private, no-cache",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  if (status !== 200) return new Response(body, { status, headers: all });
  const tag = `"${(await hashText(body)).slice(0, 22)}"`;
  all.set("etag", tag);
  const known = (request.headers.get("if-none-match") ?? "").split(",").map((text) =>
    text.trim().replace(/^W\//, "")
  );
  if (known.includes(tag) || known.includes("*")) {
    all.delete("content-type");
    return new Response(null, { status: 304, headers: all });
  }
  return new Response(body, { headers: all });
}

/** The SHA-256 of a text in Base64, as a content security policy wants it. */
export async function hashText(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(hash)));
}

/**
 * The headers of data for programs: CORS where the variable `TRAFFIC_CORS` names an origin or `*`.
 *
 * @param context The request.
 * @param type The media type.
 * @param access Whether the data is private: then nobody else may keep or read it.
 * @returns The headers.
 */
export function dataHeaders(
  { env }: RouteContext,
  type: string,
  access: { readonly private: boolean },
): Record<string, string> {
  const origin = env.TRAFFIC_CORS;
  return {
    "content-type": type,
    "cache-control": access.private ? "private, no-cache" : "public, max-age=15",
    "link": '</api/openapi.json>; rel="service-desc"',
    "x-robots-tag": "noindex",
    ...(typeof origin === "string" && origin !== "" && !access.private &&
      { "access-control-allow-origin": origin }),
  };
}
