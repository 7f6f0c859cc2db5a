/**
 * The bounded count of one day: what memory, data center and KV all hold.
 *
 * @module
 */

import type { Counts, DayCounts, SkipReason, Verdict } from "./types.ts";

/** Keys kept in each of `paths` and `refs`; what comes after them is counted as `other`. */
export const KEYS_MAX = 30;
/** Characters of a key; longer ones are counted as `other`. */
export const KEY_CHARACTERS_MAX = 48;
/** The bucket for whatever has no key of its own. */
export const OTHER = "other";

/** Counts by key, in memory. A `Map`, so that no key can touch a prototype. */
export type CountMap = Map<string, number>;

/** A day's counts, in memory. Counts only ever grow. */
export interface Tally {
  /** Page views. */
  total: number;
  /** Views known to be lost. */
  dropped: number;
  /** Views by page. */
  readonly paths: CountMap;
  /** Views by source. */
  readonly refs: CountMap;
  /** Views by kind of client. */
  readonly kinds: CountMap;
  /** Requests not counted, by reason. */
  readonly skipped: CountMap;
}

/** The four maps of a tally, by name. */
const MAPS = ["paths", "refs", "kinds", "skipped"] as const;

/**
 * Makes an empty tally.
 *
 * @returns The tally.
 */
export function emptyTally(): Tally {
  return {
    total: 0,
    dropped: 0,
    paths: new Map(),
    refs: new Map(),
    kinds: new Map(),
    skipped: new Map(),
  };
}

function add(map: CountMap, key: string, count: number): void {
  map.set(key, (map.get(key) ?? 0) + count);
}

/** Adds one to a key, or to `other` when the map is full. Never throws. */
function bump(map: CountMap, key: string, keysMax: number): void {
  const known = map.get(key);
  if (known !== undefined) {
    map.set(key, known + 1);
    return;
  }
  const isFull = map.size - Number(map.has(OTHER)) >= keysMax;
  add(map, isFull || key.length > KEY_CHARACTERS_MAX ? OTHER : key, 1);
}

/**
 * Counts one verdict.
 *
 * @param tally Where to count.
 * @param verdict What the rules said of a request.
 * @param keysMax Keys kept in each of paths and referrers.
 */
export function tallyVerdict(tally: Tally, verdict: Verdict, keysMax: number = KEYS_MAX): void {
  if (!verdict.counted) {
    bump(tally.skipped, verdict.reason satisfies SkipReason, keysMax);
    return;
  }
  tally.total += 1;
  bump(tally.paths, verdict.path, keysMax);
  bump(tally.refs, verdict.referrer, keysMax);
  bump(tally.kinds, verdict.kind, keysMax);
}

/**
 * Adds one tally to another. No key is folded into `other` here; see {@linkcode capTally}.
 *
 * @param target What grows.
 * @param source What is added; left as it is.
 */
export function addTally(target: Tally, source: Tally): void {
  target.total += source.total;
  target.dropped += source.dropped;
  for (const name of MAPS) {
    for (const [key, count] of source[name]) add(target[name], key, count);
  }
}

/**
 * How much a tally has seen. Of two snapshots of one writer's tally the one with more events is the
 * later one.
 *
 * @param tally The tally.
 * @returns Views, skipped requests and drops together.
 */
export function eventsOf(tally: Tally): number {
  let events = tally.total + tally.dropped;
  for (const count of tally.skipped.values()) events += count;
  return events;
}

/** The keys with the highest counts, the rest in `other`; the sum stays. Ties go by key. */
function capMap(map: CountMap, keysMax: number): CountMap {
  const named = [...map].filter(([key]) => key !== OTHER);
  if (named.length <= keysMax) return map;
  named.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const kept = new Map(named.slice(0, keysMax));
  add(kept, OTHER, map.get(OTHER) ?? 0);
  for (const [, count] of named.slice(keysMax)) add(kept, OTHER, count);
  return kept;
}

/**
 * Bounds a tally for storage: the most viewed keys stay, the rest is `other`, the sums do not change.
 *
 * @param tally The tally; left as it is.
 * @param keysMax Keys kept in each of paths and referrers.
 * @returns A tally of at most `keysMax` paths and referrers and `other`.
 */
export function capTally(tally: Tally, keysMax: number = KEYS_MAX): Tally {
  return {
    ...tally,
    paths: capMap(tally.paths, keysMax),
    refs: capMap(tally.refs, keysMax),
  };
}

/**
 * Turns a tally into plain counts.
 *
 * @param tally The tally.
 * @returns What is stored and reported.
 */
export function countsOf(tally: Tally): DayCounts {
  return {
    total: tally.total,
    paths: Object.fromEntries(tally.paths),
    refs: Object.fromEntries(tally.refs),
    kinds: Object.fromEntries(tally.kinds),
    skipped: Object.fromEntries(tally.skipped),
    dropped: tally.dropped,
  };
}

/** Whether a value is a whole number of at least 0. */
export function isCount(value: unknown): value is number {
  return isAmount(value) && Number.isSafeInteger(value);
}

/** Whether a value is a number of at least 0. */
export function isAmount(value: unknown): value is number {
  return Number.isFinite(value) && Number(value) >= 0;
}

/** Reads counts from foreign data; `undefined` where they are none. */
function parseMap(value: unknown): CountMap | undefined {
  if (value === undefined) return new Map();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value as Counts);
  return entries.every(([, count]) => isCount(count)) ? new Map(entries) : undefined;
}

/**
 * Reads plain counts. Never throws.
 *
 * Values that the article's counter stored (`{ total, paths, refs }`) are read as they are.
 *
 * @param value What was stored, already parsed as JSON.
 * @returns The tally, or `undefined` where the value is damaged.
 */
export function parseTally(value: unknown): Tally | undefined {
  const given: Partial<Record<keyof DayCounts, unknown>> = Object(value);
  const { total, dropped = 0 } = given;
  const [paths, refs, kinds, skipped] = MAPS.map((name) => parseMap(given[name]));
  return isCount(total) && isCount(dropped) && paths && refs && kinds && skipped
    ? { total, dropped, paths, refs, kinds, skipped }
    : undefined;
}

/**
 * Parses JSON text. Never throws.
 *
 * @param text The text, or `null` for none.
 * @returns The value, or `undefined` where the text is no JSON.
 */
export function parseJson(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
