/**
 * What counts: every request is `counted`, with its keys, or skipped for exactly one reason.
 *
 * A view is a GET answered by a 2xx or 304 HTML document, which is no prefetch, no subrequest and no
 * self-declared bot. The reasons are looked at in this order, and the first that applies is it:
 * `method`, `notFound` (404, 410), `status`, `wellKnown`, `notHtml`, `api`, `asset`, `prefetch`,
 * `subrequest`, `bot`, `spam`. So a scanner's probes are one `notFound` number, whoever sent them.
 *
 * A view's kind is `browser` where the request says that it is a top-level navigation, which scripts
 * cannot (`Sec-Fetch-Dest: document`), and `unverified` otherwise. Frames are subrequests.
 *
 * Nothing is read, stored or sent: a verdict depends on the request, the response and the options alone.
 *
 * @example One page with many addresses
 * ```ts
 * import { createClassifier } from "@scrimp/kv/classify";
 * import { assertEquals } from "@std/assert";
 *
 * const classify = createClassifier({ pathTemplates: ["/post/:id"] });
 * const request = new Request("https://site.example/post/7?fbclid=A", {
 *   headers: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" },
 * });
 * const response = new Response("<h1>Seven</h1>", { headers: { "content-type": "text/html" } });
 * assertEquals(classify(request, response), {
 *   counted: true,
 *   path: "/post/:id",
 *   referrer: "direct",
 *   kind: "unverified",
 * });
 * ```
 *
 * @module
 */

import { createBotTest } from "./_bots.ts";
import { createPathKey, pathOf, type PathOptions } from "./paths.ts";
import { remember } from "./_remember.ts";
import { createReferrerKey, type ReferrerOptions, SPAM } from "./referrers.ts";
import type { SkipReason, Verdict, ViewKind } from "./types.ts";

export {
  applyTemplates,
  createPathKey,
  createPathTemplates,
  type PathKey,
  type PathOptions,
  type PathTemplates,
} from "./paths.ts";
export { createReferrerKey, type ReferrerKey, type ReferrerOptions } from "./referrers.ts";
export type { Counts, SkipReason, Verdict, ViewKind } from "./types.ts";

/** What is read of headers. */
export interface HeadersLike {
  /** The header's value, or `null`. Names are lower case. */
  get(name: string): string | null;
  /** Whether the header is there. */
  has(name: string): boolean;
}

/** What is read of a request. A `Request` is one. */
export interface RequestLike {
  /** The method, in capitals. */
  readonly method: string;
  /** The whole address. */
  readonly url: string;
  /** The headers. */
  readonly headers: HeadersLike;
}

/** What is read of a response. A `Response` is one. */
export interface ResponseLike {
  /** The status. */
  readonly status: number;
  /** The headers. */
  readonly headers: HeadersLike;
}

/** What a site may change about the rules. */
export interface ClassifyOptions extends PathOptions, ReferrerOptions {
  /**
   * Beginnings of paths that are no pages even when they answer HTML.
   *
   * @default {["/api/"]}
   */
  readonly apiPaths?: readonly string[];
}

/** The prepared rules. Synchronous, never throws, stores nothing, costs no KV operation. */
export type Classifier = (request: RequestLike, response: ResponseLike) => Verdict;

const ASSET =
  /\.(?:avif|bmp|css|docx?|eot|gif|gz|ico|jpe?g|m?js|m4[av]|map|mov|mp[34]|og[agv]|otf|pdf|png|pptx?|svg|ttf|wasm|wav|web[mp]|webmanifest|woff2?|xlsx?|zip)$/i;
const HTML = /^(?:text\/html|application\/xhtml\+xml)\s*(?:[;,]|$)/i;
/** What a 304 without a content type is no document for. */
const DATA = /\.(?:atom|csv|json|md|rss|txt|vtt|xml|ya?ml)$/i;
const AHEAD = /^[\s:]*(?:prefetch|prerender|preview)\s*(?:[;,]|$)/i;
const PURPOSES = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;
/** Headers of requests that scripts made before browsers said so. */
const SCRIPTED = [
  "hx-request",
  "turbo-frame",
  "x-inertia",
  "x-middleware-prefetch",
  "x-nextjs-data",
  "x-pjax",
] as const;

