/**
 * The rules that the site's own Worker counts by, for the scripts that say what it would count.
 *
 * @module
 */
import type { ClassifyOptions } from "../lib/views/classify.ts";
import { rulesOf } from "../lib/worker/rules.ts";
import { readConfig } from "./_config.ts";

/** A browser's user agent, for requests that are to pass for a person's. */
export const BROWSER =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

/** The rules in `wrangler.toml`, and the zone whose days are counted. */
export interface SiteRules {
  /** What counts. */
  readonly rules: ClassifyOptions;
  /** The zone. */
  readonly timeZone: string;
}

/**
 * Reads the rules from the `[vars]` of `wrangler.toml`; the defaults where there is none.
 *
 * @returns The rules.
 */
export async function readSiteRules(): Promise<SiteRules> {
  const config = await readConfig().catch(() => undefined);
  const vars = config?.vars ?? {};
  const rules = rulesOf(
    vars,
    (error) => console.error(error instanceof Error ? error.message : error),
  );
  const timeZone = typeof vars.TIME_ZONE === "string" ? vars.TIME_ZONE : "UTC";
  return { rules, timeZone };
}
