import type { KVNamespace } from "@cloudflare/workers-types";
import { assertEquals } from "@std/assert";
import type { BulkKv, Kv } from "../lib/kv/kv.ts";
import { KvWorld } from "../lib/kv/kv_world.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";

// Each line fails to compile when a type stops fitting.
const real: (kv: KVNamespace) => Kv = (kv) => kv;
const realInBulk: (kv: KVNamespace) => BulkKv = (kv) => kv;
const memory: (kv: MemoryKv) => Kv = (kv) => kv;
const memoryInBulk: (kv: MemoryKv) => BulkKv = (kv) => kv;
const world: (kv: KvWorld) => BulkKv = (kv) => kv.location("LHR");

Deno.test("a KVNamespace, and every fake, is a Kv as it is", async () => {
  const kv: Kv = memory(new MemoryKv({ now: () => 0 }));
  await kv.put("a", "1");
  const [value, missing] = [await kv.get("a"), await kv.get("b")];
  assertEquals([value, missing], ["1", null]);
  const many = await memoryInBulk(new MemoryKv({ now: () => 0 })).get(["a"]);
  assertEquals([...many], [["a", null]]);
  assertEquals(await world(new KvWorld({ seed: 1 })).get("a"), null);
  assertEquals([real, realInBulk].map((check) => typeof check), ["function", "function"]);
});
