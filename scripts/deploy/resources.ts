/**
 * Finds what the Worker stores in, and creates it when it is not there. Never a second one.
 *
 * @module
 */
import { DeployError, explain } from "./failures.ts";
import type { Plan, Resource } from "./plan.ts";
import { jsonIn, type Wrangler } from "./wrangler.ts";

/** How a resource was come by. */
export interface Settled {
  /** Its id. */
  readonly id: string;
  /** What was done, for a person. */
  readonly how: "found" | "found on the deployed Worker" | "created";
}

/** What differs between the kinds of resources. */
interface Kind {
  readonly list: readonly string[];
  readonly create: readonly string[];
  /** The type that a deployed Worker's binding has, and where its id is. */
  readonly bound: { readonly type: string; readonly id: string };
  readonly title: string;
  readonly id: string;
}

const KINDS: Readonly<Record<Resource["kind"], Kind>> = {
  "KV namespace": {
    list: ["kv", "namespace", "list"],
    create: ["kv", "namespace", "create"],
    bound: { type: "kv_namespace", id: "namespace_id" },
    title: "title",
    id: "id",
  },
  "D1 database": {
    list: ["d1", "list", "--json"],
    create: ["d1", "create"],
    bound: { type: "d1", id: "id" },
    title: "name",
    id: "uuid",
  },
};

/**
 * Finds a resource by its title, then on the deployed Worker (someone may have renamed it), and
 * creates it at last. A creation that fails because the title is taken means that another run was
 * faster: its resource is used.
 *
 * @param wrangler Runs wrangler.
 * @param plan What is being deployed.
 * @param resource What to find.
 * @param version The version that is deployed, if any.
 * @returns Its id, and how it was come by.
 * @throws {DeployError} If it can be neither found nor created.
 */
export async function settle(
  wrangler: Wrangler,
  plan: Plan,
  resource: Resource,
  version: string | undefined,
): Promise<Settled> {
  const { kind, title } = resource;
  const found = await findByTitle(wrangler, resource);
  if (found !== undefined) return { id: found, how: "found" };
  const bound = version && await findOnWorker(wrangler, plan, resource, version);
  if (bound) return { id: bound, how: "found on the deployed Worker" };
  const made = await wrangler.attempt([...KINDS[kind].create, title]);
  const id = idIn(made.stdout) ?? await findByTitle(wrangler, resource);
  if (id !== undefined) return { id, how: made.code === 0 ? "created" : "found" };
  if (made.code !== 0) throw explain(`create the ${kind} "${title}"`, made.output);
  throw new DeployError(
    `The ${kind} "${title}" was created, but is not listed yet`,
    "In a minute, run the same command again: it will be found by its name",
  );
}

/** The id of the resource with that title. */
async function findByTitle(
  wrangler: Wrangler,
  { kind, title }: Resource,
): Promise<string | undefined> {
  const { list, title: titleField, id } = KINDS[kind];
  const items = jsonIn(await wrangler.run(`list what is there of the kind ${kind}`, list));
  if (!Array.isArray(items)) {
    throw new DeployError(
      `Cannot read wrangler's list of each ${kind}`,
      "Use the version of wrangler that deno.json names",
    );
  }
  return items.find((item) => item?.[titleField] === title)?.[id];
}

/** The id that the deployed Worker has under the binding's name. */
async function findOnWorker(
  wrangler: Wrangler,
  { name }: Plan,
  { kind, binding }: Resource,
  version: string,
): Promise<string | undefined> {
  const view = jsonIn(
    await wrangler.run(`look at version ${version} of ${name}`, [
      "versions",
      "view",
      version,
      "--name",
      name,
      "--json",
    ]),
  ) as { resources?: { bindings?: Record<string, string>[] } } | undefined;
  const { bound } = KINDS[kind];
  return view?.resources?.bindings?.find((item) =>
    item.type === bound.type && item.name === binding
  )?.[bound.id];
}

/**
 * The version that is deployed now.
 *
 * @param wrangler Runs wrangler.
 * @param name The Worker's name.
 * @returns The version's id; `undefined` when there is no such Worker yet.
 * @throws {DeployError} If that cannot be told.
 */
export async function deployedVersion(
  wrangler: Wrangler,
  name: string,
): Promise<string | undefined> {
  const { code, output, stdout } = await wrangler.attempt([
    "deployments",
    "status",
    "--name",
    name,
    "--json",
  ]);
  if (code !== 0) {
    if (/code: 10007\]|not found|no deployments/i.test(output)) return undefined;
    throw explain(`look for the Worker "${name}"`, output);
  }
  const status = jsonIn(stdout) as { versions?: { version_id: string }[] } | undefined;
  return status?.versions?.[0]?.version_id;
}

/**
 * The secrets that are wanted and not set.
 *
 * @param wrangler Runs wrangler.
 * @param plan What is being deployed.
 * @param exists Whether the Worker is there already.
 * @returns Their names.
 */
export async function missingSecrets(
  wrangler: Wrangler,
  { name, secrets }: Plan,
  { exists }: { readonly exists: boolean },
): Promise<string[]> {
  if (secrets.length === 0 || !exists) return [...secrets];
  const listed = jsonIn(
    await wrangler.run("list the secrets", ["secret", "list", "--name", name, "--format", "json"]),
  );
  const names = new Set(Array.isArray(listed) ? listed.map((item) => item?.name) : []);
  return secrets.filter((secret) => !names.has(secret));
}

/** The id in wrangler's snippet of configuration. */
function idIn(text: string): string | undefined {
  return text.match(/"?(?:database_)?id"?\s*[=:]\s*"([\da-f-]{32,36})"/)?.[1];
}
