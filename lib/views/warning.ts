/**
 * Says when a day looks automated.
 *
 * @example
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

import { OTHER } from "./tally.ts";
import type { DayCounts, TrafficWarning } from "./types.ts";

export type { Counts, DayCounts, TrafficWarning } from "./types.ts";

/** Fewer views than these say nothing. */
const VIEWS_MIN = 20;

/** A share of views from which on it is a sign. */
const DIRECT_MIN = 0.9;
const UNVERIFIED_MIN = 0.8;
const NOT_FOUND_MIN = 0.5;
const INTERNAL_MAX = 0.01;
const DISTINCT_MIN = 0.5;
const ONE_PAGE_MIN = 0.9;
/** How many signs have to come together; fewer where there are many views of unknown kinds. */
const SIGNS_MIN = 3;
const UNKNOWN_SIGNS_MIN = 2;
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
  if (!(total >= VIEWS_MIN)) return null;
  const unverified = kinds.unverified ?? 0;
  const known = unverified + (kinds.browser ?? 0);
  const direct = refs.direct ?? 0;
  const internal = refs.internal ?? 0;
  const notFound = skipped.notFound ?? 0;
  const distinct = Object.keys(paths).filter((path) => path !== OTHER).length;
  const most = Math.max(0, ...Object.values(paths));
  const isKnown = known >= total / 2;
  if (isKnown && unverified < known * UNVERIFIED_MIN) return null;
  if (direct < total * DIRECT_MIN) return null;

  const reasons = [`${direct} of ${total} views came without a referrer.`];
  if (isKnown) {
    reasons.push(`${unverified} of ${known} views lacked the headers of a browser's navigation.`);
  }
  if (internal <= total * INTERNAL_MAX) {
    reasons.push(`${internal} of ${total} views went on from another page of the site.`);
  }
  if (notFound >= (total + notFound) * NOT_FOUND_MIN) {
    reasons.push(`${notFound} more requests were for pages that do not exist.`);
  }
  if (distinct >= total * DISTINCT_MIN) {
    reasons.push(`${total} views touched ${distinct} different pages, each about once.`);
  } else if (most >= total * ONE_PAGE_MIN) {
    reasons.push(`${most} of ${total} views were of one page.`);
  }
  const wanted = isKnown || total < UNKNOWN_VIEWS_MIN ? SIGNS_MIN : UNKNOWN_SIGNS_MIN;
  if (reasons.length < wanted) return null;
  return {
    code: "automated",
    message: "This day looks automated: take its total as an upper bound.",
    reasons,
    innocent:
      "A link opened from an app, a mailing or a browser that hides what it sends looks the same.",
  };
}
