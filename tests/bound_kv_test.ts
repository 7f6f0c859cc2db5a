import { assertEquals, assertRejects } from "@std/assert";
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { readMany } from "../lib/kv/read_many.ts";
import { boundKv, routeEnv } from "../lib/worker/bound_kv.ts";
import { systemClock } from "../lib/clock.ts";
import { hang, kvAll, makeSite } from "./_core_site.ts";

const OPERATIONS: readonly ((kv: Kv) => Promise<unknown>)[] = [
  (kv) => kv.get("a"),
  (kv) => kv.getWithMetadata("a"),
  (kv) => kv.put("a", "1"),
  (kv) => kv.delete("a"),
  (kv) => kv.list({ prefix: "a" }),
];

Deno.test("boundKv() gives up what hangs, and passes the rest on", async () => {
  const { sim, kv, wait } = makeSite();
  const failing = kvAll(() => Promise.reject(new Error("down")));
  for (const operation of OPERATIONS) {
    const given = assertRejects(() => operation(boundKv(kvAll(hang), sim.clock)), Error, "in time");
    await wait(5_000);
    await given;
    await assertRejects(() => operation(boundKv(failing, sim.clock)), Error, "down");
    const mine = new MemoryKv({ now: sim.clock.now });
    await kv.put("a", "1", { metadata: 5 });
    await mine.put("a", "1", { metadata: 5 });
    assertEquals(await operation(boundKv(kv, sim.clock)), await operation(mine));
  }
  const values = await readMany(boundKv(kv, sim.clock), ["a", "b"]);
  assertEquals(values, await readMany(kv, ["a", "b"]));
});

Deno.test("routeEnv() bounds KV where the runtime's own clock does", () => {
  const { sim, kv } = makeSite();
  const env = { KV: kv, ADMIN_TOKEN: "x" };
  assertEquals(routeEnv(env, sim.clock) === env, true);
  const { KV, ...rest } = routeEnv(env, systemClock);
  assertEquals([KV === kv, rest], [false, { ADMIN_TOKEN: "x" }]);
  assertEquals(routeEnv({}, systemClock), {});
});