/**
 * Prepares the rules, once an isolate.
 *
 * @param options What the site changes about them.
 * @returns The rules. They keep the last user agents' verdicts in memory.
 * @throws {RangeError} If a path template is malformed or longer than 48 characters.
 */
export function createClassifier(options: ClassifyOptions = {}): Classifier {
  const placeOf = createPlaces(options);
  const referrerKey = createReferrerKey(options);
  const isBot = createBotTest();
  const isHtml = remember((type) => HTML.test(type));
  return (request, response) => {
    if (request.method !== "GET") return skipped("method");
    const status = response.status;
    if (status === 404 || status === 410) return skipped("notFound");
    if ((status < 200 || status > 299) && status !== 304) return skipped("status");
    const url = request.url;
    const path = placeOf(url);
    if (path === "wellKnown") return skipped(path);
    const type = response.headers.get("content-type");
    const isDocument = type === null
      ? status === 304 && !DATA.test(pathOf(targetOf(url)))
      : isHtml(type);
    if (!isDocument) return skipped("notHtml");
    if (path === "api" || path === "asset") return skipped(path);
    const headers = request.headers;
    // The first token of any of these headers says that the browser only fetches ahead.
    if (PURPOSES.some((name) => headers.has(name) && AHEAD.test(headers.get(name) ?? ""))) {
      return skipped("prefetch");
    }
    const kind = kindOf(headers);
    if (kind === undefined) return skipped("subrequest");
    if (isBot(headers.get("user-agent") ?? "")) return skipped("bot");
    const referrer = referrerKey(headers.get("referer"), url);
    if (referrer === SPAM) return skipped("spam");
    return { counted: true, path, referrer, kind };
  };
}

/** Prepares the rules for addresses: an address is that of a page, by its key, or why it is none. */
function createPlaces(options: ClassifyOptions): (url: string) => string {
  const { apiPaths = ["/api/"], queryParams = [] } = options;
  const pathKey = createPathKey(options);
  const look = remember((page) => {
    const target = targetOf(page);
    return target.startsWith("/.well-known/")
      ? "wellKnown"
      : apiPaths.some((start) => target.startsWith(start))
      ? "api"
      : isAssetPath(pathOf(target))
      ? "asset"
      : pathKey(target);
  });
  return (url) => {
    const query = queryParams.length > 0 ? -1 : url.indexOf("?");
    return look(query < 0 ? url : url.slice(0, query), url);
  };
}

/**
 * Whether a path is a static file's by its extension: images, fonts, styles, scripts, media,
 * archives. Not `.html`, `.php`, `.xml`, `.json` and `.txt`, which a Worker may answer itself.
 *
 * @param pathname The path, without a query.
 * @returns Whether it is.
 */
export function isAssetPath(pathname: string): boolean {
  return ASSET.test(pathname);
}

/**
 * The value of the debugging header `X-Scrimp`.
 *
 * @param verdict What the rules said.
 * @returns For example `counted; path=/about` or `skipped; reason=bot`; always a legal header value.
 */
export function debugHeader(verdict: Verdict): string {
  return verdict.counted
    ? `counted; path=${encodeURI(verdict.path)}`
    : `skipped; reason=${verdict.reason}`;
}

function skipped(reason: SkipReason): Verdict {
  return { counted: false, reason };
}

/** An address without its origin. The shortest one has eight characters before its path. */
function targetOf(url: string): string {
  const start = url.indexOf("/", 8);
  return start < 0 ? "/" : url.slice(start);
}

/** The kind of view; undefined for what is no navigation. */
function kindOf(headers: HeadersLike): ViewKind | undefined {
  if (headers.has("rsc") || headers.has("next-router-prefetch")) return undefined;
  const destination = headers.get("sec-fetch-dest");
  if (destination === "document") return "browser";
  if (destination) return undefined;
  const mode = headers.get("sec-fetch-mode");
  if (mode === "navigate") return "browser";
  if (mode || headers.get("x-requested-with")?.toLowerCase() === "xmlhttprequest") return undefined;
  return SCRIPTED.some((name) => headers.has(name)) ? undefined : "unverified";
}
