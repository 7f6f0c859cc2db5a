/**
 * The rules for what counts, as the Worker's settings say them.
 *
 * @module
 */

import type { ClassifyOptions } from "../views/classify.ts";
import { createPathTemplates } from "../views/paths.ts";
import type { Env } from "./env.ts";

/**
 * Reads the rules. What cannot be used is reported and left out: it must not take the site down.
 *
 * @param env The settings.
 * @param report Told of what cannot be used.
 * @returns The rules.
 */
export function rulesOf(
  env: Env,
  report: (error: unknown) => void,
): ClassifyOptions & { readonly pathTemplates: readonly string[] } {
  const pathTemplates = listOf(env.PATH_TEMPLATES).filter((template) => {
    try {
      return createPathTemplates([template]);
    } catch (error) {
      report(error);
      return false;
    }
  });
  return {
    pathTemplates,
    queryParams: listOf(env.QUERY_PARAMS),
    keepCase: isOn(env.KEEP_CASE),
    keepUnicode: isOn(env.KEEP_UNICODE),
    groupReferrers: isOn(env.GROUP_REFERRERS ?? "1"),
    ownHosts: listOf(env.OWN_HOSTS),
    sources: listOf(env.SOURCES),
    spamReferrers: listOf(env.SPAM_REFERRERS),
  };
}

/**
 * Whether a setting is on.
 *
 * @param value The setting.
 * @returns `true` for `1`, `"1"`, `true` and `"true"` in any case.
 */
export function isOn(value: unknown): boolean {
  return /^(?:1|true)$/i.test(String(value));
}

function listOf(value: unknown): string[] {
  return String(value ?? "").split(",").map((item) => item.trim()).filter(Boolean);
}
