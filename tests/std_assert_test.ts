import * as assert from "@std/assert";
import config from "../deno.json" with { type: "json" };
import standIn from "./std_assert/deno.json" with { type: "json" };

const { assertEquals, assertThrows, assertRejects, AssertionError } = assert;

// deno-lint-ignore no-explicit-any
type ErrorClass<E> = abstract new (...args: any[]) => E;

/** The signatures that `@std/assert` 1 documents, of functions that return a value or nothing. */
interface Original {
  assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void;
  assertArrayIncludes<T>(
    actual: ArrayLike<T> & object,
    expected: ArrayLike<T> & object,
    msg?: string,
  ): void;
  assertEquals<T>(actual: T, expected: T, msg?: string): void;
  assertGreater<T>(actual: T, expected: T, msg?: string): void;
  assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void;
  assertLess<T>(actual: T, expected: T, msg?: string): void;
  assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void;
  assertMatch(actual: string, expected: RegExp, msg?: string): void;
  assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
  assertNotMatch(actual: string, expected: RegExp, msg?: string): void;
  assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void;
  assertObjectMatch(
    // deno-lint-ignore no-explicit-any
    actual: Record<PropertyKey, any>,
    expected: Record<PropertyKey, unknown>,
    msg?: string,
  ): void;
  assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
  assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    ErrorClass: ErrorClass<E>,
    msgIncludes?: string,
    msg?: string,
  ): Promise<E>;
  assertStringIncludes(actual: string, expected: string, msg?: string): void;
  assertThrows(fn: () => unknown, msg?: string): unknown;
  assertThrows<E extends Error = Error>(
    fn: () => unknown,
    ErrorClass: ErrorClass<E>,
    msgIncludes?: string,
    msg?: string,
  ): E;
  equal(c: unknown, d: unknown): boolean;
  fail(msg?: string): never;
  unimplemented(msg?: string): never;
  unreachable(reason?: string): never;
}

/** The names that `@std/assert` 1 exports. */
const NAMES = [
  "AssertionError",
  "assert",
  "assertAlmostEquals",
  "assertArrayIncludes",
  "assertEquals",
  "assertExists",
  "assertFalse",
  "assertGreater",
  "assertGreaterOrEqual",
  "assertInstanceOf",
  "assertIsError",
  "assertLess",
  "assertLessOrEqual",
  "assertMatch",
  "assertNotEquals",
  "assertNotInstanceOf",
  "assertNotMatch",
  "assertNotStrictEquals",
  "assertObjectMatch",
  "assertRejects",
  "assertStrictEquals",
  "assertStringIncludes",
  "assertThrows",
  "equal",
  "fail",
  "unimplemented",
  "unreachable",
];

Deno.test("the stand-in is the original's by name and signature", () => {
  const signatures: Original = assert;
  assertEquals(Object.keys(signatures).sort(), NAMES);
});

Deno.test("removing the link is the only change that the original needs", () => {
  assertEquals(config.imports["@std/assert"], "jsr:@std/assert@^1");
  assertEquals(config.links, ["./tests/std_assert"]);
  assertEquals(standIn.name, "@std/assert");
  assertEquals(standIn.version.split(".")[0], "1");
});

Deno.test("the stand-in's assertions narrow types as the original's do", () => {
  const error: unknown = new RangeError("Too far");
  assert.assertInstanceOf(error, Error);
  assertEquals(error.message, "Too far");
  const text: string | null = ["a", null][0] ?? null;
  assert.assertExists(text);
  assertEquals(text.length, 1);
  const word: unknown = "a";
  assert.assertStrictEquals(word, "a" as const);
  assertEquals(word.toUpperCase(), "A");
  const either: string | RangeError = [new RangeError("Too far"), "a"][1] ?? "";
  assert.assertNotInstanceOf(either, RangeError);
  assertEquals(either.length, 1);
});

/** Calls that must fail, by name. */
const FAILING: Readonly<Record<string, () => unknown>> = {
  assert: () => assert.assert(0),
  assertAlmostEquals: () => assert.assertAlmostEquals(1, 1.1, 0.05),
  assertArrayIncludes: () => assert.assertArrayIncludes([1], [2]),
  assertEquals: () => assertEquals({ a: [1] }, { a: [2] }),
  assertExists: () => assert.assertExists(null),
  assertFalse: () => assert.assertFalse("a"),
  assertGreater: () => assert.assertGreater(1, 1),
  assertGreaterOrEqual: () => assert.assertGreaterOrEqual(1, 2),
  assertInstanceOf: () => assert.assertInstanceOf({}, Date),
  assertIsError: () => assert.assertIsError(new Error("a"), Error, /b/),
  assertLess: () => assert.assertLess(1, 1),
  assertLessOrEqual: () => assert.assertLessOrEqual(2, 1),
  assertMatch: () => assert.assertMatch("a", /b/),
  assertNotEquals: () => assert.assertNotEquals([1], [1]),
  assertNotInstanceOf: () => assert.assertNotInstanceOf(new Date(0), Date),
  assertNotMatch: () => assert.assertNotMatch("a", /a/),
  assertNotStrictEquals: () => assert.assertNotStrictEquals(1, 1),
  assertObjectMatch: () => assert.assertObjectMatch({ a: { b: 1 } }, { a: { b: 2 } }),
  assertStrictEquals: () => assert.assertStrictEquals<object>({}, {}),
  assertStringIncludes: () => assert.assertStringIncludes("a", "b"),
  assertThrows: () => assertThrows(() => 1),
  fail: () => assert.fail(),
  unimplemented: () => assert.unimplemented(),
  unreachable: () => assert.unreachable(),
};

for (const [name, call] of Object.entries(FAILING)) {
  Deno.test(`${name}() fails with an AssertionError`, () => {
    assertThrows(call, AssertionError);
  });
}

Deno.test("assertThrows() and assertRejects() check class and message", async () => {
  const thrown = assertThrows(() => JSON.parse("{"), SyntaxError, "JSON");
  assertEquals(thrown.name, "SyntaxError");
  assertThrows(() => assertThrows(() => JSON.parse("{"), RangeError), AssertionError);
  assertThrows(() => assertThrows(() => JSON.parse("{"), Error, "no such"), AssertionError);
  const rejected = await assertRejects(() => Promise.reject(new RangeError("Far")), RangeError);
  assertEquals(rejected.message, "Far");
  await assertRejects(() => assertRejects(() => Promise.resolve(1)), AssertionError);
});
