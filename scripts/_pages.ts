/**
 * Finds a site's pages: from a list, its sitemap, or the links on its front page.
 *
 * @module
 */
import { isAssetPath } from "../lib/views/classify.ts";

/** Fetches; injected, so that tests need no network. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** Pages, and where they were found. */
export interface Pages {
  /** Their addresses, the front page first. */
  readonly urls: readonly string[];
  /** For example `the sitemap`. */
  readonly source: string;
}

const SITEMAPS_MAX = 10;

/**
 * Finds the pages of a site.
 *
 * @param fetch How to ask the site.
 * @param site Any address of the site.
 * @param options `list`: pages, one a line, instead of what the site says; `pagesMax`.
 * @returns At most `pagesMax` pages of the site's own origin.
 */
export async function findPages(
  fetch: Fetch,
  site: string,
  { list, pagesMax }: { list?: string; pagesMax: number },
): Promise<Pages> {
  const found = list !== undefined
    ? { source: "the list", links: list.split("\n").map((line) => line.trim()) }
    : await fromSitemap(fetch, site) ?? await fromFrontPage(fetch, site);
  const front = new URL(site);
  front.search = front.hash = "";
  const urls = new Set([front.href]);
  for (const link of found.links) {
    if (link === "" || !URL.canParse(link, site)) continue;
    const url = new URL(link, site);
    url.hash = "";
    if (url.origin === front.origin && !isAssetPath(url.pathname)) urls.add(url.href);
  }
  return { urls: [...urls].slice(0, pagesMax), source: found.source };
}

type Links = { readonly source: string; readonly links: readonly string[] };

async function fromSitemap(fetch: Fetch, site: string): Promise<Links | undefined> {
  const waiting = [await sitemapInRobots(fetch, site) ?? "/sitemap.xml"];
  const links: string[] = [];
  for (let read = 0; read < SITEMAPS_MAX && waiting.length > 0; read++) {
    const url = new URL(waiting.shift() ?? "", site);
    const text = await textOf(fetch, url.href);
    if (text === undefined) continue;
    const found = [...text.matchAll(/<loc>\s*(?:<!\[CDATA\[)?\s*([^<\]\s]+)/g)]
      .map(([, link = ""]) => unescapeEntities(link));
    (/<sitemapindex/.test(text) ? waiting : links).push(...found);
  }
  return links.length === 0 ? undefined : { source: "the sitemap", links };
}

async function sitemapInRobots(fetch: Fetch, site: string): Promise<string | undefined> {
  const robots = await textOf(fetch, new URL("/robots.txt", site).href);
  return robots?.match(/^sitemap:\s*(\S+)/im)?.[1];
}

async function fromFrontPage(fetch: Fetch, site: string): Promise<Links> {
  const text = await textOf(fetch, site) ?? "";
  const links = [...text.matchAll(/<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/gi)]
    .map(([, double, single, bare]) => unescapeEntities(double ?? single ?? bare ?? ""));
  return { source: "the links on the front page", links };
}

async function textOf(fetch: Fetch, url: string): Promise<string | undefined> {
  const response = await fetch(url);
  const text = await response.text();
  return response.ok ? text : undefined;
}

function unescapeEntities(text: string): string {
  return text.replaceAll("&amp;", "&").replaceAll("&#38;", "&");
}
