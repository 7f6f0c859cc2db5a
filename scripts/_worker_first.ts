/**
 * Says what `run_worker_first` in `wrangler.toml` means for a path.
 *
 * @module
 */

/** What the setting says of one path. */
export interface Routing {
  /** Whether the Worker is asked before the assets are. */
  readonly worker: boolean;
  /** The rule that decides; `undefined` where none does. */
  readonly rule?: string;
}

/**
 * Applies the setting to a path. A rule that begins with `!` wins over all others.
 *
 * @param setting The setting, `undefined` where it is not set.
 * @param path The path.
 * @returns Whether the Worker comes first, and by which rule.
 */
export function routingOf(setting: boolean | readonly string[] | undefined, path: string): Routing {
  if (setting === undefined || typeof setting === "boolean") {
    return setting === undefined ? { worker: false } : { worker: setting, rule: String(setting) };
  }
  const not = setting.find((rule) => rule.startsWith("!") && matches(rule.slice(1), path));
  if (not !== undefined) return { worker: false, rule: not };
  const yes = setting.find((rule) => !rule.startsWith("!") && matches(rule, path));
  return yes === undefined ? { worker: false } : { worker: true, rule: yes };
}

function matches(rule: string, path: string): boolean {
  const source = rule.split("*").map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&")).join(
    ".*",
  );
  return new RegExp(`^${source}$`, "s").test(path);
}

/**
 * The change that brings pages to the Worker.
 *
 * @param setting The setting as it is.
 * @param paths The pages' paths.
 * @returns The setting as it should be, as TOML with comments; empty where nothing has to change.
 */
export function advise(
  setting: boolean | readonly string[] | undefined,
  paths: readonly string[],
): string {
  const missed = paths.filter((path) => !routingOf(setting, path).worker);
  if (missed.length === 0) return "";
  if (setting === undefined || typeof setting === "boolean") {
    return 'run_worker_first = ["/*"]   # and "!/images/*" and the like for what is no page';
  }
  const blocking = new Set(missed.flatMap((path) => routingOf(setting, path).rule ?? []));
  const kept = setting.filter((rule) => !blocking.has(rule));
  const added = missed.filter((path) => !routingOf(kept, path).worker);
  const lines = [
    ...[...blocking].map((rule) =>
      `  # ${JSON.stringify(rule)} is gone: it kept pages from the Worker`
    ),
    ...added.map((path) => `  ${JSON.stringify(path)},   # new`),
    ...kept.map((rule) => `  ${JSON.stringify(rule)},`),
  ];
  return ["run_worker_first = [", ...lines, "]"].join("\n");
}
