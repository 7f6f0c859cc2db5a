/**
 * Says when a day looks automated.
 *
 * Several signs have to come together in a day of some size; one of them alone never warns. The warning
 * names its signs and the innocent explanation, and changes no number. A pure function.
 *
 * @example A day of visits that no browser made
 * ```ts
 * import { trafficWarning } from "@scrimp/kv/warning";
 * import { assertEquals } from "@std/assert";
 *
 * const warning = trafficWarning({
 *   total: 24,
 *   paths: { "/": 24 },
 *   refs: { direct: 24 },
 *   kinds: { unverified: 24 },
 *   skipped: {},
 *   dropped: 0,
 * });
 * assertEquals(warning?.code, "automated");
 * ```
 *
 * @module
 */

import type { DayCounts, TrafficWarning } from "./types.ts";

export type { Counts, DayCounts, TrafficWarning } from "./types.ts";

/** Fewer views than these say nothing. */
const VIEWS_MIN = 20;

/** With unknown kinds, fewer signs do where there are as many views. */
const UNKNOWN_VIEWS_MIN = 1000;

/**
 * Whether a day looks automated, from several signs together: views without a referrer, without the
 * headers of a navigation, requests for what does not exist, nobody who goes on to a second page, one
 * page only or each page about once. No sign is enough by itself, and a day whose views mostly come
 * from verifiable browsers never is one. Where the kinds of views are not known, as in counts stored
 * before they were told apart, the other signs have to do.
 *
 * Pure; costs no KV operation.
 *
 * @param day The day's counts.
 * @returns The warning, or `null` where there is none or too few views to say.
 */
export function trafficWarning(day: DayCounts): TrafficWarning | null {
  const { total, paths, refs, kinds, skipped } = day;
  const { direct = 0, internal = 0 } = refs;
  const { browser = 0, unverified = 0 } = kinds;
  const { notFound = 0 } = skipped;
  const known = browser + unverified;
  const isKnown = known >= total / 2;
  if (!(total >= VIEWS_MIN && direct >= total * 0.9) || isKnown && unverified < known * 0.8) {
    return null;
  }
  const distinct = Object.keys(paths).length;
  const most = Math.max(...Object.values(paths));
  const reasons = [`${direct} of ${total} views came without a referrer.`];
  if (isKnown) reasons.push(`${unverified} of ${known} lacked the headers of a navigation.`);
  if (internal <= total / 100) reasons.push(`${internal} went on to another page.`);
  if (notFound >= total) reasons.push(`${notFound} more were for pages that do not exist.`);
  if (distinct >= total / 2) {
    reasons.push(`${distinct} different pages were viewed, each about once.`);
  } else if (most >= total * 0.9) reasons.push(`${most} were of one page.`);
  if (reasons.length < (isKnown || total < UNKNOWN_VIEWS_MIN ? 3 : 2)) return null;
  return {
    code: "automated",
    message: "This day looks automated: take its total as an upper bound.",
    reasons,
    innocent: "Visits from an app, a mailing or a browser that hides what it sends look the same.",
  };
}
