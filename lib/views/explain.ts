/**
 * Says why a request counts, or why not: the verdict of `./classify`, in a sentence and as a header.
 *
 * A pure function. For a debug page, a test of one's own rules, or a terminal.
 *
 * @example A bot that says so
 * ```ts
 * import { explain } from "@scrimp/kv/explain";
 * import { assertEquals } from "@std/assert";
 *
 * const explanation = explain(
 *   new Request("https://site.example/", { headers: { "user-agent": "curl/8.4.0" } }),
 * );
 * assertEquals(explanation.verdict, { counted: false, reason: "bot" });
 * assertEquals(explanation.header, "skipped; reason=bot");
 * ```
 *
 * @module
 */

import {
  type ClassifyOptions,
  createClassifier,
  debugHeader,
  type RequestLike,
  type ResponseLike,
} from "./classify.ts";
import type { SkipReason, Verdict } from "./types.ts";

export type {
  ClassifyOptions,
  HeadersLike,
  PathOptions,
  ReferrerOptions,
  RequestLike,
  ResponseLike,
} from "./classify.ts";
export type { SkipReason, Verdict, ViewKind } from "./types.ts";

/** What is said of a request. */
export interface Explanation {
  /** Whether it counts, with its keys or its reason. */
  readonly verdict: Verdict;
  /** The same in one sentence. */
  readonly because: string;
  /** The value of the header `X-Scrimp`. */
  readonly header: string;
  /** Whether a page was taken to be answered because no response was given. */
  readonly assumed: boolean;
}

const BECAUSE: Readonly<Record<SkipReason, string>> = {
  method: "Only GET requests are page views.",
  notFound: "There is no such page: the response is a 404 or 410.",
  status: "The response is neither a 2xx nor a 304.",
  wellKnown: "Addresses under /.well-known/ are for machines.",
  notHtml: "The response is not an HTML document by its Content-Type.",
  api: "The path belongs to an API.",
  asset: "The path has the extension of a static file.",
  prefetch: "The browser fetched the page ahead of a visit that may never come.",
  subrequest: "A script, a router or a frame asked, not a top-level navigation.",
  bot: "The user agent is missing or says that it is a bot or a tool.",
  spam: "The referrer is on the list of spam.",
};

const PAGE: ResponseLike = {
  status: 200,
  headers: { get: (name) => name === "content-type" ? "text/html" : null, has: () => true },
};

/**
 * Classifies one request and says why. Pure: stores nothing, sends nothing, costs no KV operation.
 * It prepares the rules at each call; for many requests use `createClassifier()`.
 *
 * @param request The request.
 * @param response The response; without one, a 200 with an HTML document is taken.
 * @param options The site's rules.
 * @returns The verdict, in three forms.
 * @throws {RangeError} If a path template of the options is malformed or longer than 48 characters.
 */
export function explain(
  request: RequestLike,
  response?: ResponseLike,
  options?: ClassifyOptions,
): Explanation {
  const verdict = createClassifier(options)(request, response ?? PAGE);
  return {
    verdict,
    because: verdict.counted
      ? `A page view of ${verdict.path}, source ${verdict.referrer}, ${
        verdict.kind === "browser"
          ? "by a browser that says that it navigates."
          : "by a client that could be a browser."
      }`
      : BECAUSE[verdict.reason],
    header: debugHeader(verdict),
    assumed: response === undefined,
  };
}
