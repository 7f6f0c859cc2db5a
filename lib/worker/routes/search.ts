/**
 * `GET /api/search?q=&session=` and `POST /api/search` (`{ q, session? }`): search the site's pages, and
 * what is searched for is counted, keystrokes of one session (or of one address, in memory only) as one. `GET /api/keywords`: the most frequent terms, for whoever has the token.
 *
 * @module
 */

import { KeywordLog, normalizeQuery } from "../../keyword_log.ts";
import { answerJson, noStore, optionsOf, type Route, type RouteContext } from "../route.ts";
import { checkAccess } from "./_access.ts";
import { orBadRequest, readBody, refuseText } from "./_body.ts";

const QUERY_CHARACTERS_MAX = 200;
const RESULTS_MAX = 10;
const EXCERPT_CHARACTERS = 160;
/** How long an isolate keeps the list of pages, in milliseconds. */
const INDEX_MS = 600_000;
/** Longer than visitors pause while typing. */
const LINGER_MS = 5_000;

/** A page of the site, as `/search.json` lists them. */
interface Page {
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** Searching costs no KV operation; what is counted is written after the response, if at all. */
export const searchRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/search",
    handle(context) {
      const { searchParams } = context.url;
      return search(context, searchParams.get("q"), searchParams.get("session") ?? undefined);
    },
  },
  {
    method: "POST",
    path: "/api/search",
    async handle(context) {
      const body = await readBody(context.request);
      if (body instanceof Response) return body;
      return search(context, body.q ?? body.query, body.session);
    },
  },
  { method: "GET", path: "/api/keywords", handle: keywords },
];

async function search(context: RouteContext, q: unknown, session?: unknown): Promise<Response> {
  const refused = refuseText("Query", q, QUERY_CHARACTERS_MAX) ??
    (session === undefined ? undefined : refuseText("Session", session, 64));
  if (refused) return refused;
  const query = String(q);
  const pages = await pagesOf(context);
  const results = find(pages ?? [], normalizeQuery(query).split(" "));
  const visitor = session ?? context.request.headers.get("cf-connecting-ip");
  logOf(context)?.log(query, context.ctx, {
    ...(visitor ? { session: String(visitor) } : {}),
    ...(pages ? { hits: results.length } : {}),
  });
  return answerJson({ query, count: results.length, results: results.slice(0, RESULTS_MAX) });
}

async function keywords(context: RouteContext): Promise<Response> {
  const access = await checkAccess(context, "token");
  if (access instanceof Response) return access;
  const log = logOf(context);
  if (!log) return noStore();
  const { searchParams } = context.url;
  const given = ["days", "n", "countMin"].flatMap((name) => {
    const value = searchParams.get(name);
    return value === null ? [] : [[name, value === "" ? NaN : Number(value)]];
  });
  const zeroHits = searchParams.get("zeroHits") === "1";
  return await orBadRequest("badParameter", async () => {
    await log.flush();
    return answerJson(await log.top({ ...Object.fromEntries(given), zeroHits }));
  });
}

function logOf(context: RouteContext): KeywordLog | undefined {
  const { kv } = context;
  const options = { ...optionsOf(context), lingerMs: LINGER_MS };
  return kv && context.once("keywords", () => new KeywordLog(kv, options));
}

/** The site's pages; `undefined` where the site has no list of them. */
async function pagesOf({ env, url, clock, once, report }: RouteContext) {
  const kept = once<{ pages?: Page[]; untilMs: number }>("pages", () => ({ untilMs: 0 }));
  const now = clock.now();
  if (now < kept.untilMs || !env.ASSETS) return kept.pages;
  try {
    const response = await env.ASSETS.fetch(new Request(new URL("/search.json", url)));
    const { pages } = await response.json() as { pages: Page[] };
    kept.pages = pages.filter((page) =>
      [page.path, page.title, page.text].every((text) => typeof text === "string")
    );
  } catch (error) {
    report(error);
  }
  kept.untilMs = now + INDEX_MS;
  return kept.pages;
}

/** Pages that have all words, those with most in their title first. */
function find(pages: readonly Page[], words: readonly string[]) {
  return pages.map(({ path, title, text }) => {
    const [head, body] = [title.toLowerCase(), text.toLowerCase()];
    const counts = words.map((word) => 5 * times(head, word) + times(body, word));
    const at = Math.max(0, body.indexOf(words[0] ?? "") - EXCERPT_CHARACTERS / 4);
    const excerpt = text.slice(at, at + EXCERPT_CHARACTERS);
    const score = counts.includes(0) ? 0 : counts.reduce((sum, count) => sum + count, 0);
    return { score, path, title, excerpt };
  }).filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
}

function times(text: string, word: string): number {
  return text.split(word).length - 1;
}
