import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Kv } from "../lib/kv/kv.ts";
import { hang, kvAll, kvWith, makeSite, type SiteIsolate } from "./_core_site.ts";

const FORM = "application/x-www-form-urlencoded";

async function post(
  { ask }: SiteIsolate,
  body: string,
  headers: Record<string, string> = { "content-type": "application/json" },
) {
  const response = await ask("/api/waitlist", { method: "POST", body, headers });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    text: await response.text(),
  };
}

/** What the Worker tells of itself, as far as the tests look. */
interface Health {
  readonly ok: boolean;
  readonly store: string;
  readonly dataCenter: string;
  readonly views: { readonly pending: number };
  readonly errors: { readonly count: number; readonly last: string };
  readonly budget: { readonly purposes: Record<string, { readonly here: Record<string, number> }> };
}

async function healthOf({ ask }: SiteIsolate): Promise<Health> {
  return await (await ask("/api/health")).json() as Health;
}

async function emails(kv: Kv): Promise<string[]> {
  const { keys } = await kv.list({ prefix: "waitlist:" });
  const values = await Promise.all(keys.map(({ name }) => kv.get(name)));
  return values.map((value) => JSON.parse(value ?? "").email).sort();
}

Deno.test("POST /api/waitlist stores an address once, with the same answer", async () => {
  const { isolate, kv, wait } = makeSite();
  const one = isolate();
  const first = await post(one, '{"email":" Ada@Example.org "}');
  await wait(5_000);
  assertEquals(await post(one, '{"email":"ada@example.org"}'), first);
  assertEquals([first.status, JSON.parse(first.text).ok], [202, true]);
  assertEquals(await emails(kv), ["ada@example.org"]);
  assertEquals(kv.operations.write, 1);
});

Deno.test("POST /api/waitlist takes a form, and answers a browser with a page", async () => {
  const { isolate, kv } = makeSite();
  const one = isolate();
  const plain = await post(one, "email=a%40example.org", { "content-type": FORM });
  assertEquals([plain.status, JSON.parse(plain.text).ok], [202, true]);
  const headers = { "content-type": `${FORM}; charset=utf-8`, "accept": "text/html" };
  const page = await post(one, "x=1&email=b%40example.org", headers);
  assertEquals([page.status, page.type], [202, "text/html; charset=utf-8"]);
  assertStringIncludes(page.text, "on the list");
  assertEquals(await emails(kv), ["a@example.org", "b@example.org"]);
});

Deno.test("POST /api/waitlist takes addresses that are unusual and right", async () => {
  const { isolate, kv } = makeSite();
  const one = isolate();
  const all = [
    "a+b@x.example",
    "o'hara@x.example",
    "ü@bücher.example",
    `${"l".repeat(64)}@x.example`,
  ];
  for (const email of all) assertEquals((await post(one, JSON.stringify({ email }))).status, 202);
  assertEquals(await emails(kv), [...all].sort());
});

Deno.test("POST /api/waitlist answers 400 to what is no address", async () => {
  const { isolate, kv } = makeSite();
  const one = isolate();
  const addresses = ["", " ", "a", "@", "a@", "@b.example", "a@b", "a b@c.example", "a@b..example"];
  addresses.push(
    "a@@b.example",
    "<a@b.example>",
    `${"l".repeat(65)}@b.example`,
    "a@b.example,c@d.e",
  );
  addresses.push(`a@${"b".repeat(250)}.example`, "a@b.example\nbcc:c@d.example", "a:b@c.example");
  const bodies = ["", "null", "5", "[]", "{", "{}", '{"email":5}', '{"email":["a@b.example"]}'];
  bodies.push('{"email":{"toString":"a@b.example"}}', JSON.stringify({ x: "y".repeat(20_000) }));
  bodies.push(JSON.stringify({ email: "a@b.example", x: "y".repeat(20_000) }));
  bodies.push(...addresses.map((email) => JSON.stringify({ email })));
  for (const body of bodies) {
    const { status, text } = await post(one, body);
    assertEquals(status, 400, body.slice(0, 80));
    assertStringIncludes(JSON.parse(text).error.message, "expected");
  }
  for (const body of ["", "email=", "mail=a%40b.example", "email=%zz", "email=a"]) {
    assertEquals((await post(one, body, { "content-type": FORM })).status, 400, body);
  }
  assertEquals(kv.operations.write, 0);
});

