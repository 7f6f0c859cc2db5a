/**
 * Decides from `wrangler.toml` what a deployment is made of. Pure: reads and changes nothing.
 *
 * @module
 */
import type { WranglerConfig } from "../_config.ts";

/** Something of the account that must be there before the Worker is uploaded. */
export interface Resource {
  /** What it is. */
  readonly kind: "KV namespace" | "D1 database";
  /** What the Worker calls it. */
  readonly binding: string;
  /** What the account calls it. */
  readonly title: string;
}

/** What will be deployed. */
export interface Plan {
  /** The Worker's name. */
  readonly name: string;
  /** The configuration that wrangler gets, once the resources' ids are in it. */
  readonly config: WranglerConfig;
  /** What is found by name, or created. */
  readonly resources: readonly Resource[];
  /** Secrets that must be set before. */
  readonly secrets: readonly string[];
}

/** What the command line chooses. */
export interface PlanOptions {
  /** An environment of `wrangler.toml`. */
  readonly env?: string | undefined;
  /** The Worker's name, instead of the configured one. */
  readonly name?: string | undefined;
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const CRONS_MAX = 5;

/**
 * Plans a deployment.
 *
 * An environment takes over what it does not set itself; its Worker, its namespace and its database
 * carry its name, so that two environments never share data by accident.
 *
 * @param config What `wrangler.toml` says.
 * @param options Environment and name.
 * @returns The plan.
 * @throws {RangeError} If there is no such environment.
 */
export function makePlan(config: WranglerConfig, { env, name }: PlanOptions = {}): Plan {
  const { env: environments = {}, ...base } = config;
  const section = env === undefined ? {} : environments[env];
  if (!section) {
    throw new RangeError(
      `There is no environment "${env}" in wrangler.toml: add [env.${env}], which may be empty`,
    );
  }
  const suffix = env === undefined ? "" : `-${env}`;
  const worker = name ?? section.name ?? base.name + suffix;
  const merged: WranglerConfig = { ...base, ...section, name: worker };
  const resources: Resource[] = [
    ...(merged.kv_namespaces ?? []).filter(({ id }) => !id).map(({ binding }): Resource => ({
      kind: "KV namespace",
      binding,
      title: `${worker}-${dashed(binding)}`,
    })),
    ...(merged.d1_databases ?? []).filter(({ database_id }) => !database_id).map(
      ({ binding, database_name }): Resource => ({
        kind: "D1 database",
        binding,
        title: section.d1_databases && database_name
          ? database_name
          : `${worker}-${dashed(binding)}`,
      }),
    ),
  ];
  return { name: worker, config: merged, resources, secrets: merged.secrets?.required ?? [] };
}

/** A binding's name as part of a resource's, the way wrangler does it. */
function dashed(binding: string): string {
  return binding.toLowerCase().replaceAll("_", "-");
}

/**
 * What is wrong with a plan.
 *
 * @param plan The plan.
 * @param built The built module's exports.
 * @param today The current day in UTC, `YYYY-MM-DD`.
 * @returns One sentence a problem, each with what to do.
 */
export function problemsOf(
  { name, config }: Plan,
  built: readonly string[],
  today: string,
): string[] {
  const problems: string[] = [];
  if (!NAME.test(name)) {
    problems.push(
      `The name "${name}" does not work: up to 63 lower-case letters, digits and dashes are wanted`,
    );
  }
  const date = config.compatibility_date;
  if (!DATE.test(date) || Number.isNaN(Date.parse(date))) {
    problems.push(`compatibility_date "${date}" is no date: the form YYYY-MM-DD is wanted`);
  } else if (date > today) {
    problems.push(`compatibility_date ${date} lies in the future: use ${today} or a day before`);
  }
  const bindings = bindingsOf(config);
  for (const [wanted, where] of [["KV", "kv_namespaces"], ["ASSETS", "assets"]] as const) {
    if (!bindings.includes(wanted)) {
      problems.push(`There is no binding named ${wanted}: restore it under [${where}]`);
    }
  }
  const twice = bindings.find((binding, index) => bindings.indexOf(binding) !== index);
  if (twice !== undefined) problems.push(`The binding ${twice} is there twice: rename one`);
  const classes = new Set(config.migrations?.flatMap((step) => step.new_sqlite_classes ?? []));
  for (const { name: binding, class_name } of config.durable_objects?.bindings ?? []) {
    if (!classes.has(class_name)) {
      problems.push(`${binding} has no migration: name ${class_name} in a new_sqlite_classes`);
    }
    if (!built.includes(class_name)) {
      problems.push(`${binding} needs the class ${class_name}, which the Worker does not export`);
    }
  }
  const crons = config.triggers?.crons?.length ?? 0;
  if (crons > CRONS_MAX) problems.push(`${crons} crons are too many: at most ${CRONS_MAX} work`);
  return problems;
}

/** All names that the Worker finds in its environment. */
function bindingsOf(config: WranglerConfig): string[] {
  return [
    ...(config.kv_namespaces ?? []).map(({ binding }) => binding),
    ...(config.d1_databases ?? []).map(({ binding }) => binding),
    ...(config.analytics_engine_datasets ?? []).map(({ binding }) => binding),
    ...(config.durable_objects?.bindings ?? []).map(({ name }) => name),
    ...(config.ratelimits ?? []).map(({ name }) => name),
    ...config.assets?.binding ? [config.assets.binding] : [],
    ...Object.keys(config.vars ?? {}),
    ...config.secrets?.required ?? [],
  ];
}

/**
 * The configuration for wrangler: ids filled in, paths as seen from the folder it is written to.
 *
 * @param plan The plan.
 * @param ids Ids of the resources, by binding.
 * @param root The repository as seen from that folder, for example `..`.
 * @returns What to write as JSON.
 */
export function generateConfig(
  { config }: Plan,
  ids: ReadonlyMap<string, string>,
  root: string,
): Record<string, unknown> {
  return {
    ...config,
    main: "worker.js",
    no_bundle: true,
    find_additional_modules: false,
    kv_namespaces: config.kv_namespaces?.map((item) => ({
      ...item,
      ...ids.has(item.binding) ? { id: ids.get(item.binding) } : {},
    })),
    d1_databases: config.d1_databases?.map((item) => ({
      ...item,
      ...ids.has(item.binding) ? { database_id: ids.get(item.binding) } : {},
    })),
    ...config.assets
      ? { assets: { ...config.assets, directory: `${root}/${config.assets.directory}` } }
      : {},
  };
}
