import { assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { hashId, hashKey } from "../lib/hash_id.ts";
import { ipKey } from "../lib/ip_key.ts";

function check(ip: string, key: string) {
  Deno.test(`ipKey() makes ${key} of ${ip}`, () => assertEquals(ipKey(ip), key));
}

check("0.0.0.0", "0.0.0.0");
check("255.255.255.255", "255.255.255.255");
check("::ffff:1.2.3.4", "1.2.3.4");
check("::FFFF:1.2.3.4", "1.2.3.4");
check("::ffff:102:304", "1.2.3.4");
check("0:0:0:0:0:ffff:0102:0304", "1.2.3.4");
check("0000:0000:0000:0000:0000:ffff:1.2.3.4", "1.2.3.4");
check("0::ffff:c0a8:1", "192.168.0.1");
check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64");
check("2001:0DB8:0001:0002::", "2001:db8:1:2::/64");
check("2001:db8::1", "2001:db8::/64");
check("2001:db8:0:0:1::", "2001:db8::/64");
check("::", "0::/64");
check("::1", "0::/64");
check("::ffff:0:1.2.3.4", "0::/64");
check("64:ff9b::1.2.3.4", "64:ff9b::/64");
check("fe80::1%eth0", "fe80::/64");
check("[2001:db8::1]", "2001:db8::/64");
check("1:2:3:4:5:6:7.8.9.10", "1:2:3:4::/64");
check("0:0:0:1::", "0:0:0:1::/64");

Deno.test("ipKey() gives one key to a /64, and another to its neighbor", () => {
  const keys = new Set<string>();
  for (let i = 0; i < 500; i++) keys.add(ipKey(`2001:db8:7:9:${(i * 131).toString(16)}::${i}`));
  assertEquals([...keys], ["2001:db8:7:9::/64"]);
  assertNotEquals(ipKey("2001:db8:7:a::1"), "2001:db8:7:9::/64");
});

Deno.test("ipKey() takes another length of network", () => {
  assertEquals(ipKey("2001:db8:1:2ff:3::", { v6: 56 }), "2001:db8:1:200::/56");
  assertEquals(ipKey("2001:db8:1:2::", { v6: 48 }), "2001:db8:1::/48");
  assertEquals(ipKey("1:2:3:4:5:6:7:8", { v6: 128 }), "1:2:3:4:5:6:7:8/128");
  assertEquals(ipKey("8000::", { v6: 1 }), "8000::/1");
  for (const v6 of [0, 129, 1.5, NaN]) {
    assertThrows(() => ipKey("::1", { v6 }), RangeError, "from 1 to 128");
  }
});

Deno.test("ipKey() refuses what is no address", () => {
  const bad = [
    "",
    " ",
    "unknown",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.4 ",
    "1.2.3.4,5.6.7.8",
    "1.2.3.4:80",
    "1..2.3",
    "1.2.3.4.",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "12345::",
    "g::",
    "::1.2.3",
    "::1.2.3.4:5",
    "1.2.3.4::",
    "[::1",
    "::1%",
    "-1.2.3.4",
    undefined,
    null,
    7,
  ];
  for (const ip of bad) assertThrows(() => ipKey(ip as string), TypeError, "Client address");
});

Deno.test("hashId() changes with secret, id and day, and takes any id", async () => {
  const noon = Date.UTC(2026, 0, 1, 12);
  const key = await hashKey("secret");
  const base = await hashId(key, "192.0.2.7", noon);
  assertEquals(base, await hashId("secret", "192.0.2.7", noon + 1));
  const others = await Promise.all([
    hashId("other", "192.0.2.7", noon),
    hashId(key, "192.0.2.8", noon),
    hashId(key, "192.0.2.7", noon + 86_400_000),
    hashId(key, "\ud800", noon),
    hashId(key, "\ud801", noon),
    hashId(key, "\ufffd", noon),
  ]);
  assertEquals(new Set([base, ...others]).size, 7);
  for (const hash of others) assertEquals(/^[\w-]{24}$/.test(hash), true);
  await assertRejects(() => hashId("", "a", noon), TypeError, "Secret");
});
