import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { trafficWorker } from "./_traffic_worker.ts";

const SECRET = "correct horse battery staple";
const PRIVATE = { TRAFFIC_PRIVATE: "1", ADMIN_TOKEN: SECRET };
const GUARDED = [
  "/traffic",
  "/api/traffic",
  "/api/traffic.csv",
  "/api/export",
  "/badge.svg",
  "/count.js",
];

function login(token: string, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: new URLSearchParams({ token }), headers };
}

Deno.test("private numbers are shown to nobody without the secret", async () => {
  for (const path of GUARDED) {
    for (
      const headers of [
        {},
        { authorization: "Bearer" },
        { authorization: `Basic ${SECRET}` },
        { cookie: `scrimp=${Date.now() * 2}.${"A".repeat(43)}=` },
        { cookie: "scrimp=9999999999999.; scrimp=" },
        { cookie: "scrimp=9999999999999.undefined" },
      ]
    ) {
      const response = await trafficWorker(PRIVATE).ask(path, { headers });
      assertEquals([path, response.status], [path, 401]);
      assertNotMatch(await response.text(), /data center/);
    }
    const query = await trafficWorker(PRIVATE).ask(`${path}?token=${encodeURIComponent(SECRET)}`);
    assertEquals(query.status, 401);
  }
});

Deno.test("private numbers open with the token in the header", async () => {
  const worker = trafficWorker(PRIVATE);
  const headers = { authorization: `Bearer ${SECRET}` };
  for (const path of GUARDED) {
    const response = await worker.ask(path, { headers });
    assertEquals([path, response.status], [path, 200]);
    assertEquals(response.headers.get("cache-control"), "private, no-cache");
  }
});

Deno.test("TRAFFIC_PRIVATE without a secret shows nothing", async () => {
  for (const token of [undefined, ""]) {
    const env = { TRAFFIC_PRIVATE: "true", ...(token !== undefined && { ADMIN_TOKEN: token }) };
    for (const path of GUARDED) {
      assertEquals((await trafficWorker(env).ask(path)).status, 503);
    }
    const response = await trafficWorker(env).ask("/traffic/login", login(""));
    assertEquals(response.headers.get("set-cookie"), null);
  }
});

Deno.test("numbers are public unless told otherwise", async () => {
  for (const value of [undefined, "", "0", "false"]) {
    const env = { ADMIN_TOKEN: SECRET, ...(value !== undefined && { TRAFFIC_PRIVATE: value }) };
    assertEquals((await trafficWorker(env).ask("/traffic")).status, 200);
  }
});

Deno.test("logging in gives a session that ends by log-out, by time and with the secret", async () => {
  const worker = trafficWorker(PRIVATE);
  const answer = await worker.ask("/traffic/login", login(SECRET));
  assertEquals([answer.status, answer.headers.get("location")], [303, "/traffic"]);
  const set = answer.headers.get("set-cookie") ?? "";
  assertMatch(
    set,
    /^scrimp=\d+\.\S+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  );
  const cookie = set.split(";")[0] ?? "";
  const page = await worker.ask("/traffic", { headers: { cookie: `other=1; ${cookie}` } });
  assertEquals(page.status, 200);
  assertStringIncludes(await page.text(), 'action="/traffic/logout"');

  const forged = cookie.replace(/=\d+/, (until) => `=9${until.slice(1)}`);
  assertEquals((await worker.ask("/traffic", { headers: { cookie: forged } })).status, 401);
  const other = trafficWorker({ ...PRIVATE, ADMIN_TOKEN: "another" });
  assertEquals((await other.ask("/traffic", { headers: { cookie } })).status, 401);

  const end = await worker.ask("/traffic/logout", { method: "POST" });
  assertMatch(end.headers.get("set-cookie") ?? "", /Max-Age=0/);
  worker.now += 8 * 86_400_000;
  assertEquals((await worker.ask("/traffic", { headers: { cookie } })).status, 401);
});

Deno.test("the cookie is not Secure on plain HTTP, where it would be refused", async () => {
  const worker = trafficWorker(PRIVATE, null, "http://127.0.0.1:8787");
  const set = (await worker.ask("/traffic/login", login(SECRET))).headers.get("set-cookie") ?? "";
  assertMatch(set, /^scrimp=\d+\.\S+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
  const page = await worker.ask("/traffic", { headers: { cookie: set.split(";")[0] ?? "" } });
  assertEquals(page.status, 200);
});

Deno.test("five wrong tokens lock a client out for 15 minutes, and nobody else", async () => {
  const worker = trafficWorker(PRIVATE);
  const from = (ip: string) => ({ "cf-connecting-ip": ip });
  for (let i = 0; i < 5; i++) {
    const response = await worker.ask("/traffic/login", login("wrong", from("2001:db8::1")));
    assertEquals(response.status, 401);
    assertStringIncludes(await response.text(), "Wrong token");
  }
  const locked = await worker.ask("/traffic/login", login(SECRET, from("2001:db8::2")));
  assertEquals(locked.status, 429);
  const bearer = { authorization: `Bearer ${SECRET}`, ...from("2001:db8::3") };
  const api = await worker.ask("/api/traffic", { headers: bearer });
  assertEquals([api.status, api.headers.get("retry-after")], [429, "900"]);
  assertEquals((await worker.ask("/traffic/login", login(SECRET, from("192.0.2.1")))).status, 303);
  worker.now += 15 * 60_000;
  assertEquals(
    (await worker.ask("/traffic/login", login(SECRET, from("2001:db8::2")))).status,
    303,
  );
});

Deno.test("attempts at the same time count as well", async () => {
  const worker = trafficWorker(PRIVATE);
  const all = await Promise.all(
    Array.from({ length: 50 }, () => worker.ask("/traffic/login", login("wrong"))),
  );
  assertEquals(all.filter(({ status }) => status === 401).length, 5);
});

Deno.test("a form on another site is refused", async () => {
  const worker = trafficWorker(PRIVATE);
  for (const path of ["/traffic/login", "/traffic/logout"]) {
    const init = login(SECRET, { origin: "https://evil.example" });
    const response = await worker.ask(path, init);
    assertEquals([response.status, response.headers.get("set-cookie")], [403, null]);
  }
});
