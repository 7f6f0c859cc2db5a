/**
 * `deno task doctor URL`: asks for the site's pages and says which of them are not counted, and why.
 *
 * @module
 */
import { debugHeader } from "../lib/views/classify.ts";
import { matchRoute } from "../lib/worker/router.ts";
import { routes } from "../lib/worker/routes.ts";
import { readConfig } from "./_config.ts";
import { fail, messageOf, usage } from "./_failure.ts";
import { type Fetch, findPages } from "./_pages.ts";
import { table } from "./_table.ts";
import { advise, routingOf } from "./_worker_first.ts";
import { parseArgs } from "node:util";

const PAGES_MAX = 200;
/** Asked as a bot, so that nothing of it is counted. */
const AGENT = "ScrimpDoctor/1.0 (bot; deno task doctor)";

/** How the Worker marks what the doctor asks for. */
const AS_BOT = debugHeader({ counted: false, reason: "bot" });

const HELP = `Ask for the site's pages and say which of them are not counted, and why.

Usage: deno task doctor URL [options]

Options:
  --pages FILE  Pages to ask for, one a line; "-" is the standard input.
                Default: the sitemap, or else the links on the page
  --max N       Ask for at most N pages. Default: ${PAGES_MAX}
  --json        Print JSON
  --help        Print this

Set SCRIMP_DEBUG = "1" in the [vars] of wrangler.toml first: the Worker then marks what it counts. The
doctor says that it is a bot, so that its own visits are not counted. It exits with 1 if anything is
to be done, and with 2 if its options cannot be used.
`;

/** What is the matter with a page. */
export type Finding =
  | "counted"
  | "missed"
  | "cached"
  | "skipped"
  | "redirect"
  | "broken"
  | "unmarked";

/** What was found of one page. */
export interface PageReport {
  /** Its path, with the query. */
  readonly path: string;
  /** The status. */
  readonly status: number;
  /** The value of `X-Scrimp`; `null` where it is not there. */
  readonly mark: string | null;
  /** What is the matter. */
  readonly finding: Finding;
  /** What that means, in a sentence. */
  readonly because: string;
}

/** What was found of a site. */
export interface Diagnosis {
  /** Where the pages were found. */
  readonly source: string;
  /** Page by page. */
  readonly pages: readonly PageReport[];
  /** What to do; nothing where all is well. */
  readonly advice: readonly string[];
}

/** How a site is examined. */
export interface DoctorOptions {
  /** Asks the site. */
  readonly fetch?: Fetch;
  /** Pages, one a line, instead of what the site says. */
  readonly list?: string;
  /** Pages at most. */
  readonly pagesMax?: number;
  /** `run_worker_first` of `wrangler.toml`. */
  readonly workerFirst?: boolean | readonly string[];
}

/**
 * Examines a site.
 *
 * @param site Its address.
 * @param options How.
 * @returns What was found, and what to do.
 */
export async function examine(site: string, options: DoctorOptions = {}): Promise<Diagnosis> {
  const { fetch: ask = fetch, list, pagesMax = PAGES_MAX, workerFirst } = options;
  const asBot: Fetch = (url, init = {}) =>
    ask(url, {
      ...init,
      redirect: "manual",
      headers: { "user-agent": AGENT, accept: "text/html", ...init.headers },
    }).catch((error) => {
      throw new Error(`Cannot reach ${new URL(url).origin}: ${messageOf(error)}`);
    });
  const found = await findPages(asBot, site, { pagesMax, ...list === undefined ? {} : { list } });
  const answers: Answer[] = [];
  for (const url of found.urls) {
    answers.push(await answerOf(asBot, url));
  }
  const marks = answers.some(({ mark }) => mark !== null);
  const pages = answers.map((answer) => report(answer, marks, workerFirst));
  return { source: found.source, pages, advice: adviceOf(pages, marks, workerFirst) };
}

/** What of an answer matters. */
interface Answer {
  readonly path: string;
  readonly status: number;
  readonly type: string;
  readonly mark: string | null;
  readonly location: string | null;
  /** Why it is known that a cache answered; `undefined` where it is not. */
  readonly cache: string | undefined;
}

async function answerOf(ask: Fetch, url: string): Promise<Answer> {
  const { pathname, search } = new URL(url);
  const response = await ask(url);
  await response.body?.cancel();
  const { status, headers } = response;
  const mark = headers.get("x-scrimp");
  return {
    path: pathname + search,
    status,
    type: headers.get("content-type") ?? "",
    mark,
    location: headers.get("location"),
    cache: await cacheOf(ask, url, headers.get("age"), mark),
  };
}

/**
 * How it is known that a cache answers. `CF-Cache-Status` does not tell: assets have it, and the
 * Worker may have asked for them. So a second request is made that must get another mark.
 */
async function cacheOf(
  ask: Fetch,
  url: string,
  age: string | null,
  mark: string | null,
): Promise<string | undefined> {
  if (Number(age ?? 0) > 0) return `Age: ${age}`;
  if (mark !== AS_BOT) return undefined;
  const again = await ask(url, { headers: { "sec-purpose": "prefetch" } });
  await again.body?.cancel();
  return again.headers.get("x-scrimp") === AS_BOT ? "two requests get one mark" : undefined;
}

