/** What {@linkcode KeywordLog} takes and gives. */

import type { Budget } from "./budget.ts";
import type { Clock, Random } from "./clock.ts";
import type { PlainSearch } from "./_plain_search.ts";
import type { EdgeCache } from "./views/edge_cache.ts";

/** Options of {@linkcode KeywordLog}. */
export interface KeywordLogOptions {
  /**
   * How long a flush is kept, in seconds. At least 60.
   *
   * @default {2_592_000}
   */
  readonly ttlSeconds?: number;
  /**
   * How long searches gather in memory before the next one flushes them, in milliseconds. At least
   * 1,000.
   *
   * @default {600_000}
   */
  readonly flushMs?: number;
  /**
   * Distinct terms of one flush; the next search flushes when there are so many, but not sooner than
   * a quarter of `flushMs` after another flush. Until then further terms are counted as `other`.
   *
   * @default {500}
   */
  readonly termsMax?: number;
  /**
   * After a quiet spell of `flushMs`, a first search is flushed on its own after so many
   * milliseconds, inside `waitUntil`, so that a slow site loses less with its isolates. 0: never.
   *
   * @default {0}
   */
  readonly lingerMs?: number;
  /**
   * Within so many milliseconds a session's term that extends the one before takes its place.
   *
   * @default {4_000}
   */
  readonly collapseMs?: number;
  /** Makes the term of a query. @default {normalizeQuery} */
  readonly normalize?: (query: string) => string;
  /** Returns what may be stored of a folded query, `undefined` for nothing. @default {redactQuery} */
  readonly redact?: (query: string) => string | undefined;
  /** The ledger; writes and lists are asked for as `keywords`. */
  readonly budget?: Budget;
  /** The data center's cache, where results of `top` are kept for all isolates. */
  readonly edgeCache?: EdgeCache | null;
  /**
   * How long `top` may answer from its cache for the current day, in milliseconds; days that are
   * over are kept six hours.
   *
   * @default {300_000}
   */
  readonly cacheMs?: number;
  /**
   * First part of every key.
   *
   * @default {"kw"}
   */
  readonly prefix?: string;
  /** Time. `sleep` is only used within `waitUntil`. @default {systemClock} */
  readonly clock?: Pick<Clock, "now"> & Partial<Clock>;
  /** Chance, for unique keys. @default {systemRandom} */
  readonly random?: Random;
  /** Told what went wrong. */
  readonly onError?: (error: unknown) => void;
}

/** Options of {@linkcode KeywordLog.log}. */
export interface LogOptions {
  /** How many results there were; 0 counts as a search in vain. */
  readonly hits?: number;
  /** Names one visitor's typing, so that keystrokes collapse. Kept in memory only. */
  readonly session?: string;
}

/** What a flush did. */
export interface FlushResult {
  /** Whether a write was made. */
  readonly written: boolean;
  /** Why not: nothing to write, no write granted, or KV failed. What was counted is kept. */
  readonly reason?: "empty" | "budget" | "store";
  /** The key written. */
  readonly key?: string;
  /** Searches written. */
  readonly events: number;
  /** Searches that still wait in memory. */
  readonly waiting: number;
  /** Searches given up since the start, because too many flushes had failed. */
  readonly dropped: number;
  /** Milliseconds after which a refused write may be granted; else 0. */
  readonly retryAfterMs: number;
}

/** Options of {@linkcode KeywordLog.top}. */
export interface TopOptions {
  /** UTC days, today included: 1 to 90. @default {7} */
  readonly days?: number;
  /** Terms wanted: 1 to 1,000. @default {10} */
  readonly n?: number;
  /** Leaves out terms searched less often. @default {1} */
  readonly countMin?: number;
  /** Only searches without a result. @default {false} */
  readonly zeroHits?: boolean;
  /** Searches in the plain shape to count as well, as `readPlainSearches` gives them. @default none */
  readonly searches?: readonly PlainSearch[];
  /** Listings that may be made. @default {40} */
  readonly listsMax?: number;
  /** Values that may be read. @default {200} */
  readonly getsMax?: number;
}

/** One term of {@linkcode TopTerms}. */
export interface TopTerm {
  /** The term. */
  readonly term: string;
  /** How often it was searched. */
  readonly count: number;
  /** How often in vain. */
  readonly zeroHits: number;
}

/** What {@linkcode KeywordLog.top} found. */
export interface TopTerms {
  /** The terms, most frequent first; equal ones in alphabetical order. */
  readonly terms: TopTerm[];
  /** All searches counted, those under `other` included. */
  readonly total: number;
  /** Searches whose terms were too many to keep. */
  readonly other: number;
  /** Searches that were withheld. */
  readonly redacted: number;
  /** The first of the UTC days, `YYYY-MM-DD`. */
  readonly from: string;
  /** The last of the UTC days, `YYYY-MM-DD`. */
  readonly to: string;
  /** Whether everything stored was read. */
  readonly complete: boolean;
  /** Stored values that could not be read and were left out. */
  readonly damaged: number;
  /** Listings made; 0 when all came from the cache. */
  readonly lists: number;
  /** Values read. */
  readonly gets: number;
}
