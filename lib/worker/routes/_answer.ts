/**
 * Answers that a client can keep: with an `ETag`, and 304 when nothing has changed.
 *
 * @module
 */

import type { RouteContext } from "../route.ts";
import { type Access, checkAccess } from "./_access.ts";
import { hashText } from "../../bytes.ts";

/**
 * Answers with a text.
 *
 * @param context The request.
 * @param body The text.
 * @param headers Its headers; `cache-control` is `private, no-cache` (keep and ask) unless given.
 * @param status The HTTP status.
 * @returns The response, 304 without a body when the client has the text already.
 */
export async function answerText(
  { request }: RouteContext,
  body: string,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Promise<Response> {
  const etag = `"${await hashText(body)}"`;
  const known = status === 200 && request.headers.get("if-none-match")?.includes(etag);
  return new Response(known ? null : body, {
    status: known ? 304 : status,
    headers: {
      "cache-control": "private, no-cache",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex, nofollow",
      etag,
      ...headers,
    },
  });
}

/**
 * Answers with data for programs, if the request may see it. Where the variable `TRAFFIC_CORS` names an
 * origin or `*`, pages of other origins may read what is public.
 *
 * @param context The request.
 * @param type The media type.
 * @param write Writes the text, or refuses.
 * @param headers More headers.
 * @returns The response.
 */
export async function answerData(
  context: RouteContext,
  type: string,
  write: (access: Access) => Promise<string | Response>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const access = await checkAccess(context);
  if (access instanceof Response) return access;
  const body = await write(access);
  if (body instanceof Response) return body;
  const origin = context.env.TRAFFIC_CORS;
  return answerText(context, body, {
    "content-type": type,
    ...(!access.private && {
      "cache-control": "public, max-age=15",
      ...(origin && { "access-control-allow-origin": origin }),
    }),
    ...headers,
  });
}
