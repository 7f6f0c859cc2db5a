import { HARMLESS_WORLD, KvWorld } from "../lib/kv/kv_world.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { testKv } from "./kv_contract.ts";

// The contract names an expiry in 2033, so the clock has to stand before it.
const NOW = Date.UTC(2026, 0, 1);

testKv("MemoryKv", () => {
  let now = NOW;
  return { kv: new MemoryKv({ now: () => now }), advance: (ms) => now += ms };
});

testKv("KvWorld without staleness", () => {
  let now = NOW;
  const world = new KvWorld({ ...HARMLESS_WORLD, seed: 1, now: () => now });
  return { kv: world.location("LHR"), advance: (ms) => now += ms };
});
