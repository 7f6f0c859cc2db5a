import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { KvLimitError } from "../lib/kv/errors.ts";
import {
  buildKey,
  buildPrefix,
  escapePart,
  invertedTime,
  joinKey,
  joinPrefix,
  splitKey,
  timeOfInverted,
  unescapePart,
  utf8Length,
} from "../lib/kv/keys.ts";

const HOSTILE = [
  "",
  "a",
  "a:b",
  "a%3Ab",
  "%",
  "~x",
  "%7Ex",
  ".",
  "..",
  "...",
  "\0",
  "\x7f",
  "\n",
  "é",
  "e\u0301",
  "😀",
  "\ud83d",
  "\ude00",
  "\ud83d\ud83d\ude00\ude00",
  "%uD83D",
  "\ufffd",
  "__proto__",
];

Deno.test("escapePart() is injective, reversible and well-formed", () => {
  const escaped = HOSTILE.map(escapePart);
  assertEquals(new Set(escaped).size, HOSTILE.length);
  assertEquals(escaped.map(unescapePart), HOSTILE);
  for (const part of escaped) assert(part.isWellFormed() && !part.includes(":"), part);
  assertEquals(escapePart("..\ud800~:"), "..%uD800~%3A");
});

Deno.test("unescapePart() refuses what escapePart() never writes", () => {
  for (const text of ["a:b", "%", "%zz", "%41", "~hash", "%u0041", "%ud83d"]) {
    assertEquals(unescapePart(text), undefined, text);
  }
});

Deno.test("joinKey() keeps lists of parts apart", () => {
  const keys = HOSTILE.flatMap((a) => HOSTILE.map((b) => joinKey([a, b])));
  assertEquals(new Set(keys).size, HOSTILE.length ** 2);
  assertEquals(splitKey(joinKey(HOSTILE)), HOSTILE);
  assertEquals(splitKey("a:~b"), undefined);
  assertThrows(() => joinKey([]), TypeError, "Key must have at least one part");
  assertThrows(() => joinKey([""]), TypeError);
  assertThrows(
    () => joinKey(["x".repeat(513)]),
    KvLimitError,
    "Key must be at most 512 bytes of UTF-8: got 513",
  );
});

Deno.test("joinPrefix() and buildPrefix() end with the separator", async () => {
  assertEquals(joinPrefix([]), "");
  assertEquals(await buildPrefix([]), "");
  assertEquals(joinPrefix(["u", "1"]), "u:1:");
  assertEquals(await buildPrefix(["u", "1"]), "u:1:");
  const long = "é".repeat(300);
  assert((await buildKey([long, long, "c", long])).startsWith(await buildPrefix([long, long])));
  const wide = "x".repeat(120);
  await assertRejects(() => buildPrefix([wide, wide, wide]), KvLimitError);
});

Deno.test("buildKey() hashes long parts, and more when it must", async () => {
  const long = "x".repeat(129);
  const key = await buildKey(["p", long]);
  assertEquals(utf8Length(key), 27);
  assert(key.startsWith("p:~"));
  assert(key !== await buildKey(["p", long + "x"]));
  const parts = Array.from({ length: 5 }, (_, i) => String(i).repeat(128));
  const bounded = await buildKey(parts);
  assert(utf8Length(bounded) <= 512);
  assert(bounded.startsWith(`${parts[0]}:${parts[1]}:${parts[2]}:~`));
  await assertRejects(() => buildKey(Array(30).fill(long)), KvLimitError);
  await assertRejects(() => buildKey([]), TypeError);
});

Deno.test("utf8Length() counts bytes as KV does", () => {
  for (const text of HOSTILE) assertEquals(utf8Length(text), new TextEncoder().encode(text).length);
});

Deno.test("invertedTime() sorts newest first at a fixed width", () => {
  const times = [0, 1, 999, 1_700_000_000_000, 9_999_999_999_999];
  const texts = times.map(invertedTime);
  assertEquals(texts.toSorted(), texts.toReversed());
  assertEquals(texts.map(timeOfInverted), times);
  assert(texts.every((text) => text.length === 13));
  assertEquals(invertedTime(-5), invertedTime(0));
  assertEquals(invertedTime(Infinity), "0000000000000");
  assertEquals(invertedTime(1.9), invertedTime(1));
  assertThrows(
    () => invertedTime(NaN),
    RangeError,
    "Time must be a number of milliseconds: got NaN",
  );
  assertEquals(timeOfInverted("12"), undefined);
});
