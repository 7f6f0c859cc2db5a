// The fakes against each other, without a runtime; against the real binding: kv_rings_workerd_test.ts.
import { assert, assertEquals } from "@std/assert";
import { HARMLESS_WORLD, KvWorld } from "../lib/kv/kv_world.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { serveKv } from "../lib/kv/kv_server.ts";
import { generateSequences, withoutTimes } from "./_kv_generated.ts";
import { probe } from "./_kv_probe.ts";
import { runSequences } from "./_kv_sequences.ts";

const NOW = Date.UTC(2026, 0, 1);

/** A location of a world without staleness. */
function harmless() {
  return new KvWorld({ ...HARMLESS_WORLD, seed: 1, now: () => NOW }).location("LHR");
}

Deno.test("MemoryKv and a harmless KvWorld answer a probe alike", async () => {
  const memory = await probe(new MemoryKv({ now: () => NOW }));
  assert(memory.length > 1000);
  assertEquals(await probe(harmless()), memory);
});

Deno.test("MemoryKv and a harmless KvWorld answer 500 generated sequences alike", async () => {
  const sequences = generateSequences(500, 1);
  const memory = await runSequences(new MemoryKv({ now: () => NOW }), sequences);
  const world = await runSequences(harmless(), sequences);
  for (const [i, answers] of memory.entries()) {
    assertEquals(withoutTimes(world[i] ?? []), withoutTimes(answers), JSON.stringify(sequences[i]));
  }
});

Deno.test("KvWorld with default options answers a probe the same way for the same seed", async () => {
  const run = async () => {
    const world = new KvWorld({ seed: 3, quotas: null, sameKeyWrites: "overwrite" });
    const seen = await probe(world.location("LHR"));
    return [seen, world.traceHash] as const;
  };
  assertEquals(await run(), await run());
});

Deno.test("MemoryKv keeps the old value when a stream fails", async () => {
  const kv = new MemoryKv({ now: () => NOW });
  await kv.put("a", "before");
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array([97]));
      controller.error(new Error("broken"));
    },
  });
  await kv.put("a", broken).then(() => assert(false), (error) => {
    assertEquals(String(error), "Error: broken");
  });
  assertEquals(await kv.get("a"), "before");
});

/** Sends what a binding would send. */
async function send(method: string, path: string, init: RequestInit = {}): Promise<string> {
  const request = new Request(`http://kv${path}`, { method, ...init });
  const response = await serveKv(served.backend, request);
  const facts = ["cf-kv-metadata", "cf-expiration", "cf-cache-status"]
    .map((name) => response.headers.get(name)).join();
  return `${response.status} ${response.statusText} ${facts} ${await response.text()}`;
}

const served = new MemoryKv({ now: () => NOW });

Deno.test("serveKv() speaks the binding's protocol", async () => {
  const headers = { "cf-kv-metadata": '{"m":1}' };
  const at = NOW / 1000 + 60;
  const answers = [
    await send("GET", "/a%2Fb?urlencoded=true"),
    await send("PUT", "/a%2Fb?urlencoded=true&expiration_ttl=60", { headers, body: "1" }),
    await send("GET", "/a%2Fb?urlencoded=true&cache_ttl=60"),
    await send("GET", "/a%2Fb?urlencoded=true&cache_ttl=1"),
    await send("GET", "/?key_count_limit=1&prefix=a"),
    await send("POST", "/bulk/get", {
      body: '{"keys":["a/b","c"],"type":"json","withMetadata":true}',
    }),
    await send("POST", "/bulk/get", { body: '{"keys":[]}' }),
    await send("DELETE", "/a%2Fb?urlencoded=true"),
    await send("GET", "/%ED%A0%80?urlencoded=true"),
    await send("PATCH", "/a"),
  ];
  const key = `{"name":"a/b","expiration":${at},"metadata":"{\\"m\\":1}"}`;
  assertEquals(answers, [
    "404 Not Found ,, ",
    "200  ,, ",
    `200  {"m":1},${at}, 1`,
    "400 Invalid cache_ttl of 1. Cache TTL must be at least 30. ,, Invalid cache_ttl of 1. Cache TTL must be at least 30.",
    `200  ,, {"keys":[${key}],"list_complete":true}`,
    '200  ,, {"a/b":{"value":1,"metadata":{"m":1}},"c":null}',
    "400 You must request a minimum of 1 key ,, You must request a minimum of 1 key",
    "200  ,, ",
    "400 Could not URL-decode key name ,, Could not URL-decode key name",
    "405 Method Not Allowed ,, Method Not Allowed",
  ]);
});
