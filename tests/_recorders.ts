/**
 * Two recorders of page views and the requests that they are timed with.
 *
 * @module
 */
import { PageViews } from "../lib/page_views.ts";

/** Takes a request that has been answered. */
export type Recorder = (request: Request) => void;

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36";
const BARE = { "user-agent": CHROME };
const NAVIGATION = {
  ...BARE,
  "accept": "text/html,application/xhtml+xml",
  "accept-encoding": "gzip, br",
  "accept-language": "en-GB,en;q=0.9",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
  "sec-fetch-site": "cross-site",
};
const REFERRERS = ["https://www.google.com/", "https://news.example.org/a?b=c", "https://t.co/x"];

/** What is timed, by name: headers, and whether there is a referrer. */
export const TRAFFIC: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ["a navigation from elsewhere", NAVIGATION, true],
  ["a navigation without a referrer", NAVIGATION, false],
  ["a bare browser from elsewhere", BARE, true],
];

/**
 * Makes different requests, so that no one string stays in a cache.
 *
 * @param count How many.
 * @param headers Their headers.
 * @param referred Whether they have a referrer.
 * @returns The requests.
 */
export function requests(
  count: number,
  headers: Record<string, string>,
  referred: boolean,
): Request[] {
  return Array.from({ length: count }, (_, index) => {
    const referrer = referred ? { referer: REFERRERS[index % REFERRERS.length] ?? "" } : {};
    const query = index % 3 === 0 ? `?fbclid=n${index}` : "";
    return new Request(`https://site.example/Blog/post-${index % 25}${query}`, {
      headers: { ...headers, ...referrer },
    });
  });
}

/**
 * The article's recorder: parse, lower-case, three entries of the current day's maps, and whether to
 * flush. It never does.
 *
 * @returns The recorder.
 */
export function articleRecorder(): Recorder {
  let day = "";
  let days = new Map<string, number>();
  let paths = new Map<string, number>();
  let refs = new Map<string, number>();
  let pending = 0;
  let flushedAt = Infinity;
  function bump(map: Map<string, number>, key: string): void {
    map.set(key, (map.get(key) ?? 0) + 1);
  }
  return (request) => {
    const today = new Date().toISOString().slice(0, 10);
    if (today !== day) [day, days, paths, refs] = [today, new Map(), new Map(), new Map()];
    const path = new URL(request.url).pathname.toLowerCase();
    const referer = request.headers.get("referer");
    let ref = "direct";
    if (referer) {
      try {
        ref = new URL(referer).hostname.replace(/^www\./, "");
      } catch {
        ref = "other";
      }
    }
    bump(days, day);
    bump(paths, path);
    bump(refs, ref);
    pending += 1;
    if (Date.now() - flushedAt >= 30 * 60_000 || pending >= Infinity) flushedAt = Date.now();
  };
}

/**
 * Ours, in a zone that is not UTC.
 *
 * @returns The recorder.
 */
export function scrimpRecorder(): Recorder {
  const views = new PageViews(undefined, { timeZone: "Europe/Berlin" });
  const response = new Response("", { headers: { "content-type": "text/html; charset=utf-8" } });
  return (request) => void views.record(request, response);
}
