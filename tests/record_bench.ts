/**
 * What counting one request costs, beside the recorder that it replaces: `deno bench tests/record_bench.ts`.
 *
 * @module
 */
import { createClassifier } from "../lib/views/classify.ts";
import { Calendar } from "../lib/views/day.ts";
import { emptyTally, tallyVerdict } from "../lib/views/tally.ts";

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36";
const NAVIGATION = {
  "accept": "text/html,application/xhtml+xml",
  "accept-encoding": "gzip, br",
  "accept-language": "en-GB,en;q=0.9",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
  "sec-fetch-site": "cross-site",
  "user-agent": CHROME,
};
const REFERRERS = ["https://www.google.com/", "https://news.example.org/a?b=c", "https://t.co/x"];
const COUNT = 4096;

/** Different requests, so that no one string stays in a cache. */
function requests(headers: Record<string, string>, referred: boolean): Request[] {
  return Array.from({ length: COUNT }, (_, index) => {
    const referrer = referred ? { referer: REFERRERS[index % REFERRERS.length] ?? "" } : {};
    const query = index % 3 === 0 ? `?utm_source=n${index}` : "";
    return new Request(`https://site.example/Blog/post-${index % 25}${query}`, {
      headers: { ...headers, ...referrer },
    });
  });
}

/** The article's recorder: parse, lower-case, three entries of the current day's maps. */
function articleRecorder(): (request: Request) => void {
  let day = "";
  let days = new Map<string, number>();
  let paths = new Map<string, number>();
  let refs = new Map<string, number>();
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
  };
}

/** Ours: classify, then count in a bounded tally of the site's day. */
function scrimpRecorder(): (request: Request) => void {
  const classify = createClassifier();
  const calendar = new Calendar("Europe/Berlin");
  const tallies = new Map([["", emptyTally()]]);
  const response = new Response("", { headers: { "content-type": "text/html; charset=utf-8" } });
  return (request) => {
    const { name } = calendar.dayAt(Date.now());
    let tally = tallies.get(name);
    if (!tally) tallies.set(name, tally = emptyTally());
    tallyVerdict(tally, classify(request, response));
  };
}

for (
  const [group, headers, referred] of [
    ["a navigation from elsewhere", NAVIGATION, true],
    ["a navigation without a referrer", NAVIGATION, false],
    ["a bare browser from elsewhere", { "user-agent": CHROME }, true],
  ] as const
) {
  const all = requests(headers, referred);
  const article = articleRecorder();
  const scrimp = scrimpRecorder();
  Deno.bench(`article-style, ${COUNT} requests`, { group, baseline: true }, () => {
    for (const request of all) article(request);
  });
  Deno.bench(`classify and tally, ${COUNT} requests`, { group }, () => {
    for (const request of all) scrimp(request);
  });
}
