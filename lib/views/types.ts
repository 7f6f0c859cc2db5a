/**
 * The types that the stages of page-view counting hand on: verdict, tally, report.
 *
 * @module
 */

/** Why a page request was not counted. Exactly one applies to each request. */
export type SkipReason =
  | "method"
  | "status"
  | "notFound"
  | "notHtml"
  | "prefetch"
  | "bot"
  | "subrequest"
  | "asset"
  | "api"
  | "spam"
  | "wellKnown";

/** How sure it is that a browser asked: `browser` sent what only navigations send. */
export type ViewKind = "browser" | "unverified";

/** What the rules say of one request. */
export type Verdict =
  | {
    readonly counted: true;
    /** The page's key, for example `/about`. */
    readonly path: string;
    /** The source's key, for example `direct`, `internal`, `google` or `example.org`. */
    readonly referrer: string;
    /** What kind of client it was. */
    readonly kind: ViewKind;
  }
  | {
    readonly counted: false;
    /** Why not. */
    readonly reason: SkipReason;
  };

/** Counts by key. Built with `Object.fromEntries`, so that no key touches a prototype. */
export type Counts = Record<string, number>;

/** What is known of a day, as stored in a shard and in a roll-up. */
export interface DayCounts {
  /** Page views. The sum of `paths`, of `refs` and of `kinds`. */
  total: number;
  /** Views by page. At most 30 and `other`. */
  paths: Counts;
  /** Views by source. At most 30 and `other`. */
  refs: Counts;
  /** Views by kind of client. */
  kinds: Counts;
  /** Page requests that were not counted, by reason. */
  skipped: Counts;
  /** Views known to be lost. */
  dropped: number;
}

/** Why a day looks automated. */
export interface TrafficWarning {
  /** A stable name, for example `automated`. */
  readonly code: string;
  /** One sentence for a person. */
  readonly message: string;
  /** The signs that came together, each one sentence. */
  readonly reasons: string[];
  /** The innocent explanation, one sentence. */
  readonly innocent: string;
}

/** How fresh and how complete a day's numbers are. */
export interface Freshness {
  /** Distinct data centers that have stored something for the day. */
  readonly dataCenters: number;
  /** Shards merged into this answer. */
  readonly shards: number;
  /** Seconds since the least recently written shard was written; `null` where there is none. */
  readonly oldestSeconds: number | null;
  /** Seconds since the most recently written shard was written; `null` where there is none. */
  readonly newestSeconds: number | null;
  /** Where the numbers come from. */
  readonly source: "none" | "shards" | "rollup" | "rollup+shards";
}

/** One day as `GET /api/traffic` gives it. */
export interface DayReport extends DayCounts {
  /** The day, `YYYY-MM-DD`. */
  readonly date: string;
  /** The time zone whose days these are: `UTC` unless the site chose another. */
  readonly timeZone: string;
  /** Whether the day is not over yet. */
  readonly partial: boolean;
  /** Views that the answering data center has counted and not yet stored. */
  pending: number;
  /** How fresh the numbers are. */
  readonly freshness: Freshness;
  /** Stored values that could not be read and were left out. */
  readonly damaged: number;
  /** Writes spent on page views that day, over the whole network, as far as known. */
  readonly writes: number;
  /** What the number is worth, one plain sentence. */
  readonly note: string;
  /** Whether the day looks automated, and why. */
  readonly warning: TrafficWarning | null;
}

/** Several days as `GET /api/traffic?days=N` gives them, oldest first. */
export interface RangeReport {
  /** One entry a day, oldest first; days without data are there with zeros. */
  readonly days: DayReport[];
  /** The sum of all days' totals. */
  readonly total: number;
  /** The time zone whose days these are. */
  readonly timeZone: string;
  /** Stored values that could not be read and were left out. */
  readonly damaged: number;
}
