/**
 * A loopback stand-in for the part of Cloudflare's API that wrangler uses to deploy, with an account
 * in memory. It also serves what is deployed, as far as a smoke check looks.
 *
 * @module
 */

/** A request as it came. */
export interface Recorded {
  readonly method: string;
  /** The path after `/client/v4`, with the account's id left out. */
  readonly path: string;
  readonly search: URLSearchParams;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
}

/** What a fault answers. */
export interface Fault {
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

/** A Worker of the account. */
export interface StubScript {
  versions: { id: string; metadata: Record<string, unknown>; module: Uint8Array }[];
  secrets: string[];
  crons: string[];
  onSubdomain: boolean;
}

/** The account. */
export interface CloudflareStub extends AsyncDisposable {
  /** The server's address. */
  readonly origin: string;
  readonly accountId: string;
  readonly token: string;
  /** Every API request so far. */
  readonly requests: Recorded[];
  readonly namespaces: { id: string; title: string }[];
  readonly databases: { uuid: string; name: string }[];
  readonly scripts: Map<string, StubScript>;
  /** Answers instead of the account, when it returns something. */
  fault: (request: Recorded) => Fault | undefined;
}

type Handler = (parts: string[], request: Recorded) => Response | Promise<Response>;

/** A successful answer. */
function ok(result: unknown, status = 200): Response {
  const count = Array.isArray(result) ? result.length : 1;
  return Response.json({
    success: true,
    errors: [],
    messages: [],
    result,
    result_info: { page: 1, per_page: 1000, count, total_count: count },
  }, { status });
}

/** A refusal. */
function refuse({ status, code, message }: Fault): Response {
  return Response.json(
    { success: false, errors: [{ code, message }], messages: [], result: null },
    { status },
  );
}

/** A number as an id of 32 hexadecimal digits. */
function idOf(number: number): string {
  return number.toString(16).padStart(32, "0");
}

/** A page of a list; pages after the last are empty. */
function page<T>(items: readonly T[], { search }: Recorded): Response {
  const size = Number(search.get("per_page") ?? 20);
  const start = (Number(search.get("page") ?? 1) - 1) * size;
  return ok(items.slice(start, start + size));
}

/** The parts of an uploaded form. */
async function formOf({ body, headers }: Recorded): Promise<FormData> {
  return await new Response(body, {
    headers: { "content-type": headers.get("content-type") ?? "" },
  })
    .formData();
}

const NO_SCRIPT: Fault = {
  status: 404,
  code: 10007,
  message: "workers.api.error.script_not_found",
};

/** What the account answers, by method and path; `*` is any one part. */
function handlers(stub: CloudflareStub): readonly (readonly [string, Handler])[] {
  let nextId = 1;
  const script = (name = "") => stub.scripts.get(name);
  async function upload([name = ""]: string[], request: Recorded): Promise<Response> {
    const form = await formOf(request);
    const metadata = JSON.parse(String(form.get("metadata")));
    const file = form.get(metadata.main_module);
    const module = file instanceof File ? await file.bytes() : new Uint8Array();
    const number = idOf(nextId++);
    const id = number.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    const known = script(name) ??
      { versions: [], secrets: [], crons: [], onSubdomain: false };
    known.versions.push({ id, metadata, module });
    stub.scripts.set(name, known);
    return ok({
      id,
      deployment_id: number,
      startup_time_ms: 5,
      resources: { script: { etag: "e" } },
    });
  }
  return [
    ["GET storage/kv/namespaces", (_, request) => page(stub.namespaces, request)],
    ["POST storage/kv/namespaces", (_, { body }) => {
      const { title } = JSON.parse(new TextDecoder().decode(body));
      if (stub.namespaces.some((item) => item.title === title)) {
        return refuse({ status: 400, code: 10014, message: "a namespace with this title exists" });
      }
      const namespace = { id: idOf(0xa000 + nextId++), title };
      stub.namespaces.push(namespace);
      return ok(namespace);
    }],
    ["GET d1/database", (_, request) => page(stub.databases, request)],
    ["POST d1/database", (_, { body }) => {
      const { name } = JSON.parse(new TextDecoder().decode(body));
      const database = { uuid: `00000000-0000-0000-0000-${idOf(nextId++).slice(20)}`, name };
      stub.databases.push(database);
      return ok(database);
    }],
    [
      "GET workers/services/*",
      ([name]) =>
        script(name)
          ? ok({
            id: name,
            default_environment: { environment: "production", script: { tag: "t" } },
          })
          : refuse({ ...NO_SCRIPT, code: 10090 }),
    ],
    ["GET workers/scripts/*/secrets", ([name]) => {
      const found = script(name);
      return found
        ? ok(found.secrets.map((secret) => ({ name: secret, type: "secret_text" })))
        : refuse(NO_SCRIPT);
    }],
    ["GET workers/scripts/*/deployments", ([name]) => {
      const last = script(name)?.versions.at(-1);
      return last
        ? ok({
          deployments: [{
            id: last.id,
            source: "wrangler",
            strategy: "percentage",
            author_email: "",
            created_on: new Date(0).toISOString(),
            annotations: {},
            versions: [{ version_id: last.id, percentage: 100 }],
          }],
        })
        : refuse(NO_SCRIPT);
    }],
    ["POST workers/scripts/*/deployments", () => ok({ id: idOf(nextId++) })],
    ["GET workers/scripts/*/versions/*", ([name, id]) => {
      const version = script(name)?.versions.find((item) => item.id === id);
      return version
        ? ok({
          id,
          number: 1,
          metadata: { created_on: new Date(0).toISOString(), source: "wrangler", author_email: "" },
          annotations: {},
          resources: {
            bindings: version.metadata.bindings,
            script: { etag: "e", handlers: ["fetch"], last_deployed_from: "wrangler" },
            script_runtime: { compatibility_date: "2026-07-01", usage_model: "standard" },
          },
        })
        : refuse(NO_SCRIPT);
    }],
    ["GET workers/scripts/*/settings", ([name]) => {
      const last = script(name)?.versions.at(-1);
      return last ? ok({ bindings: last.metadata.bindings, tags: [] }) : refuse(NO_SCRIPT);
    }],
    ["PATCH workers/scripts/*/script-settings", () => ok({})],
    ["GET workers/scripts/*/script-settings", () => ok({ tags: [] })],
    ["POST workers/scripts/*/assets-upload-session", (_, { body }) => {
      const { manifest } = JSON.parse(new TextDecoder().decode(body));
      const hashes = Object.values<{ hash: string }>(manifest).map(({ hash }) => hash);
      return ok({ jwt: "assets", buckets: [hashes] });
    }],
    ["POST workers/assets/upload", () => ok({ jwt: "assets-done" }, 201)],
    ["PUT workers/scripts/*", upload],
    ["POST workers/scripts/*/versions", upload],
    [
      "GET workers/workers/*",
      ([name]) =>
        ok({ id: name, name, subdomain: { enabled: script(name)?.onSubdomain ?? false } }),
    ],
    ["GET workers/subdomain", () => ok({ subdomain: "stub" })],
    [
      "GET workers/scripts/*/subdomain",
      ([name]) => ok({ enabled: script(name)?.onSubdomain ?? false, previews_enabled: true }),
    ],
    ["POST workers/scripts/*/subdomain", ([name], { body }) => {
      const { enabled } = JSON.parse(new TextDecoder().decode(body));
      const found = script(name);
      if (found) found.onSubdomain = enabled;
      return ok({ enabled, previews_enabled: true });
    }],
    ["PUT workers/scripts/*/schedules", ([name], { body }) => {
      const schedules: { cron: string }[] = JSON.parse(new TextDecoder().decode(body));
      const found = script(name);
      if (found) found.crons = schedules.map(({ cron }) => cron);
      return ok({ schedules });
    }],
  ];
}

/** The values of a path's `*`, or `undefined` when the path is another. */
function match(pattern: string, path: string): string[] | undefined {
  const parts = path.split("/");
  const wanted = pattern.split("/");
  if (parts.length !== wanted.length) return undefined;
  if (!wanted.every((part, index) => part === "*" || part === parts[index])) return undefined;
  return parts.filter((_, index) => wanted[index] === "*");
}

/** What the deployed Worker answers. */
function serveDeployed(stub: CloudflareStub, { pathname }: URL): Response {
  if (stub.scripts.size === 0) return new Response("Not there", { status: 404 });
  return pathname === "/api/traffic"
    ? Response.json({ total: 0 })
    : new Response("<!DOCTYPE html>", { headers: { "content-type": "text/html" } });
}

/** Opens an empty account. */
export function openCloudflare(): CloudflareStub {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const accountId = "5c7133b000000000000000000000acc0";
  const stub: CloudflareStub = {
    origin: `http://127.0.0.1:${server.addr.port}`,
    accountId,
    token: "token-that-must-not-be-shown",
    requests: [],
    namespaces: [],
    databases: [],
    scripts: new Map(),
    fault: () => undefined,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  const routes = handlers(stub);

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (!url.pathname.startsWith("/client/v4/")) return serveDeployed(stub, url);
    const recorded: Recorded = {
      method: request.method,
      path: url.pathname.replace("/client/v4/", "").replace(`accounts/${accountId}/`, ""),
      search: url.searchParams,
      body: new Uint8Array(await request.arrayBuffer()),
      headers: request.headers,
    };
    stub.requests.push(recorded);
    const authorization = request.headers.get("authorization");
    if (authorization !== `Bearer ${stub.token}` && authorization !== "Bearer assets") {
      return refuse({ status: 401, code: 10000, message: "Authentication error" });
    }
    const fault = stub.fault(recorded);
    if (fault) return refuse(fault);
    for (const [route, handle] of routes) {
      const [method, pattern = ""] = route.split(" ");
      const parts = method === recorded.method ? match(pattern, recorded.path) : undefined;
      if (parts) return await handle(parts, recorded);
    }
    return refuse({ status: 404, code: 7003, message: `No route for ${recorded.path}` });
  }
  return stub;
}
