/**
 * A stand-in for `@std/assert` with the same names and signatures, on `node:assert/strict`, for
 * machines that cannot reach the registry it lives on. Remove the `links` entry in `deno.json` and
 * the tests run on the original.
 *
 * @module
 */
// deno-lint-ignore-file no-explicit-any
import nodeAssert from "node:assert/strict";
import { inspect, isDeepStrictEqual } from "node:util";

/** Thrown by a failed assertion. */
export class AssertionError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

function check(ok: boolean, problem: string, msg?: string): void {
  if (!ok) throw new AssertionError(msg === undefined ? problem : `${problem}: ${msg}`);
}

function show(value: unknown): string {
  return inspect(value, { depth: 8, breakLength: 100, maxArrayLength: 50, maxStringLength: 2000 });
}

/** Asserts that the expression is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** What counts as false. */
export type Falsy = false | 0 | 0n | "" | null | undefined;

/** Asserts that the expression is falsy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** Whether two values are deeply equal. */
export function equal(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

/** Asserts deep equality. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  try {
    nodeAssert.deepStrictEqual(actual, expected);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new AssertionError(
      `Values are not equal${msg === undefined ? "." : `: ${msg}`}\n${detail}`,
    );
  }
}

/** Asserts deep inequality. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  check(
    !isDeepStrictEqual(actual, expected),
    `Expected actual: ${show(actual)} not to be: ${show(expected)}`,
    msg,
  );
}

/** Asserts identity, as `Object.is` sees it. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  check(
    Object.is(actual, expected),
    `Values are not strictly equal: ${show(actual)} and ${show(expected)}`,
    msg,
  );
}

/** Asserts that two values are not identical. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  check(!Object.is(actual, expected), `Expected "actual" not to be: ${show(expected)}`, msg);
}

/** Asserts that a number is within `tolerance` of another. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  const delta = Math.abs(expected - actual);
  check(
    delta <= allowed,
    `Expected actual: "${actual}" to be close to "${expected}": delta "${delta}" is greater than "${allowed}"`,
    msg,
  );
}

/** Asserts that a value is neither `null` nor `undefined`. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  check(
    actual !== undefined && actual !== null,
    `Expected actual: "${actual}" to not be null or undefined`,
    msg,
  );
}

/** Asserts that a string contains another. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  check(actual.includes(expected), `Expected actual: "${actual}" to contain: "${expected}"`, msg);
}

/** Asserts that a string matches. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  check(expected.test(actual), `Expected actual: "${actual}" to match: "${expected}"`, msg);
}

/** Asserts that a string does not match. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  check(!expected.test(actual), `Expected actual: "${actual}" to not match: "${expected}"`, msg);
}

/** An array or something like one, strings aside. */
export type ArrayLikeArg<T> = ArrayLike<T> & object;

/** Asserts that an array contains all expected elements. */
export function assertArrayIncludes<T>(
  actual: ArrayLikeArg<T>,
  expected: ArrayLikeArg<T>,
  msg?: string,
): void {
  const missing = Array.from(expected).filter((item) =>
    !Array.from(actual).some((other) => isDeepStrictEqual(item, other))
  );
  check(
    missing.length === 0,
    `Expected actual: "${show(actual)}" to include: "${show(expected)}"\nmissing: ${show(missing)}`,
    msg,
  );
}

/** Asserts that `actual` has at least what `expected` has, deeply. */
export function assertObjectMatch(
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  check(
    matches(actual, expected),
    `Expected ${show(actual)} to match ${show(expected)}`,
    msg,
  );
}

function matches(actual: any, expected: any): boolean {
  if (typeof expected !== "object" || expected === null) return Object.is(actual, expected);
  if (typeof actual !== "object" || actual === null) return false;
  if (expected instanceof RegExp || expected instanceof Date || expected instanceof Map) {
    return isDeepStrictEqual(actual, expected);
  }
  return Reflect.ownKeys(expected).every((key) =>
    Object.hasOwn(actual, key) && matches(actual[key], expected[key])
  );
}

/** Asserts `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  check(actual > expected, `Expect ${show(actual)} > ${show(expected)}`, msg);
}

/** Asserts `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  check(actual >= expected, `Expect ${show(actual)} >= ${show(expected)}`, msg);
}

/** Asserts `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  check(actual < expected, `Expect ${show(actual)} < ${show(expected)}`, msg);
}

/** Asserts `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  check(actual <= expected, `Expect ${show(actual)} <= ${show(expected)}`, msg);
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<T extends abstract new (...args: any[]) => any>(
  actual: unknown,
  expectedType: T,
  msg = "",
): asserts actual is InstanceType<T> {
  check(
    actual instanceof expectedType,
    `Expected object to be an instance of "${expectedType.name}"`,
    msg === "" ? undefined : msg,
  );
}

/** Asserts that a value is no instance of a class. */
export function assertNotInstanceOf<A, T>(
  actual: A,
  unexpectedType: abstract new (...args: any[]) => T,
  msg?: string,
): asserts actual is Exclude<A, T> {
  check(
    !(actual instanceof unexpectedType),
    `Expected object to not be an instance of "${unexpectedType.name}"`,
    msg,
  );
}

/** Asserts that a value is an error of a class, with a message. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  ErrorClass?: abstract new (...args: any[]) => E,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  check(
    error instanceof Error,
    `Expected "error" to be an Error object: ${show(error)}`,
    msg,
  );
  if (!(error instanceof Error)) return;
  if (ErrorClass) {
    check(
      error instanceof ErrorClass,
      `Expected error to be instance of "${ErrorClass.name}", but was "${error.constructor.name}": ${error.message}`,
      msg,
    );
  }
  if (msgMatches === undefined) return;
  const fits = typeof msgMatches === "string"
    ? error.message.includes(msgMatches)
    : msgMatches.test(error.message);
  check(
    fits,
    `Expected error message to match ${show(msgMatches)}, but got ${show(error.message)}`,
    msg,
  );
}

type ErrorClassOf<E extends Error> = abstract new (...args: any[]) => E;

/** Asserts that a function throws. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Asserts that a function throws an error of a class, with a message. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ErrorClassOf<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  classOrMessage?: ErrorClassOf<E> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  const [ErrorClass, note] = split(classOrMessage, msg);
  try {
    fn();
  } catch (error) {
    if (ErrorClass) assertIsError(error, ErrorClass, msgIncludes, note);
    return error;
  }
  throw new AssertionError(`Expected function to throw${note ? `: ${note}` : "."}`);
}

/** Asserts that a promise rejects. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Asserts that a promise rejects with an error of a class, with a message. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorClassOf<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  classOrMessage?: ErrorClassOf<E> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  const [ErrorClass, note] = split(classOrMessage, msg);
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (error) {
    throw new AssertionError(
      `Function throws when expected to reject${note ? `: ${note}` : "."}`,
      { cause: error },
    );
  }
  try {
    await promise;
  } catch (error) {
    if (ErrorClass) assertIsError(error, ErrorClass, msgIncludes, note);
    return error;
  }
  throw new AssertionError(`Expected function to reject${note ? `: ${note}` : "."}`);
}

function split<E extends Error>(
  classOrMessage: ErrorClassOf<E> | string | undefined,
  msg: string | undefined,
): [ErrorClassOf<E> | undefined, string | undefined] {
  return typeof classOrMessage === "string" ? [undefined, classOrMessage] : [classOrMessage, msg];
}

/** Fails. */
export function fail(msg?: string): never {
  throw new AssertionError(`Failed assertion${msg ? `: ${msg}` : "."}`);
}

/** Fails because something is not written yet. */
export function unimplemented(msg?: string): never {
  throw new AssertionError(`Unimplemented${msg ? `: ${msg}` : "."}`);
}

/** Fails because this point was not to be reached. */
export function unreachable(msg?: string): never {
  throw new AssertionError(`Unreachable${msg ? `: ${msg}` : "."}`);
}
