import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type ObjectNamespace,
  RateLimiterObject,
  StrictRateLimiter,
} from "../lib/rate_limiter_object.ts";
import { handClock } from "./_limits_helpers.ts";

function setUp() {
  const clock = handClock();
  const stores = new Map<string, { values: Map<string, unknown>; alarmMs: number; puts: number }>();
  const objects = new Map<string, RateLimiterObject>();
  const state = { down: false };
  const namespace: ObjectNamespace = {
    idFromName: (name) => name,
    get: (id) => ({
      fetch: (url, init) => {
        if (state.down) return Promise.reject(new Error("Object is overloaded"));
        return open(String(id)).fetch(new Request(url, init));
      },
    }),
  };
  function open(name: string): RateLimiterObject {
    const store = stores.get(name) ?? { values: new Map(), alarmMs: 0, puts: 0 };
    stores.set(name, store);
    const storage = {
      get: (key: string) => Promise.resolve(structuredClone(store.values.get(key))),
      put: (key: string, value: unknown) => {
        store.puts++;
        return Promise.resolve(void store.values.set(key, structuredClone(value)));
      },
      deleteAll: () => Promise.resolve(store.values.clear()),
      setAlarm: (ms: number) => Promise.resolve(void (store.alarmMs = ms)),
    };
    const object = objects.get(name) ?? new RateLimiterObject({ storage }, undefined, clock);
    objects.set(name, object);
    return object;
  }
  return { clock, stores, objects, state, namespace, open };
}

Deno.test("StrictRateLimiter admits the limit exactly, from any number of isolates", async () => {
  const { clock, namespace, objects, stores } = setUp();
  const options = { limit: 10, windowMs: 60_000, clock };
  const isolates = Array.from({ length: 12 }, () => new StrictRateLimiter(namespace, options));
  for (let window = 0; window < 3; window++) {
    let admitted = 0;
    for (let i = 0; i < 5; i++) {
      const results = await Promise.all(isolates.map((limiter) => limiter.limit("ann")));
      admitted += results.filter(({ success }) => success).length;
      objects.clear();
    }
    assertEquals(admitted, 10);
    clock.advance(60_000);
  }
  assertEquals([...stores.values()].map(({ puts }) => puts), [30]);
});

Deno.test("StrictRateLimiter peek() counts nothing, and cost counts", async () => {
  const { clock, namespace } = setUp();
  const limiter = new StrictRateLimiter(namespace, { limit: 3, windowMs: 1_000, clock });
  for (let i = 0; i < 9; i++) assertEquals((await limiter.peek("ann")).remaining, 3);
  assertEquals((await limiter.limit("ann", { cost: 3 })).remaining, 0);
  assertEquals((await limiter.peek("ann")).success, false);
  await assertRejects(() => limiter.limit("ann", { cost: 4 }), RangeError);
  await assertRejects(() => limiter.limit(""), TypeError);
});

Deno.test("StrictRateLimiter falls back as told while the object is down", async () => {
  const { clock, namespace, state } = setUp();
  state.down = true;
  for (const [onStoreError, admitted] of [["memory", 2], ["open", 6], ["closed", 0]] as const) {
    const options = { limit: 2, windowMs: 1_000, clock, onStoreError, hashIds: "secret" };
    const limiter = new StrictRateLimiter(namespace, options);
    let count = 0;
    for (let i = 0; i < 6; i++) {
      const result = await limiter.limit("ann");
      assert(result.degraded);
      assertEquals(result.reason === undefined, result.success);
      if (result.success) count++;
    }
    assertEquals(count, admitted, onStoreError);
  }
});

Deno.test("RateLimiterObject removes its count once it says nothing any more", async () => {
  const { clock, namespace, stores, objects, open } = setUp();
  const limiter = new StrictRateLimiter(namespace, { limit: 2, windowMs: 1_000, clock });
  await limiter.limit("ann");
  const [name = ""] = stores.keys();
  const store = stores.get(name);
  assert(store !== undefined);
  clock.advance(1_500);
  await limiter.limit("ann");
  clock.set(store.alarmMs);
  objects.clear();
  await open(name).alarm();
  assertEquals(store.values.size, 1);
  clock.set(store.alarmMs);
  await open(name).alarm();
  assertEquals(store.values.size, 0);
  assertEquals((await limiter.limit("ann")).success, true);
});

Deno.test("RateLimiterObject answers 400 to what it cannot read", async () => {
  const { open } = setUp();
  for (const body of ["", "{", "null", "[]", '{"limit":0}', '{"limit":1,"windowMs":1,"cost":2}']) {
    const request = new Request("https://limits/", { method: "POST", body });
    const response = await open("x").fetch(request);
    assertEquals(response.status, 400);
    assertEquals(Object.keys(await response.json()), ["error"]);
  }
});
