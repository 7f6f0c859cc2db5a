/**
 * `/api/feed`: the site's news. `GET` (`?cursor=&show=`) shows a page; `POST` (`{ title?, text?, url?, id?,
 * at? }`) needs the token; somebody asked for it, so its write comes out of the site's own reserve.
 *
 * @module
 */

import { Feed } from "../../feed.ts";
import {
  answerJson,
  errorResponse,
  noStore,
  optionsOf,
  type Route,
  type RouteContext,
} from "../route.ts";
import { checkAccess } from "./_access.ts";
import { isText, newId, orBadRequest, readBody } from "./_body.ts";

const NAME = "news";

/** One piece of news. */
interface Post {
  readonly id: string;
  readonly title?: string;
  readonly text?: string;
  readonly url?: string;
}

/** A page costs no KV operation while it is remembered, else one list; a post one write. */
export const feedRoutes: readonly Route[] = [
  { method: "GET", path: "/api/feed", handle: show },
  { method: "POST", path: "/api/feed", handle: post },
];

async function show(context: RouteContext): Promise<Response> {
  const feed = feedOf(context);
  if (feed instanceof Response) return feed;
  const { searchParams } = context.url;
  const wanted = searchParams.get("show");
  return await orBadRequest("badShow", async () => {
    const page = await feed.page(NAME, {
      cursor: searchParams.get("cursor"),
      ...(wanted === null ? {} : { show: Number(wanted) }),
    });
    const items = page.entries.map(({ key, atMs, item }) => ({ ...item, key, atMs }));
    const { cursor = null, short, degraded } = page;
    return answerJson({ items, cursor, short, degraded });
  });
}

async function post(context: RouteContext): Promise<Response> {
  const access = await checkAccess(context, "token");
  if (access instanceof Response) return access;
  const feed = feedOf(context);
  if (feed instanceof Response) return feed;
  const body = await readBody(context.request);
  if (body instanceof Response) return body;
  const { title, text, url, at, id = `p${newId(context)}` } = body;
  const bad = !isText(title ?? text, 4_000) || !(title === undefined || isText(title, 200))
    ? "title"
    : !isText(id, 100)
    ? "id"
    : text !== undefined && !isText(text, 4_000)
    ? "text"
    : url !== undefined && !(isText(url, 500) && /^(https?:\/\/|\/(?!\/))/.test(url))
    ? "url"
    : undefined;
  if (bad) return errorResponse(400, "badItem", `Field "${bad}" is missing or cannot be used`);
  const when = typeof at === "string" ? new Date(at) : at as number | undefined;
  const item = { id, title, text, url } as Post;
  return await orBadRequest("badItem", async () => {
    const { written, retryAfterMs, ...added } = await feed.add(NAME, item, { at: when });
    return written
      ? answerJson({ id, ...added }, 201)
      : errorResponse(503, "notStored", "The item is not stored: post it again later", {
        "retry-after": `${Math.ceil(retryAfterMs / 1_000)}`,
      });
  });
}

function feedOf(context: RouteContext): Feed<Post> | Response {
  const { kv } = context;
  if (!kv) return noStore();
  return context.once(
    "feed",
    () => new Feed<Post>(kv, { ...optionsOf(context), id: (item) => item.id }),
  );
}
