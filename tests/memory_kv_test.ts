import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";

Deno.test("MemoryKv keeps what was put, and nothing else", async () => {
  const kv = new MemoryKv({ now: () => 0 });
  assertEquals(await kv.get("a"), null);
  await kv.put("a", "1", { metadata: { m: 1 }, expirationTtl: 100 });
  assertEquals(await kv.getWithMetadata("a"), {
    value: "1",
    metadata: { m: 1 },
    cacheStatus: null,
  });
  await kv.put("a", "2");
  assertEquals(await kv.getWithMetadata("a"), { value: "2", metadata: null, cacheStatus: null });
  await kv.delete("a");
  assertEquals(await kv.list(), { keys: [], list_complete: true, cacheStatus: null });
  assertEquals(kv.operations, { read: 3, write: 2, list: 1, delete: 1 });
});

Deno.test("MemoryKv pages in UTF-8 order and goes on after a deleted key", async () => {
  const kv = new MemoryKv({ now: () => 0 });
  for (const key of ["p:😀", "p:\uffee", "p:a", "q:a", "o:z"]) await kv.put(key, "");
  const first = await kv.list({ prefix: "p:", limit: 2 });
  assertEquals(first.keys.map((k) => k.name), ["p:a", "p:\uffee"]);
  assert(!first.list_complete);
  await kv.delete("p:\uffee");
  const second = await kv.list({ prefix: "p:", limit: 2, cursor: first.cursor });
  assertEquals(second.keys.map((k) => k.name), ["p:😀"]);
  assert(second.list_complete && !("cursor" in second));
});

Deno.test("MemoryKv refuses what KV refuses, with its texts", async () => {
  const kv = new MemoryKv({ now: () => 1_000_000 });
  const refused: [() => Promise<unknown>, string][] = [
    [() => kv.get(""), "Key name cannot be empty."],
    [() => kv.put("..", ""), '".." is not allowed as a key name.'],
    [
      () => kv.delete("é".repeat(257)),
      "KV DELETE failed: 414 UTF-8 encoded length of 514 exceeds key length limit of 512.",
    ],
    [
      () => kv.put("a", "", { expirationTtl: 59 }),
      "KV PUT failed: 400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60.",
    ],
    [
      () => kv.get("a", { cacheTtl: 10 }),
      "KV GET failed: 400 Invalid cache_ttl of 10. Cache TTL must be at least 30.",
    ],
    [
      () => kv.put("a", "", { metadata: "m".repeat(1023) }),
      "KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024.",
    ],
    [
      () => new MemoryKv({ valueBytesMax: 3 }).put("a", "éé"),
      "KV PUT failed: 413 Value length of 4 exceeds limit of 3.",
    ],
    [
      () => kv.list({ limit: 1001 }),
      "KV GET failed: 400 Invalid key_count_limit of 1001. Please specify an integer less than 1000.",
    ],
  ];
  for (const [call, message] of refused) {
    const error = await assertRejects(call);
    assertEquals((error as Error).message, message);
  }
  assertThrows(() => kv.getWithMetadata(""), TypeError, "Key name cannot be empty.");
});
