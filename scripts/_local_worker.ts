/**
 * Says in Miniflare's words what `wrangler.toml` says, so that dev runs what deploy deploys.
 *
 * @module
 */
import type { MiniflareOptions } from "miniflare";
import type { WranglerConfig } from "./_config.ts";
import { ROOT } from "./_paths.ts";

/** What dev adds to the configuration. */
export interface LocalOptions {
  /** The Worker's module. */
  readonly code: string;
  /** The port on 127.0.0.1; 0 lets the system choose. */
  readonly port: number;
  /** The folder that stored data is kept in. */
  readonly stateFolder: string;
  /** Secrets and variables of this machine only. */
  readonly vars?: Readonly<Record<string, string>>;
}

/** Splits `run_worker_first` into what the Worker answers and what the assets do. */
function routing(first: boolean | readonly string[] | undefined) {
  if (first === undefined || typeof first === "boolean") {
    return { invoke_user_worker_ahead_of_assets: first ?? false, has_user_worker: true };
  }
  const assetRules = first.filter((rule) => rule.startsWith("!")).map((rule) => rule.slice(1));
  return {
    has_user_worker: true,
    static_routing: {
      user_worker: first.filter((rule) => !rule.startsWith("!")),
      ...assetRules.length > 0 ? { asset_worker: assetRules } : {},
    },
  };
}

/**
 * Miniflare's options for a configuration.
 *
 * @param config What `wrangler.toml` says.
 * @param options Code, port and folder.
 * @returns The options.
 */
export function localWorker(
  config: WranglerConfig,
  { code, port, stateFolder, vars = {} }: LocalOptions,
): MiniflareOptions {
  const { assets } = config;
  const sqlite = new Set(config.migrations?.flatMap((step) => step.new_sqlite_classes ?? []));
  return {
    name: config.name,
    host: "127.0.0.1",
    port,
    modules: [{ type: "ESModule", path: "worker.js", contents: code }],
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags ?? [],
    defaultPersistRoot: stateFolder,
    cf: false,
    unsafeTriggerHandlers: true,
    bindings: { ...config.vars as Record<string, string>, ...vars },
    kvNamespaces: named(config.kv_namespaces, ({ binding }) => [binding, binding]),
    d1Databases: named(config.d1_databases, ({ binding }) => [binding, binding]),
    durableObjects: named(config.durable_objects?.bindings, ({ name, class_name: className }) => [
      name,
      { className, useSQLite: sqlite.has(className) },
    ]),
    analyticsEngineDatasets: named(
      config.analytics_engine_datasets,
      ({ binding, dataset = binding }) => [binding, { dataset }],
    ),
    ratelimits: named(config.ratelimits, ({ name, simple }) => [name, { simple }]),
    ...assets
      ? {
        assets: {
          directory: ROOT + assets.directory,
          ...assets.binding === undefined ? {} : { binding: assets.binding },
          routerConfig: routing(assets.run_worker_first),
          assetConfig: {
            html_handling: assets.html_handling ?? "auto-trailing-slash",
            not_found_handling: assets.not_found_handling ?? "none",
          },
        },
      }
      : {},
  };
}

/** A record of bindings by name. */
function named<T, V>(
  items: readonly T[] | undefined,
  entry: (item: T) => readonly [string, V],
): Record<string, V> {
  return Object.fromEntries((items ?? []).map(entry));
}
