/** What a search becomes before it is counted: pure functions. */

import { asArray, asRecord, isCount } from "./_common.ts";
import { clipBytes } from "./trim_turns.ts";

/** Characters of a query that are looked at; also bounds the work that one can cause. */
const QUERY_CHARS_MAX = 2_000;
const TERM_CHARS_MAX = 64;
const TERM_BYTES_MAX = 128;

const BREAKS = /[\t-\r\x85\u2028\u2029]/g;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}]/gu;
const MAIL =
  /[^\s@]@[^\s@]|@\s*\S+\.\p{L}{2}|%40|&#(?:64|x40);|[([{]\s*at\s*[)\]}]| at \S+(?: dot |\.\p{L}{2})/u;
const DATES = /(?<!\S)(?:\d{4}-\d\d-\d\d|(?:19|20)\d\d[-/](?:19|20)?\d\d)(?!\S)/g;
const LONG_NUMBER = /(?:\p{Nd}[^\p{L}\p{Nd}]{0,3}){7}/u;

/** One compatibility form, lower case, nothing invisible, single spaces. Not cut yet. */
export function foldQuery(query: string): string {
  return query.slice(0, QUERY_CHARS_MAX).normalize("NFKC").toLowerCase().normalize("NFKC")
    .replace(BREAKS, " ").replace(INVISIBLE, "").replace(/\s+/g, " ").trim();
}

/** The first 64 characters and 128 bytes, never part of a character. */
export function clipTerm(term: string): string {
  const chars = Array.from(term).slice(0, TERM_CHARS_MAX).join("");
  return clipBytes(chars, TERM_BYTES_MAX).trim();
}

/**
 * Makes one term of a query's variants: compatibility forms (full width, ligatures), case, control
 * and bidirectional characters and spaces no longer matter; 64 characters and 128 bytes are kept.
 *
 * @param query What was typed.
 * @returns The term; empty where nothing is left.
 */
export function normalizeQuery(query: string): string {
  return clipTerm(foldQuery(query));
}

/**
 * Withholds what looks like an e-mail address, a phone number or a card number: an `@` between
 * characters and its usual spellings, or seven digits with at most three other characters between
 * two. Dates and spans of years pass.
 *
 * @param query A normalized query.
 * @returns The query, or `undefined` when it must not be stored.
 */
export function redactQuery(query: string): string | undefined {
  const personal = MAIL.test(query) || LONG_NUMBER.test(query.replace(DATES, " "));
  return personal ? undefined : query;
}

/** Counts of one term: how often it was searched, and how often in vain. */
export type TermCount = [count: number, zeroHits: number];

/** Counts of many searches. */
export interface SearchCounts {
  readonly terms: Map<string, TermCount>;
  /** Searches whose terms were too many to keep. */
  other: number;
  /** Searches that were withheld. */
  redacted: number;
}

/** No search at all. */
export function emptyCounts(): SearchCounts {
  return { terms: new Map(), other: 0, redacted: 0 };
}

/** Adds to one term; to `other` when there are too many. */
export function addTerm(
  counts: SearchCounts,
  term: string,
  [count, zeroHits]: Readonly<TermCount>,
  termsMax = Infinity,
): void {
  const known = counts.terms.get(term);
  if (!known && counts.terms.size >= termsMax) {
    counts.other += count;
    return;
  }
  const sum: TermCount = [(known?.[0] ?? 0) + count, (known?.[1] ?? 0) + zeroHits];
  if (sum[0] > 0) counts.terms.set(term, sum);
  else counts.terms.delete(term);
}

/** Adds all counts of `from`. */
export function addCounts(into: SearchCounts, from: SearchCounts): void {
  for (const [term, count] of from.terms) addTerm(into, term, count);
  into.other += from.other;
  into.redacted += from.redacted;
}

/** How many searches were counted. */
export function eventsOf({ terms, other }: SearchCounts): number {
  return [...terms.values()].reduce((sum, [count]) => sum + count, other);
}

/** The stored form, most frequent first. */
export function encodeCounts(
  { terms, other, redacted }: SearchCounts,
  termsMax = Infinity,
): object {
  const sorted = [...terms].sort(([a, x], [b, y]) => y[0] - x[0] || (a < b ? -1 : 1));
  const rest = sorted.slice(termsMax).reduce((sum, [, [count]]) => sum + count, other);
  const kept = sorted.slice(0, termsMax).map(([term, count]) => [term, ...count]);
  return { v: 1, t: kept, o: rest, r: redacted };
}

/** Reads what {@linkcode encodeCounts} made; `undefined` for anything else. Never throws. */
export function parseCounts(value: unknown): SearchCounts | undefined {
  const { v, t, o, r } = asRecord(value) ?? {};
  if (v !== 1 || !Array.isArray(t) || !isCount(o) || !isCount(r)) return undefined;
  const counts = { ...emptyCounts(), other: o, redacted: r };
  for (const entry of t) {
    const [term, count, zero] = asArray(entry);
    if (typeof term !== "string" || !isCount(count) || !isCount(zero)) return undefined;
    addTerm(counts, term, [count, zero]);
  }
  return counts;
}
