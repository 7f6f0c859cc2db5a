/**
 * The arithmetic of aligned windows: how many admitted hits still count, and when there is room.
 *
 * Pure; times are whole milliseconds since the Unix epoch.
 */

/** The hits admitted in one aligned window, as two moments and a number. */
export interface Hits {
  /** How many. */
  n: number;
  /** When the first of them came. */
  first: number;
  /** When the last of them came. */
  last: number;
}

/** What is enforced. */
export interface Rule {
  /** Most hits in a window. */
  readonly limit: number;
  /** The window's length in milliseconds. */
  readonly windowMs: number;
  /** Whether the window slides: hits of the window before count until they are one length old. */
  readonly sliding: boolean;
}

/** A rule, the window under way and the one before it. */
export interface Level<H extends Hits = Hits> {
  /** What is enforced. */
  rule: Rule;
  /** The current window's number: time divided by length, rounded down. */
  index: number;
  /** Hits of the current window. */
  now: H;
  /** Hits of the window before. */
  before: H;
}

/** No hits yet. */
export function noHits(): Hits {
  return { n: 0, first: 0, last: 0 };
}

/** Adds `n` hits that came between two moments. */
export function addHits(hits: Hits, n: number, first: number, last: number): void {
  hits.first = hits.n > 0 ? Math.min(hits.first, first) : first;
  hits.last = Math.max(hits.last, last);
  hits.n += n;
}

/**
 * Hits that came after a moment, taking them as evenly spaced between the first and the last. Exact
 * for one hit, for a burst and for a steady beat; all numbers are whole, so nothing is lost in rounding.
 */
export function hitsAfter({ n, first, last }: Hits, moment: number): number {
  if (moment < first) return n;
  return moment < last ? Math.ceil((n - 1) * (last - moment) / (last - first)) : 0;
}

/** The earliest moment after which at most `most` hits came. */
function momentOf({ n, first, last }: Hits, most: number): number {
  if (most >= n) return -Infinity;
  return n > 1 ? last - Math.floor(most * (last - first) / (n - 1)) : last;
}

/** Moves on to the window that `nowMs` is in, if it is a new one. A clock that goes back is ignored. */
export function roll<H extends Hits>(level: Level<H>, nowMs: number, make: () => H): boolean {
  const index = Math.floor(nowMs / level.rule.windowMs);
  if (index <= level.index) return false;
  level.before = index === level.index + 1 ? level.now : make();
  level.now = make();
  level.index = index;
  return true;
}

/** Hits that count now. */
export function usedHits({ rule, now, before }: Level, nowMs: number): number {
  return now.n + (rule.sliding ? hitsAfter(before, nowMs - rule.windowMs) : 0);
}

/** Milliseconds until `cost` more hits fit if nothing else comes; 0 when they fit now. */
export function waitMs(level: Level, nowMs: number, cost: number): number {
  const { rule: { limit, windowMs, sliding }, index, now, before } = level;
  const room = limit - cost;
  if (usedHits(level, nowMs) <= room) return 0;
  if (now.n <= room) return windowMs + momentOf(before, room - now.n) - nowMs;
  const end = (index + 1) * windowMs;
  return (sliding ? Math.max(end, windowMs + momentOf(now, room)) : end) - nowMs;
}
