/**
 * The other end of the real binding: answers the requests that workerd's KV binding sends, from a fake.
 *
 * In workerd's configuration a `kvNamespace` binding may point at a service. Let that service be a Worker
 * that calls {@linkcode serveKv}, and the genuine binding runs on a `MemoryKv` or on a location of a
 * `KvWorld`. The protocol is what workerd and Miniflare speak in 2026; it is not documented.
 *
 * @example A Worker to point a binding at
 * ```ts
 * import { serveKv } from "@scrimp/kv/kv-server";
 * import { KvWorld } from "@scrimp/kv/kv-world";
 * import { assertEquals } from "@std/assert";
 *
 * const world = new KvWorld({ seed: 1, sameKeyWrites: "throw" });
 * const backend = {
 *   fetch: (request: Request) => serveKv(world.location("LHR").backend, request),
 * };
 *
 * const put = () => new Request("http://kv/motto?urlencoded=true", { method: "PUT", body: "waste not" });
 * assertEquals((await backend.fetch(put())).status, 200);
 * assertEquals((await backend.fetch(put())).statusText, "Too Many Requests");
 * const found = await backend.fetch(new Request("http://kv/motto?urlencoded=true"));
 * assertEquals(await found.text(), "waste not");
 * ```
 *
 * @module
 */

import { type KvBackend, KvFailure, type KvFound } from "./_backend.ts";
import { bulkKeys, bytesOf, decodeBulk } from "./_binding_values.ts";

export { type KvBackend, KvFailure, type KvFound, type KvListing } from "./_backend.ts";

/** What the binding sends for a bulk read. */
interface BulkRequest {
  readonly keys: readonly string[];
  readonly type?: string;
  readonly withMetadata?: boolean;
  readonly cacheTtl?: string;
}

/**
 * Answers one request of a KV binding.
 *
 * @param backend The store: the `backend` of a `MemoryKv` or of a location of a `KvWorld`.
 * @param request What the binding sent.
 * @returns The answer. A {@linkcode KvFailure} becomes its status and text.
 * @throws What the store throws besides, for example `Network connection lost.`; the binding then
 * fails, too.
 */
export async function serveKv(backend: KvBackend, request: Request): Promise<Response> {
  try {
    const url = new URL(request.url);
    if (request.method === "POST") return await readMany(backend, request);
    if (url.pathname === "/") return await list(backend, url.searchParams);
    // An answer before the whole value has come would leave the binding waiting.
    const value = new Uint8Array(await request.arrayBuffer());
    return await single(backend, request.method, nameOf(url), value, request.headers, url);
  } catch (error) {
    if (!(error instanceof KvFailure)) throw error;
    const { status, statusText } = error;
    return new Response(statusText, { status, statusText });
  }
}

async function single(
  backend: KvBackend,
  method: string,
  name: string,
  value: Uint8Array<ArrayBuffer>,
  headers: Headers,
  { searchParams }: URL,
): Promise<Response> {
  if (method === "GET") return found(await backend.get(name, numberOf(searchParams, "cache_ttl")));
  if (method === "DELETE") await backend.delete(name);
  else if (method === "PUT") {
    const metadata = headers.get("cf-kv-metadata") ?? undefined;
    const expiration = numberOf(searchParams, "expiration");
    const expirationTtl = numberOf(searchParams, "expiration_ttl");
    await backend.put(name, value, expiration, expirationTtl, metadata);
  } else throw new KvFailure(405, "Method Not Allowed");
  return new Response(null);
}

function found(entry: KvFound | null): Response {
  if (entry === null) return new Response(null, { status: 404, statusText: "Not Found" });
  const headers = new Headers();
  if (entry.metadata !== undefined) headers.set("CF-KV-Metadata", entry.metadata);
  if (entry.expiration !== undefined) headers.set("CF-Expiration", String(entry.expiration));
  if (entry.cacheStatus !== undefined) headers.set("CF-Cache-Status", entry.cacheStatus);
  return new Response(bytesOf(entry.value), { headers });
}

async function list(backend: KvBackend, options: URLSearchParams): Promise<Response> {
  const limit = numberOf(options, "key_count_limit");
  const { keys, complete, cursor, cacheStatus } = await backend.list(
    options.get("prefix") ?? "",
    limit,
    options.get("cursor") ?? undefined,
  );
  const headers = new Headers();
  if (cacheStatus !== undefined) headers.set("CF-Cache-Status", cacheStatus);
  return Response.json({ keys, list_complete: complete, cursor }, { headers });
}

async function readMany(backend: KvBackend, request: Request): Promise<Response> {
  const { keys, type = "text", withMetadata, cacheTtl } = await request.json() as BulkRequest;
  const { names, failure } = bulkKeys(keys, type);
  if (failure !== undefined) throw failure;
  const entries = await backend.getBulk(
    names,
    cacheTtl === undefined ? undefined : Number(cacheTtl),
  );
  const values = decodeBulk(names, entries, type, withMetadata ? "entries" : "values");
  return Response.json(Object.fromEntries(values));
}

function nameOf(url: URL): string {
  const encoded = url.pathname.slice(1);
  if (url.searchParams.get("urlencoded") !== "true") return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new KvFailure(400, "Could not URL-decode key name");
  }
}

function numberOf(options: URLSearchParams, name: string): number | undefined {
  const text = options.get(name);
  return text === null ? undefined : Number(text);
}
