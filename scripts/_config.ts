/**
 * Reads `wrangler.toml`: the parts that dev and deploy act on.
 *
 * @module
 */
// deno-lint-ignore-file camelcase
import { parse } from "smol-toml";
import { ROOT } from "./_paths.ts";

/** The parts of a wrangler configuration that Scrimp's scripts read. All else passes through. */
export interface WranglerConfig {
  /** The Worker's name. */
  name: string;
  /** The built module. */
  main: string;
  /** The runtime's behavior on this day, `YYYY-MM-DD`. */
  compatibility_date: string;
  /** Behaviors switched on or off one by one. */
  compatibility_flags?: string[];
  /** KV namespaces. */
  kv_namespaces?: { binding: string; id?: string }[];
  /** The site's files. */
  assets?: {
    binding?: string;
    directory: string;
    html_handling?: "auto-trailing-slash" | "force-trailing-slash" | "drop-trailing-slash" | "none";
    not_found_handling?: "single-page-application" | "404-page" | "none";
    run_worker_first?: boolean | string[];
  };
  /** Scheduled runs. */
  triggers?: { crons?: string[] };
  /** Plain variables. */
  vars?: Record<string, unknown>;
  /** Secrets that must be set. */
  secrets?: { required?: string[] };
  /** Durable Objects. */
  durable_objects?: { bindings?: { name: string; class_name: string }[] };
  /** Durable Object classes as they came and went. */
  migrations?: { tag: string; new_sqlite_classes?: string[] }[];
  /** Analytics Engine datasets. */
  analytics_engine_datasets?: { binding: string; dataset?: string }[];
  /** D1 databases. */
  d1_databases?: { binding: string; database_name?: string; database_id?: string }[];
  /** Rate limiters. */
  ratelimits?: {
    name: string;
    namespace_id: string;
    simple: { limit: number; period: 10 | 60 };
  }[];
  /** Other environments, by name. */
  env?: Record<string, Partial<WranglerConfig>>;
}

/** Where the configuration is. */
export const CONFIG_FILE = "wrangler.toml";

/**
 * Reads a configuration text.
 *
 * @param text TOML.
 * @returns The configuration.
 * @throws {TypeError} If it is not TOML, or lacks what every Worker needs; the message says what.
 */
export function parseConfig(text: string): WranglerConfig {
  let config: Partial<WranglerConfig>;
  try {
    config = parse(text) as Partial<WranglerConfig>;
  } catch (error) {
    throw new TypeError(
      `Cannot read ${CONFIG_FILE}: ${error instanceof Error ? error.message : error}`,
    );
  }
  const { name, main, compatibility_date: date } = config;
  if (typeof name !== "string" || typeof main !== "string" || typeof date !== "string") {
    throw new TypeError(`Cannot use ${CONFIG_FILE}: it needs name, main and compatibility_date`);
  }
  return { ...config, name, main, compatibility_date: date };
}

/**
 * Reads a configuration file.
 *
 * @param path Its path. @default {the repository's wrangler.toml}
 * @returns The configuration.
 */
export async function readConfig(path: string = ROOT + CONFIG_FILE): Promise<WranglerConfig> {
  return parseConfig(await Deno.readTextFile(path));
}

/**
 * Reads variables of the form `NAME=value`, one a line; other lines are skipped.
 *
 * @param text The text of `.dev.vars`.
 * @returns The variables.
 */
export function parseVars(text: string): Record<string, string> {
  const lines = text.matchAll(/^[ \t]*(\w+)[ \t]*=[ \t]*(["']?)(.*?)\2[ \t]*$/gm);
  return Object.fromEntries([...lines].map(([, name = "", , value = ""]) => [name, value]));
}
