// Operations per second of the fakes, on one core: `deno bench tests/kv_bench.ts`. Each iteration is 1,000
// operations, so an iteration within 10 ms is 100,000 a second.
import type { Kv } from "../lib/kv/kv.ts";
import { KvWorld } from "../lib/kv/kv_world.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";

const OPERATIONS = 1000;
const KEYS = Array.from({ length: 200 }, (_, i) => `views:2026-01-01:L${i}`);
const VALUE = JSON.stringify({ v: 1, total: 12345, paths: { "/": 9000, "/about": 3345 } });
const LOCATIONS = Array.from({ length: 50 }, (_, i) => `L${i}`);

/** A mix as Scrimp makes it: mostly reads, a third writes, some listings and deletes. */
async function mix(locations: readonly Kv[]): Promise<void> {
  for (let i = 0; i < OPERATIONS; i++) {
    const kv = locations[i % locations.length];
    const key = KEYS[(i * 7919) % KEYS.length] ?? "";
    if (i % 100 === 0) await kv?.list({ prefix: "views:2026-01-01:", limit: 100 });
    else if (i % 50 === 1) await kv?.delete(key);
    else if (i % 3 === 0) await kv?.put(key, VALUE, { expirationTtl: 86_400, metadata: { n: i } });
    else await kv?.get(key);
  }
}

let nowMs = Date.UTC(2026, 0, 1);
const memory = new MemoryKv({ now: () => nowMs });
const world = new KvWorld({ seed: 1, now: () => nowMs, quotas: null, sameKeyWrites: "overwrite" });
const places = LOCATIONS.map((name) => world.location(name));

Deno.bench("MemoryKv: 1,000 operations", async () => {
  nowMs += OPERATIONS;
  await mix([memory]);
});

Deno.bench("KvWorld: 1,000 operations over 50 locations", async () => {
  nowMs += OPERATIONS;
  await mix(places);
});
