/**
 * A simulation kit: virtual time, seeded chance, a data center's cache that forgets, isolates that are
 * born, idle out and are killed at any point, and a trace. The same seed gives the same trace.
 *
 * Use it with a `KvWorld`, whose `now` and `sleep` then come from the simulation's clock.
 *
 * @example An isolate that dies before its second write
 * ```ts
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { Isolate, Simulation } from "@scrimp/kv/sim";
 * import { assertEquals } from "@std/assert";
 *
 * const sim = new Simulation({ seed: 1 });
 * const kv = new MemoryKv({ now: sim.clock.now });
 * const isolate = new Isolate(sim, { name: "LHR#0", kv });
 * isolate.killAt(2);
 * isolate.ctx.waitUntil((async () => {
 *   await isolate.kv.put("first", "1");
 *   await isolate.kv.put("second", "2");
 * })());
 * await sim.runUntilIdle();
 * assertEquals([await kv.get("first"), await kv.get("second")], ["1", null]);
 * ```
 *
 * @module
 */

export type { Clock, Random } from "../clock.ts";
export type { BulkKv, Kv } from "../kv/kv.ts";
export type { EdgeCache } from "../views/edge_cache.ts";
export type { WaitUntil } from "../wait_until.ts";
export * from "./edge_cache_fake.ts";
export * from "./isolate.ts";
export * from "./isolate_pool.ts";
export { seededRandom } from "./random.ts";
export * from "./simulation.ts";
export * from "./trace.ts";
