/** What {@linkcode Feed} takes and gives. */

import type { Budget } from "./budget.ts";
import type { Clock } from "./clock.ts";
import type { EdgeCache } from "./views/edge_cache.ts";

/** Options of {@linkcode Feed}. */
export interface FeedOptions<T> {
  /** Names an item: adding the same one again replaces it. A text that is not empty. */
  readonly id: (item: T) => string;
  /**
   * Keys of one list page: 1 to 1,000.
   *
   * @default {40}
   */
  readonly list?: number;
  /**
   * Values that one page may read, of items too large for the list: 1 to 100.
   *
   * @default {20}
   */
  readonly get?: number;
  /**
   * Items of a page: 1 to 100.
   *
   * @default {6}
   */
  readonly show?: number;
  /**
   * List pages that one page may go through.
   *
   * @default {3}
   */
  readonly listsMax?: number;
  /**
   * How long an item lives, in seconds. More than 0; KV keeps it for at least 60, but what is over
   * is not shown.
   *
   * @default forever
   */
  readonly ttlSeconds?: number;
  /**
   * Whether items of up to 1,024 bytes travel in the list, so that showing them costs no read.
   *
   * @default {true}
   */
  readonly inline?: boolean;
  /** Checks and converts a stored item; `undefined` leaves it out. @default as it was stored */
  readonly parse?: (value: unknown) => T | undefined;
  /** The ledger; writes, lists and deletes are asked for as `feed`. */
  readonly budget?: Budget;
  /** The data center's cache, where the first list page is remembered for all isolates. */
  readonly edgeCache?: EdgeCache | null;
  /**
   * How long the first list page is remembered, in seconds; 0 for not at all.
   *
   * @default {60}
   */
  readonly headSeconds?: number;
  /**
   * First part of every key.
   *
   * @default {"feed"}
   */
  readonly prefix?: string;
  /** Time. @default {systemClock} */
  readonly clock?: Pick<Clock, "now">;
  /** Told what went wrong with the store or with a stored value. */
  readonly onError?: (error: unknown) => void;
}

/** What became of {@linkcode Feed.add}. */
export interface AddResult {
  /** The item's key, for {@linkcode Feed.remove}. */
  readonly key: string;
  /** The time that it is sorted by: the one claimed, or now if that lies ahead. */
  readonly atMs: number;
  /** Whether it is stored. If not, nothing is kept: add it again. */
  readonly written: boolean;
  /** Why it is not: no write was granted, or KV failed. */
  readonly reason?: "budget" | "store";
  /** Milliseconds after which a refused write may be granted; else 0. */
  readonly retryAfterMs: number;
}

/** One item as shown. */
export interface FeedEntry<T> {
  /** Its key, for {@linkcode Feed.remove}. */
  readonly key: string;
  /** The time claimed for it, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** The item. */
  readonly item: T;
}

/** Options of {@linkcode Feed.page}. */
export interface PageOptions<T> {
  /** Where the page before ended; the start where there is none. */
  readonly cursor?: string | null | undefined;
  /** Items wanted, instead of the feed's `show`: 1 to 100. */
  readonly show?: number;
  /** Leaves items out. */
  readonly visible?: (item: T) => boolean;
}

/** One page of a feed. */
export interface FeedPage<T> {
  /** The items, newest first. */
  readonly items: T[];
  /** The same with their keys and times. */
  readonly entries: FeedEntry<T>[];
  /** Where the next page begins; `undefined` at the end. */
  readonly cursor: string | undefined;
  /** Whether there may be more, although there are fewer than wanted: a bound was reached. */
  readonly short: boolean;
  /** Whether KV failed or no list was granted. The cursor still leads on. */
  readonly degraded: boolean;
  /** Listings made; 0 when the remembered page was enough. */
  readonly lists: number;
  /** Values read. */
  readonly gets: number;
  /** Stored items that could not be read and were left out. */
  readonly damaged: number;
}
