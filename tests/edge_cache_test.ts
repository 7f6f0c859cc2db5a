import { assertEquals } from "@std/assert";
import { type CacheLike, defaultEdgeCache, WorkersEdgeCache } from "../lib/views/edge_cache.ts";

/** The Cache API as far as it is used. */
function fakeCache() {
  const kept = new Map<string, Response>();
  const cache: CacheLike = {
    match: (url) => Promise.resolve(kept.get(url)?.clone()),
    put: (url, response) => Promise.resolve(void kept.set(url, response)),
  };
  return { kept, cache };
}

Deno.test("WorkersEdgeCache keeps texts under addresses of its own", async () => {
  const { kept, cache } = fakeCache();
  const edge = new WorkersEdgeCache(cache, "site.example:8080");
  assertEquals(await edge.get("views:2026-11-20"), undefined);
  await edge.set("views:2026-11-20", "text ✓", 60);
  assertEquals(await edge.get("views:2026-11-20"), "text ✓");
  assertEquals([...kept.keys()], ["https://site.example:8080/.scrimp/views%3A2026-11-20"]);
  const [response] = kept.values();
  assertEquals(response?.headers.get("cache-control"), "public, max-age=60");
  await edge.set("../a?b#c", "other", 60);
  assertEquals([...kept.keys()][1], "https://site.example:8080/.scrimp/..%2Fa%3Fb%23c");
});

Deno.test("WorkersEdgeCache keeps hosts apart", async () => {
  const { cache } = fakeCache();
  await new WorkersEdgeCache(cache, "a.example").set("key", "a", 60);
  assertEquals(await new WorkersEdgeCache(cache, "b.example").get("key"), undefined);
});

Deno.test("defaultEdgeCache() is null where the runtime has none", () => {
  assertEquals(defaultEdgeCache("site.example"), null);
});

Deno.test("defaultEdgeCache() is the Cache API's default where there is one", async () => {
  const { cache } = fakeCache();
  const before = Object.getOwnPropertyDescriptor(globalThis, "caches");
  Object.defineProperty(globalThis, "caches", { value: { default: cache }, configurable: true });
  try {
    const edge = defaultEdgeCache("site.example");
    await edge?.set("key", "text", 60);
    assertEquals(await edge?.get("key"), "text");
  } finally {
    if (before) Object.defineProperty(globalThis, "caches", before);
    else Reflect.deleteProperty(globalThis, "caches");
  }
});