Deno.test("POST /api/waitlist says so when it cannot store", async () => {
  const { isolate } = makeSite();
  const down = kvAll(() => Promise.reject(new Error("KV PUT failed: 500 Internal")));
  for (const KV of [undefined, down]) {
    const one = isolate({ env: { KV } as never });
    const { status, text } = await post(one, '{"email":"a@example.org"}');
    assertEquals(status, 503);
    assertEquals(JSON.parse(text).error.code, "unavailable");
  }
});

Deno.test("POST /api/waitlist stores when only reads fail", async () => {
  const { isolate, kv } = makeSite();
  const KV = kvWith(kv, { get: () => Promise.reject(new Error("KV GET failed: 500 Internal")) });
  assertEquals((await post(isolate({ env: { KV } }), '{"email":"a@example.org"}')).status, 202);
  assertEquals(await emails(kv), ["a@example.org"]);
});

Deno.test("POST /api/waitlist answers a second click, and writes again when KV allows it", async () => {
  const { isolate, kv, wait, sim } = makeSite();
  let puts = 0;
  const KV = kvWith(kv, {
    put: (...args) =>
      puts++ === 0
        ? Promise.reject(new Error("KV PUT failed: 429 Too Many Requests"))
        : kv.put(...args),
  });
  const one = isolate({ env: { KV } });
  assertEquals((await post(one, '{"email":"a@example.org"}')).status, 202);
  await wait(5_000);
  assertEquals([await emails(kv), puts, sim.rejections.length], [["a@example.org"], 2, 0]);
});

Deno.test("POST /api/waitlist goes on when the views' writes hang or are used up", async () => {
  const { isolate, kv, wait } = makeSite();
  const KV = kvWith(kv, {
    put: (key, ...rest) => key.startsWith("views:") ? hang() : kv.put(key, ...rest),
  });
  const one = isolate({ env: { KV, VIEWS_WRITES_PER_DAY: "1" } });
  for (let n = 0; n < 5; n++) {
    await one.view();
    await wait(60_000);
    assertEquals((await post(one, JSON.stringify({ email: `a${n}@example.org` }))).status, 202);
  }
  assertEquals((await emails(kv)).length, 5);
});

Deno.test("GET /api/health tells how the data center stands, for no KV operation", async () => {
  const { isolate, kv, wait } = makeSite();
  const one = isolate();
  await post(one, '{"email":"a@example.org"}');
  await one.view();
  await wait(60_000);
  const before = { ...kv.operations };
  const health = await healthOf(one);
  assertEquals([health.ok, health.store, health.dataCenter], [true, "kv", "LHR"]);
  assertEquals(health.budget.purposes.waitlist?.here, { read: 1, write: 1 });
  assertEquals(health.budget.purposes.views?.here.write, 1);
  assertEquals([health.views.pending, health.errors], [0, { count: 0, last: null }] as unknown);
  assertEquals({ ...kv.operations }, before);
  const none = isolate({ env: { KV: undefined } as never });
  const { ok, store } = await healthOf(none);
  assertEquals([ok, store], [false, "none"]);
});

Deno.test("GET /api/health counts errors that no visitor saw", async () => {
  const { isolate, wait } = makeSite();
  const KV = kvAll(() => Promise.reject(new Error("KV PUT failed: 500 Internal")));
  const one = isolate({ env: { KV } });
  await one.view();
  await wait(60_000);
  const { errors } = await healthOf(one);
  assertEquals(errors.count > 0, true);
  assertStringIncludes(errors.last, "500");
});
