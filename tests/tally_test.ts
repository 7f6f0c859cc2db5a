import { assertEquals } from "@std/assert";
import {
  addTally,
  capTally,
  countsOf,
  emptyTally,
  eventsOf,
  isCount,
  parseJson,
  parseTally,
  tallyVerdict,
} from "../lib/views/tally.ts";

Deno.test("tallyVerdict() counts every request once", () => {
  const tally = emptyTally();
  tallyVerdict(tally, { counted: true, path: "/a", referrer: "direct", kind: "browser" });
  tallyVerdict(tally, { counted: true, path: "x".repeat(49), referrer: "r", kind: "unverified" });
  tallyVerdict(tally, { counted: false, reason: "bot" });
  assertEquals(countsOf(tally), {
    total: 2,
    paths: { "/a": 1, other: 1 },
    refs: { direct: 1, r: 1 },
    kinds: { browser: 1, unverified: 1 },
    skipped: { bot: 1 },
    dropped: 0,
  });
  assertEquals(eventsOf(tally), 3);
});

Deno.test("tallyVerdict() gives a page called other no room of its own", () => {
  const tally = emptyTally();
  for (const path of ["other", "/a", "/b", "/c", "/a"]) {
    tallyVerdict(tally, { counted: true, path, referrer: "direct", kind: "browser" }, 2);
  }
  assertEquals(countsOf(tally).paths, { other: 2, "/a": 2, "/b": 1 });
});

Deno.test("capTally() keeps the most viewed, ties by key, and the sum", () => {
  const tally = emptyTally();
  for (const [key, count] of [["/b", 2], ["/a", 2], ["/c", 5], ["other", 1], ["/d", 2]] as const) {
    tally.paths.set(key, count);
  }
  assertEquals(countsOf(capTally(tally, 2)).paths, { "/c": 5, "/a": 2, other: 5 });
  assertEquals(capTally(tally, 4).paths, tally.paths);
});

Deno.test("addTally() leaves its source as it is", () => {
  const [sum, one] = [emptyTally(), emptyTally()];
  tallyVerdict(one, { counted: true, path: "__proto__", referrer: "a", kind: "browser" });
  addTally(sum, one);
  addTally(sum, one);
  assertEquals([sum.total, one.total, sum.paths.get("__proto__")], [2, 1, 2]);
  assertEquals(Object.entries(countsOf(sum).paths), [["__proto__", 2]]);
});

Deno.test("parseTally() reads the article's buckets and refuses damage", () => {
  const read = parseTally({ total: 3, paths: { "/": 3 }, refs: { direct: 3 } });
  assertEquals(read && [read.total, read.paths.get("/"), read.kinds.size], [3, 3, 0]);
  for (
    const value of [
      undefined,
      null,
      5,
      "x",
      [],
      {},
      { total: -1 },
      { total: 1.5 },
      { total: "3" },
      { total: 1, dropped: -1 },
      { total: 1, paths: [] },
      { total: 1, paths: null },
      { total: 1, refs: { a: -1 } },
      { total: 1, kinds: { a: NaN } },
      { total: 1, skipped: "x" },
    ]
  ) {
    assertEquals(parseTally(value), undefined, JSON.stringify(value));
  }
});

Deno.test("isCount() and parseJson() never throw", () => {
  for (const value of [-1, 1.5, NaN, Infinity, "1", null, undefined, 2 ** 53]) {
    assertEquals(isCount(value), false, String(value));
  }
  assertEquals([isCount(0), isCount(5)], [true, true]);
  for (const text of [null, undefined, "", "{"]) assertEquals(parseJson(text), undefined);
  assertEquals(parseJson("[1]"), [1]);
});
