import type { D1Database, DurableObjectNamespace, RateLimit } from "@cloudflare/workers-types";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Miniflare } from "miniflare";
import { Claims, type ClaimsOptions, type D1Like } from "../lib/claims.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { RateLimitBinding } from "../lib/rate_limiter.ts";
import type { ObjectNamespace } from "../lib/rate_limiter_object.ts";
import { createWorker } from "../lib/worker/create_worker.ts";
import { handClock } from "./_limits_helpers.ts";

/** The bindings' own types satisfy the structural ones. */
export const TYPES: (a: D1Database, b: DurableObjectNamespace, c: RateLimit) => unknown = (
  a,
  b,
  c,
) => [a satisfies D1Like, b satisfies ObjectNamespace, c satisfies RateLimitBinding];

Deno.test({
  name: "Claims on a real D1",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const miniflare = new Miniflare({
      modules: true,
      script: "export default { fetch: () => new Response() }",
      d1Databases: ["DB"],
    });
    try {
      const real = await miniflare.getD1Database("DB") as unknown as D1Like;
      let tables = 0;
      for (const [name, check] of CASES) {
        await t.step(name, async () => {
          const queries: string[] = [];
          const db: D1Like = {
            prepare: (sql) => {
              queries.push(sql.trim().split(" ")[0] ?? "");
              return real.prepare(sql);
            },
          };
          const table = `claims_${tables++}`;
          const clock = handClock();
          await check({
            clock,
            queries,
            db,
            make: (options = {}) => new Claims(db, { table, clock, ...options }),
          });
        });
      }
    } finally {
      await miniflare.dispose();
    }
  },
});

interface Scene {
  readonly clock: ReturnType<typeof handClock>;
  readonly queries: string[];
  readonly db: D1Like;
  make(options?: ClaimsOptions): Claims;
}

