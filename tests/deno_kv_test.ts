import { assertEquals, assertRejects } from "@std/assert";
import { DenoKv, type DenoKvStore } from "../lib/kv/deno_kv.ts";
import type { Kv } from "../lib/kv/kv.ts";
import { testKv } from "./kv_contract.ts";

/** Deno's own type is such a store, without an adapter. */
export const FITS: (kv: Deno.Kv) => DenoKvStore = (kv) => kv;

const NOW = Date.UTC(2026, 0, 1);

/** A Deno KV in memory, for one test at a time. */
async function withStore(use: (store: Deno.Kv) => Promise<void>): Promise<void> {
  const store = await Deno.openKv(":memory:");
  try {
    await use(store);
  } finally {
    store.close();
  }
}

testKv("DenoKv", async () => {
  const store = await Deno.openKv(":memory:");
  let now = NOW;
  return {
    kv: new DenoKv(store, { now: () => now }),
    advance: (ms) => now += ms,
    close: () => store.close(),
  };
});

Deno.test("DenoKv keeps namespaces apart, and what others wrote alone", async () => {
  await withStore(async (store) => {
    const [one, two]: Kv[] = [new DenoKv(store), new DenoKv(store, { namespace: "two" })];
    await one?.put("a", "1");
    assertEquals(await two?.get("a"), null);
    assertEquals((await two?.list())?.keys, []);
    await store.set(["kv", "facts", "b"], "foreign");
    await store.set(["kv", "value", "b"], 5);
    await store.set(["kv", "facts", "c"], { v: 1 });
    assertEquals(await one?.get("b"), null);
    assertEquals(await one?.get("c"), null);
    assertEquals((await one?.list())?.keys.map(({ name }) => name), ["a", "c"]);
  });
});

Deno.test("DenoKv refuses values that Deno KV cannot hold", async () => {
  await withStore(async (store) => {
    const kv = new DenoKv(store);
    await kv.put("a", "x".repeat(65_000));
    await assertRejects(
      () => kv.put("a", "x".repeat(65_001)),
      Error,
      "KV PUT failed: 413 Value length of 65001 exceeds limit of 65000.",
    );
  });
});
