/** Reports to render, made up but regular, for the tests of the traffic page. */
import type { Counts, DayReport, RangeReport, TrafficWarning } from "../lib/views/types.ts";

/** Noon of the day that the fixtures call today. */
export const NOON: number = Date.UTC(2026, 10, 30, 12);

/** What a day that looks automated carries. */
export const WARNING: TrafficWarning = {
  code: "automated",
  message: "Most of this day's views look automated",
  reasons: [
    "97 % of the views came without a referrer",
    "None of the views sent what browsers send with a navigation",
  ],
  innocent: "A link shared in an app that hides where it came from looks the same.",
};

/** A day's report from what matters; the rest is plausible. */
export function dayReport(date: string, parts: Partial<DayReport> = {}): DayReport {
  const partial = date === "2026-11-30";
  return {
    date,
    timeZone: "UTC",
    partial,
    total: 0,
    paths: {},
    refs: {},
    kinds: {},
    skipped: {},
    dropped: 0,
    pending: 0,
    freshness: {
      dataCenters: 0,
      shards: 0,
      oldestSeconds: null,
      newestSeconds: null,
      source: "none",
    },
    damaged: 0,
    writes: 0,
    note: "Nothing has been stored for this day.",
    warning: null,
    ...parts,
  };
}

/** The last `count` days before and with today, oldest first. */
export function dates(count: number): string[] {
  return Array.from(
    { length: count },
    (_, i) => new Date(NOON - (count - 1 - i) * 86_400_000).toISOString().slice(0, 10),
  );
}

/** Splits a total over keys the way that ranks fall off, the remainder on the last one. */
export function spread(total: number, keys: readonly string[]): Counts {
  const weights = keys.map((_, i) => 1 / (i + 1));
  const sum = weights.reduce((a, b) => a + b, 0);
  const counts = keys.map((_, i) => Math.floor(total * (weights[i] ?? 0) / sum));
  const rest = total - counts.reduce((a, b) => a + b, 0);
  return Object.fromEntries(keys.map((key, i) => [key, (counts[i] ?? 0) + (i === 0 ? rest : 0)]));
}

const PAGES = ["/", "/pricing", "/about", "/blog", "/blog/a-thousand-writes-a-day", "/search"];
const SOURCES = ["direct", "google", "internal", "news.ycombinator.com", "duckduckgo", "mastodon"];

/** Days of a small site, with a busy week and one automated day. */
export function busyRange(count: number, total = 240): RangeReport {
  const days = dates(count).map((date, i) => {
    const left = count - 1 - i;
    const weekend = new Date(date).getUTCDay() % 6 === 0 ? 0.55 : 1;
    const burst = left === 9 ? 2.6 : left === 10 ? 1.9 : left === 8 ? 1.6 : 1;
    const part = left === 0 ? 0.45 : 1;
    const wave = 1 + 0.18 * Math.sin(i * 1.7) + 0.1 * Math.sin(i * 0.31) + (count - left) / 300;
    const views = Math.round(total * weekend * burst * part * wave);
    return fullDay(date, views, {
      warning: left === 17 ? WARNING : null,
      pending: left === 0 ? 7 : 0,
    });
  });
  return rangeOf(days);
}

/** A day with all its parts filled in from its number of views. */
export function fullDay(date: string, views: number, parts: Partial<DayReport> = {}): DayReport {
  const unverified = Math.floor(views * 0.12);
  return dayReport(date, {
    total: views,
    paths: spread(views, [...PAGES, "other"]),
    refs: spread(views, [...SOURCES, "other"]),
    kinds: { browser: views - unverified, unverified },
    skipped: { bot: Math.round(views * 0.7), notFound: Math.round(views * 0.2), prefetch: 11 },
    freshness: {
      dataCenters: 14,
      shards: 14,
      oldestSeconds: 720,
      newestSeconds: 9,
      source: "rollup+shards",
    },
    writes: 137,
    note: "A lower bound: views that a data center has not stored yet are missing.",
    ...parts,
  });
}

/** A range from its days. */
export function rangeOf(days: DayReport[]): RangeReport {
  return {
    days,
    total: days.reduce((sum, day) => sum + day.total, 0),
    timeZone: "UTC",
    damaged: days.reduce((sum, day) => sum + day.damaged, 0),
  };
}

/** The largest that fits into buckets: 30 keys of 48 characters and `other`, other ones each day. */
export function fullRange(count: number, hostile = false): RangeReport {
  return rangeOf(
    dates(count).map((date, i) => {
      const keys = (kind: string) => [
        ...Array.from(
          { length: 30 },
          (_, k) =>
            hostile
              ? `/${"<script>alert(1)</script>'\"&".slice(0, 40)}${kind}${k}`
              : `/${kind}/${String(k + i % 5 * 10).padStart(3, "0")}/${"long-title-".repeat(5)}`
                .slice(
                  0,
                  48,
                ),
        ),
        "other",
      ];
      const views = 100_000 + i * 977;
      return fullDay(date, views, {
        paths: spread(views, keys("page")),
        refs: spread(views, keys("site")),
        skipped: spread(views, ["method", "status", "notFound", "notHtml", "prefetch", "bot"]),
        warning: i % 2 ? WARNING : null,
        damaged: 1,
        dropped: 3,
        pending: 5,
      });
    }),
  );
}
