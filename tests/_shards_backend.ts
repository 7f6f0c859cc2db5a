// What several isolates share: one KV with stale reads behind the real binding, and a cache for each data
// center behind the real Cache API. A control request tells what KV really holds.
import { serveKv } from "../lib/kv/kv_server.ts";
import { KvWorld } from "../lib/kv/kv_world.ts";

const caches = new Map<string, string>();
let world: KvWorld | undefined;

/** The Cache API sends `PUT` with a whole response as text, and `GET` for what it wants back. */
async function serveCache(request: Request, center: string): Promise<Response> {
  const key = `${center} ${new URL(request.url).pathname}`;
  if (request.method === "PUT") {
    const text = await request.text();
    caches.set(key, text.slice(text.indexOf("\r\n\r\n") + 4));
    return new Response(null, { status: 204 });
  }
  const found = caches.get(key);
  return found === undefined
    ? new Response(null, { status: 504, headers: { "cf-cache-status": "MISS" } })
    : new Response(found, {
      headers: { "cf-cache-status": "HIT", "cache-control": "public, max-age=259200" },
    });
}

export default {
  async fetch(request: Request): Promise<Response> {
    world ??= new KvWorld({ seed: 5, now: Date.now });
    const center = request.headers.get("x-center") ?? "";
    if (request.headers.has("x-cache")) return await serveCache(request, center);
    if (request.headers.has("x-kv")) return await serveKv(world.location(center).backend, request);
    return Response.json({
      values: Object.fromEntries(world.central()),
      operations: world.operations,
      caches: caches.size,
    });
  },
};
