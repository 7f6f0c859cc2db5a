import { assert, assertEquals, assertMatch } from "@std/assert";
import { stop } from "esbuild";
import { Miniflare } from "miniflare";
import type { Kv } from "../lib/kv/kv.ts";
import { bundle } from "../scripts/_bundle.ts";

async function withWorker(
  use: (
    post: (path: string, ip: string) => Promise<Response>,
    miniflare: Miniflare,
  ) => Promise<void>,
): Promise<void> {
  const { code } = await bundle("tests/_limits_worker.ts");
  await stop();
  const miniflare = new Miniflare({
    modules: true,
    script: new TextDecoder().decode(code),
    compatibilityDate: "2026-07-01",
    kvNamespaces: ["KV"],
    durableObjects: { LIMITS: { className: "RateLimiterObject", useSQLite: true } },
    ratelimits: { FIRST: { namespace_id: "1", simple: { limit: 2, period: 60 } } },
  });
  try {
    await use(async (path, ip) => {
      const url = `https://example.org${path}`;
      const init = { method: "POST", headers: { "cf-connecting-ip": ip } };
      return await miniflare.dispatchFetch(url, init) as unknown as Response;
    }, miniflare);
  } finally {
    await miniflare.dispose();
  }
}

Deno.test({
  name: "RateLimiter in workerd",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withWorker(async (post, miniflare) => {
      const statuses = async (path: string, ip: string, hits = 5) => {
        const all = [];
        for (let i = 0; i < hits; i++) {
          const response = await post(path, ip);
          await response.text();
          all.push(response.status);
        }
        return all;
      };
      const admittedAndDenied = [200, 200, 200, 429, 429];

      assertEquals(await statuses("/a", "2001:db8::1"), admittedAndDenied);
      const kv = await miniflare.getKVNamespace("KV") as unknown as Kv;
      const { keys } = await kv.list();
      assertEquals(keys.length, 1);
      assertMatch(keys[0]?.name ?? "", /^rl:3-3600000:[\w-]{24}:\d+$/);
      assert((keys[0]?.expiration ?? 0) > 0);

      // Another isolate's limiter learns the verdict from KV; the same network is the same client.
      assertEquals(await statuses("/b", "2001:db8::2"), [429, 429, 429, 429, 429]);
      assertEquals(await statuses("/b", "2001:db8:0:1::2"), admittedAndDenied);

      const denied = await post("/a", "2001:db8::1");
      assertEquals(Object.keys(await denied.json()), ["error"]);
      assert(Number(denied.headers.get("retry-after")) >= 1);
      assertMatch(denied.headers.get("ratelimit") ?? "", /^"default";r=0;t=\d+$/);

      assertEquals(await statuses("/strict", "192.0.2.1"), admittedAndDenied);
      assertEquals(await statuses("/strict2", "192.0.2.1", 2), [429, 429]);

      assertEquals(await statuses("/first", "192.0.2.9", 4), [200, 200, 429, 429]);
    }),
});
