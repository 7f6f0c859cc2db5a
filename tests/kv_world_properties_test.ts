import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { KvWorld } from "../lib/kv/kv_world.ts";

const PLACES = ["LHR", "SYD", "IAD", "NRT"];
const KEYS = ["k:a", "k:b", "k:c"];

/** A step: who does what, and how much later. */
const step = fc.record({
  place: fc.constantFrom(...PLACES),
  key: fc.constantFrom(...KEYS),
  what: fc.constantFrom("put", "put", "get", "get", "get", "delete", "list"),
  waitMs: fc.integer({ min: 0, max: 40_000 }),
});

const history = fc.record({
  seed: fc.integer(),
  steps: fc.array(step, { minLength: 1, maxLength: 60 }),
});

/** The longest that anything may lag with default options. */
const LAG_MS = 60_000 + 30_000 + 5_000;

Deno.test("KvWorld: a read gives something that was written, never older than the documented lag", async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ seed, steps }) => {
      const world = new KvWorld({ seed, quotas: null });
      // What each key held, from when; "null" before anything was written.
      const held = new Map(KEYS.map((key) => [key, [{ value: "null", fromMs: -Infinity }]]));
      for (const [n, { place, key, what, waitMs }] of steps.entries()) {
        world.advance(waitMs);
        const kv = world.location(place);
        const versions = held.get(key) ?? [];
        const change = (value: string) => versions.push({ value, fromMs: world.now() });
        if (what === "put") await kv.put(key, `${n}`).then(() => change(`${n}`), () => {});
        else if (what === "delete") await kv.delete(key).then(() => change("null"));
        else if (what === "list") await kv.list({ prefix: "k:" });
        else {
          const seen = String(await kv.get(key));
          const oldest = versions.findLastIndex(({ fromMs }) => fromMs <= world.now() - LAG_MS);
          const possible = versions.slice(Math.max(oldest, 0)).map(({ value }) => value);
          assert(possible.includes(seen), `${place} saw ${seen} under ${key}, not ${possible}`);
        }
      }
    }),
    { numRuns: 200, seed: 20261130 },
  );
});

Deno.test("KvWorld: once the lag has passed, all locations agree on the last write", async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ seed, steps }) => {
      const world = new KvWorld({ seed, quotas: null });
      const last = new Map<string, string>();
      for (const [n, { place, key, what, waitMs }] of steps.entries()) {
        world.advance(waitMs);
        const kv = world.location(place);
        if (what === "put") await kv.put(key, `${n}`).then(() => last.set(key, `${n}`), () => {});
        else if (what === "delete") await kv.delete(key).then(() => last.delete(key));
        else if (what === "list") await kv.list({ prefix: "k:" });
        else await kv.get(key);
      }
      world.advance(LAG_MS);
      for (const place of PLACES) {
        const kv = world.location(place);
        const values = await Promise.all(KEYS.map((key) => kv.get(key)));
        assertEquals(values, KEYS.map((key) => last.get(key) ?? null), place);
        const { keys } = await kv.list({ prefix: "k:" });
        assertEquals(keys.map(({ name }) => name), [...last.keys()].sort(), place);
      }
    }),
    { numRuns: 200, seed: 20261130 },
  );
});