function report(
  { path, status, type, mark, location, cache }: Answer,
  marks: boolean,
  workerFirst: boolean | readonly string[] | undefined,
): PageReport {
  const say = (finding: Finding, because: string) => ({ path, status, mark, finding, because });
  if (status >= 300 && status < 400 && status !== 304) {
    return say("redirect", `It only leads on, to ${location ?? "nowhere"}`);
  }
  if (status < 200 || status > 299) return say("broken", `It is answered with ${status}`);
  if (cache !== undefined) {
    return say("cached", `A cache answers before the Worker (${cache}): visits are not seen`);
  }
  if (mark !== null) {
    if (mark === AS_BOT) return say("counted", "The Worker sees it");
    return say("skipped", `The Worker sees it and does not count it: ${mark}`);
  }
  if (!/^(?:text\/html|application\/xhtml)/i.test(type)) {
    return say("skipped", `It is no page: its type is ${type || "not given"}`);
  }
  if (matchRoute(routes, "GET", path.split("?", 1)[0] ?? path)) {
    return say("skipped", "It is the Worker's own and none of the site");
  }
  if (!marks) return say("unmarked", "Nothing marks what the Worker sees");
  const { worker, rule } = routingOf(workerFirst, path.split("?", 1)[0] ?? path);
  if (rule?.startsWith("!")) {
    return say("missed", `${JSON.stringify(rule)} keeps it from the Worker`);
  }
  return say(
    "missed",
    worker
      ? "The Worker never sees it, though wrangler.toml says so: deploy it"
      : "The Worker never sees it: no rule brings it there",
  );
}

function adviceOf(
  pages: readonly PageReport[],
  marks: boolean,
  workerFirst: boolean | readonly string[] | undefined,
): string[] {
  const advice: string[] = [];
  const paths = (finding: Finding) =>
    pages.filter((page) => page.finding === finding).map(({ path }) =>
      path.split("?", 1)[0] ?? path
    );
  if (!marks) {
    const change = advise(workerFirst, paths("unmarked"));
    advice.push(
      'No page has the header X-Scrimp. Set SCRIMP_DEBUG = "1" in the [vars] of wrangler.toml, deploy, and ask again.',
      ...change === ""
        ? []
        : [`In wrangler.toml, under [assets], some pages do not go to the Worker:\n${change}`],
    );
  }
  const missed = paths("missed");
  if (missed.length > 0) {
    const change = advise(workerFirst, missed);
    advice.push(
      change === ""
        ? "wrangler.toml brings all pages to the Worker; what is deployed does not. Run `deno task deploy`."
        : `In wrangler.toml, under [assets]:\n${change}`,
    );
  }
  if (paths("cached").length > 0) {
    advice.push(
      "Pages that a cache answers are not counted: let no cache rule make HTML cacheable at the edge, " +
        "and send it with Cache-Control: no-cache or max-age=0 (browsers may keep it: 304s count).",
    );
  }
  if (paths("broken").length > 0) {
    advice.push("Some pages in the list are broken: mend them or take them out of it.");
  }
  return advice;
}

function textOf({ source, pages, advice }: Diagnosis): string {
  const order: readonly Finding[] = [
    "missed",
    "cached",
    "unmarked",
    "broken",
    "skipped",
    "redirect",
  ];
  const odd = order.flatMap((finding) => pages.filter((page) => page.finding === finding));
  const counted = pages.filter(({ finding }) => finding === "counted").length;
  return [
    `${pages.length} pages from ${source}, ${counted} of them counted`,
    ...odd.length === 0 ? [] : [table([
      ["page", "status", "finding"],
      ...odd.map(({ path, status, finding }) => [path, String(status), finding]),
    ])],
    ...odd.length === 0 ? [] : [odd.map(({ path, because }) => `${path}: ${because}.`).join("\n")],
    ...advice.length === 0 ? ["Nothing to do."] : advice,
  ].join("\n\n");
}

interface Arguments {
  readonly site: string;
  readonly pages: string | undefined;
  readonly pagesMax: number;
  readonly json: boolean;
}

/** Reads the command line; `undefined` when help was asked for. */
function readArguments(args: string[]): Arguments | undefined {
  const string = { type: "string" } as const;
  const boolean = { type: "boolean", default: false } as const;
  const { values: { pages, max = String(PAGES_MAX), json, help }, positionals } = parseArgs({
    args,
    options: { pages: string, max: string, json: boolean, help: boolean },
    allowPositionals: true,
  });
  if (help) return undefined;
  const [site, ...others] = positionals;
  if (
    site === undefined || others.length > 0 || !/^https?:\/\//i.test(site) || !URL.canParse(site)
  ) {
    throw new TypeError(
      "Cannot examine that: expected one address such as https://site.example/",
    );
  }
  const pagesMax = Number(max);
  if (!Number.isSafeInteger(pagesMax) || pagesMax < 1) {
    throw new RangeError(`Cannot ask for ${max} pages: expected an integer of at least 1`);
  }
  return { site, pages, pagesMax, json };
}

/** Reads the command line and examines; gives the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const asked = usage(() => readArguments(args));
    if (!asked) {
      console.log(HELP);
      return 0;
    }
    const { site, pages, pagesMax, json } = asked;
    const list = pages === undefined ? {} : { list: await read(pages) };
    const config = await readConfig().catch(() => undefined);
    const first = config?.assets?.run_worker_first;
    const workerFirst = first === undefined ? {} : { workerFirst: first };
    const diagnosis = await examine(site, { ...list, ...workerFirst, pagesMax });
    console.log(json ? JSON.stringify(diagnosis, undefined, 2) : textOf(diagnosis));
    return diagnosis.advice.length === 0 ? 0 : 1;
  } catch (error) {
    return fail(error);
  }
}

async function read(file: string): Promise<string> {
  return file === "-"
    ? await new Response(Deno.stdin.readable).text()
    : await Deno.readTextFile(file);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