const CASES: readonly (readonly [string, (scene: Scene) => Promise<void>])[] = [
  ["claim() makes the table, and goes to one of many", async ({ make, queries }) => {
    const all = Array.from({ length: 6 }, (_, i) => make().claim("seat", `owner ${i}`));
    const results = await Promise.all(all);
    const [winner, ...others] = results.filter(({ claimed }) => claimed);
    assertEquals(others, []);
    assertEquals(new Set(results.map(({ owner }) => owner)), new Set([winner?.owner]));
    queries.length = 0;
    assertEquals((await make().claim("other", "ann")).claimed, true);
    assertEquals(queries, ["INSERT"]);
    assertEquals(await make().claim("other", "bob"), { claimed: false, owner: "ann" });
    assertEquals(queries, ["INSERT", "INSERT", "SELECT"]);
  }],
  ["claim() by the same owner succeeds again, and starts anew", async ({ make, clock }) => {
    const claims = make({ ttlSeconds: 10 });
    await claims.claim("k", "ann");
    clock.advance(9_000);
    assertEquals((await claims.claim("k", "ann")).claimed, true);
    clock.advance(9_000);
    assertEquals(await claims.claim("k", "bob"), { claimed: false, owner: "ann" });
    clock.advance(1_000);
    assertEquals(await claims.claim("k", "bob"), { claimed: true, owner: "bob" });
  }],
  ["claim() without a lifetime holds for good", async ({ make, clock }) => {
    await make().claim("k", "ann");
    clock.advance(100 * 365 * 86_400_000);
    assertEquals((await make().claim("k", "bob")).claimed, false);
  }],
  ["release() gives up what the owner holds, and nothing else", async ({ make, clock }) => {
    const claims = make({ ttlSeconds: 10 });
    assertEquals(await claims.release("k", "ann"), false);
    await claims.claim("k", "ann");
    assertEquals(await claims.release("k", "bob"), false);
    assertEquals((await claims.claim("k", "bob")).claimed, false);
    assertEquals(await claims.release("k", "ann"), true);
    assertEquals(await claims.release("k", "ann"), false);
    assertEquals((await claims.claim("k", "bob")).claimed, true);
    clock.advance(10_000);
    assertEquals(await claims.release("k", "bob"), false);
  }],
  ["claim() keeps hostile keys apart", async ({ make }) => {
    const claims = make();
    const keys = ["a'b", 'a"b', "a;DROP TABLE claims", "a:b", "A:b", " a", "a", "🙂", "%", "?1"];
    for (const key of keys) assertEquals((await claims.claim(key, "ann")).claimed, true, key);
    for (const key of keys) assertEquals((await claims.claim(key, "bob")).owner, "ann", key);
  }],
  ["once() runs a function once for a key", async ({ make, queries }) => {
    let runs = 0;
    const work = () => Promise.resolve(++runs);
    const results = await Promise.all(Array.from({ length: 4 }, () => make().once("job", work)));
    assertEquals(runs, 1);
    assertEquals(results.filter(({ ran }) => ran), [{ ran: true, value: 1 }]);
    queries.length = 0;
    assertEquals(await make().once("job", work), { ran: false });
    assertEquals(queries, ["INSERT", "SELECT"]);
    queries.length = 0;
    assertEquals(await make().once("job 2", work), { ran: true, value: 2 });
    assertEquals(queries, ["INSERT", "INSERT"]);
  }],
  ["once() lets a retry run what threw", async ({ make }) => {
    const claims = make();
    const broken = () => Promise.reject(new Error("Work failed"));
    await assertRejects(() => claims.once("job", broken), Error, "Work failed");
    assertEquals(await claims.once("job", () => "done"), { ran: true, value: "done" });
  }],
  ["once() frees what an isolate left behind, after the lease", async ({ make, clock }) => {
    const begun = Promise.withResolvers<void>();
    make({ leaseSeconds: 30 }).once("job", () => {
      begun.resolve();
      return new Promise<never>(() => {});
    });
    await begun.promise;
    assertEquals(await make().once("job", () => 0), { ran: false });
    clock.advance(29_999);
    assertEquals(await make().once("job", () => 1), { ran: false });
    clock.advance(1);
    assertEquals(await make().once("job", () => 2), { ran: true, value: 2 });
    clock.advance(86_400_000);
    assertEquals(await make().once("job", () => 3), { ran: false });
  }],
  ["sweep() deletes what has lapsed, in bounds", async ({ make, clock }) => {
    const claims = make({ ttlSeconds: 5 });
    for (let i = 0; i < 7; i++) await claims.claim(`k${i}`, "ann");
    assertEquals(await claims.sweep(), 0);
    clock.advance(5_000);
    await claims.claim("k0", "bob");
    assertEquals(await claims.sweep(4), 4);
    assertEquals(await claims.sweep(), 2);
    assertEquals((await claims.claim("k0", "ann")).owner, "bob");
  }],
  ["claim() refuses bad keys, owners and options", async ({ make }) => {
    const claims = make();
    for (const bad of ["", undefined, null, 7]) {
      await assertRejects(() => claims.claim(bad as string, "ann"), TypeError, "Claim's key");
      await assertRejects(() => claims.claim("k", bad as string), TypeError, "Claim's owner");
      await assertRejects(() => claims.release("k", bad as string), TypeError, "Claim's owner");
      await assertRejects(() => claims.once(bad as string, () => 1), TypeError, "Claim's key");
    }
    await assertRejects(() => claims.claim("k".repeat(1_025), "ann"), RangeError, "got 1025");
    for (const limit of [0, -1, 1.5, NaN]) {
      await assertRejects(() => claims.sweep(limit), RangeError);
    }
    for (const ttlSeconds of [0, -1, NaN, "9" as unknown as number]) {
      assertThrows(() => make({ ttlSeconds }), RangeError, "at least 1");
      assertThrows(() => make({ leaseSeconds: ttlSeconds }), RangeError, "at least 1");
    }
    for (const table of ["", "a b", "a;b", "1a", "a".repeat(65)]) {
      assertThrows(() => make({ table }), TypeError, "letters, digits");
    }
  }],
  ["the waitlist stores an address once, from any number of isolates", async ({ clock, db }) => {
    const kv = new MemoryKv({ now: clock.now });
    const join = async (DB: unknown, email: string) => {
      const worker = createWorker({ clock: { ...clock, sleep: async () => {} }, edgeCache: null });
      const init = { method: "POST", body: JSON.stringify({ email }) };
      const request = new Request("https://example.org/api/waitlist", init);
      return await worker.fetch(request, { KV: kv, DB }, { waitUntil: () => {} });
    };
    const answers = await Promise.all(Array.from({ length: 5 }, () => join(db, "a@example.org")));
    assertEquals(kv.operations.write, 1);
    for (const answer of answers) {
      assertEquals(answer.status, 202);
      assertEquals(await answer.json(), { ok: true, guarantee: "exactly once" });
    }
    assertEquals((await join(db, "a@example.org")).status, 202);
    assertEquals(kv.operations.write, 1);
    const broken: D1Like = {
      prepare: () => {
        throw new Error("D1_ERROR: overloaded");
      },
    };
    assertEquals((await join(broken, "b@example.org")).status, 202);
    const without = await join(undefined, "c@example.org");
    assertEquals(await without.json(), { ok: true, guarantee: "at least once" });
    assertEquals(kv.operations.write, 3);
  }],
];
