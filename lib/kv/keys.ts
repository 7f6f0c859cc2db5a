/**
 * Keys that cannot collide, cannot leave their prefix and cannot be too long.
 *
 * A key is made of parts, each escaped on its own and joined by colons. Building is injective: two
 * different lists of parts never give one key, whatever strings they hold. Costs no KV operation.
 *
 * @example Hostile ids
 * ```ts
 * import { buildKey, joinKey } from "@scrimp/kv/keys";
 * import { assertEquals, assertNotEquals } from "@std/assert";
 *
 * assertNotEquals(joinKey(["a:b", "c"]), joinKey(["a", "b:c"]));
 * assertEquals(joinKey(["views", "2026-01-01", "LHR"]), "views:2026-01-01:LHR");
 * assertEquals((await buildKey(["rate", "x".repeat(600)])).length, 30);
 * ```
 *
 * @module
 */

import { encodeText, hashText, toUrlSafe } from "../bytes.ts";
import { KvLimitError } from "./errors.ts";
import { KEY_BYTES_MAX } from "./limits.ts";

/** What stands between the parts of a key. */
export const KEY_SEPARATOR = ":";

/** Options of {@linkcode buildKey} and {@linkcode buildPrefix}. */
export interface BuildKeyOptions {
  /**
   * Longest key, in bytes of UTF-8.
   *
   * @default {512}
   */
  readonly keyBytesMax?: number;
  /**
   * Longest part that is kept readable, in bytes of UTF-8 once escaped; a longer one is hashed.
   *
   * @default {128}
   */
  readonly partBytesMax?: number;
}

const HASH_CHARS = 24;
const INVERTED_MAX = 9_999_999_999_999;
const INVERTED_WIDTH = 13;
const UNSAFE =
  // deno-lint-ignore no-control-regex
  /[\x00-\x1f%:\x7f]|^~|^\.{1,2}$|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * The length of a string in bytes of UTF-8. A lone surrogate counts as three, as KV sees it.
 *
 * @param text Any string.
 * @returns Bytes.
 */
export function utf8Length(text: string): number {
  return encodeText(text).length;
}

/**
 * Escapes one part of a key: `%`, `:`, control characters, a leading `~`, a part that is just `.` or
 * `..`, and lone surrogates. Everything else stays as it is, so keys remain readable and sort as
 * their parts do.
 *
 * @param part Any string; the empty one stays empty.
 * @returns A well-formed string without a colon that no other part is escaped to.
 */
export function escapePart(part: string): string {
  return part.replace(UNSAFE, (units) => units.replace(/[^]/g, escapeUnit));
}

/**
 * Reads what {@linkcode escapePart} wrote.
 *
 * @param escaped One part of a key.
 * @returns The part, or `undefined` for what {@linkcode escapePart} cannot have written: a damaged
 * part, or a hashed one.
 */
export function unescapePart(escaped: string): string | undefined {
  const part = escaped.replace(
    /%(?:u([0-9A-F]{4})|([0-9A-F]{2}))/g,
    (_, unit?: string, byte?: string) => String.fromCharCode(parseInt(unit ?? byte ?? "", 16)),
  );
  return escapePart(part) === escaped ? part : undefined;
}

/**
 * Joins parts into a key, at once. For parts whose length is known; see {@linkcode buildKey} for
 * parts that come from outside.
 *
 * @param parts At least one part.
 * @returns The key: at most 512 bytes of UTF-8.
 * @throws {TypeError} If there is no part, or a single empty one.
 * @throws {KvLimitError} If the key would be longer than KV takes.
 */
export function joinKey(parts: readonly string[]): string {
  return checked(parts.map(escapePart).join(KEY_SEPARATOR), KEY_BYTES_MAX);
}

/**
 * Joins parts into the prefix of all keys that begin with them. Always ends with the separator, so
 * `["u", "1"]` never lists `u:10`.
 *
 * @param parts The leading parts; none gives the empty prefix of all keys.
 * @returns The prefix.
 * @throws {KvLimitError} If the prefix would be longer than a key may be.
 */
export function joinPrefix(parts: readonly string[]): string {
  if (parts.length === 0) return "";
  return checked(parts.map(escapePart).join(KEY_SEPARATOR) + KEY_SEPARATOR, KEY_BYTES_MAX);
}

/**
 * Splits a key into the parts it was built of.
 *
 * @param key A key.
 * @returns The parts, or `undefined` when one of them is damaged or hashed.
 */
export function splitKey(key: string): string[] | undefined {
  const parts: string[] = [];
  for (const escaped of key.split(KEY_SEPARATOR)) {
    const part = unescapePart(escaped);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

/**
 * Joins parts of any length into a key. A part over `partBytesMax` becomes `~` and 24 characters of
 * its SHA-256; when the key is still too long, so do further parts, from the last one backwards.
 *
 * @param parts At least one part; any strings, ids from requests included.
 * @param options See {@linkcode BuildKeyOptions}.
 * @returns The key: valid, and within `keyBytesMax`.
 * @throws {TypeError} If there is no part, or a single empty one.
 * @throws {KvLimitError} If there are so many parts that not even hashing all makes them fit.
 */
export async function buildKey(
  parts: readonly string[],
  options: BuildKeyOptions = {},
): Promise<string> {
  const { keyBytesMax = KEY_BYTES_MAX, partBytesMax = 128 } = options;
  const done = await Promise.all(parts.map((part) => bounded(escapePart(part), partBytesMax)));
  for (let i = done.length - 1; i >= 0; i--) {
    if (utf8Length(done.join(KEY_SEPARATOR)) <= keyBytesMax) break;
    const part = done[i] ?? "";
    // deno-lint-ignore scrimp/no-await-in-loop
    if (utf8Length(part) > HASH_CHARS + 1) done[i] = await hashed(part);
  }
  return checked(done.join(KEY_SEPARATOR), keyBytesMax);
}

/**
 * Joins parts of any length into the prefix of all keys that {@linkcode buildKey} makes with them in
 * front. Leave room: a prefix over half the longest key is refused, since `buildKey` would have to
 * hash parts of it.
 *
 * @param parts The leading parts; none gives the empty prefix of all keys.
 * @param options The same as for {@linkcode buildKey}.
 * @returns The prefix; ends with the separator.
 * @throws {KvLimitError} If the prefix is too long.
 */
export async function buildPrefix(
  parts: readonly string[],
  options: BuildKeyOptions = {},
): Promise<string> {
  if (parts.length === 0) return "";
  const { keyBytesMax = KEY_BYTES_MAX } = options;
  const prefix = await buildKey(parts, options) + KEY_SEPARATOR;
  return checked(prefix, Math.floor(keyBytesMax / 2));
}

/**
 * A moment as thirteen digits that sort newest first.
 *
 * @example Newest first
 * ```ts
 * import { invertedTime } from "@scrimp/kv/keys";
 * import { assert, assertEquals } from "@std/assert";
 *
 * assert(invertedTime(Date.UTC(2026, 1)) < invertedTime(Date.UTC(2026, 0)));
 * assertEquals(invertedTime(0).length, 13);
 * ```
 *
 * @param timeMs Milliseconds since the Unix epoch; rounded down, clamped to the years 1970 to 2286.
 * @returns Thirteen digits.
 * @throws {RangeError} If it is not a number.
 */
export function invertedTime(timeMs: number): string {
  if (typeof timeMs !== "number" || Number.isNaN(timeMs)) {
    throw new RangeError(`Time must be a number of milliseconds: got ${timeMs}`);
  }
  const clamped = Math.min(Math.max(Math.floor(timeMs), 0), INVERTED_MAX);
  return String(INVERTED_MAX - clamped).padStart(INVERTED_WIDTH, "0");
}

/**
 * Reads what {@linkcode invertedTime} wrote.
 *
 * @param digits Thirteen digits.
 * @returns Milliseconds since the Unix epoch, or `undefined` for anything else.
 */
export function timeOfInverted(digits: string): number | undefined {
  return /^\d{13}$/.test(digits) ? INVERTED_MAX - Number(digits) : undefined;
}

function escapeUnit(unit: string): string {
  const hex = unit.charCodeAt(0).toString(16).toUpperCase();
  return hex.length > 2 ? `%u${hex}` : `%${hex.padStart(2, "0")}`;
}

async function bounded(escaped: string, bytesMax: number): Promise<string> {
  return utf8Length(escaped) > bytesMax ? await hashed(escaped) : escaped;
}

async function hashed(escaped: string): Promise<string> {
  return "~" + toUrlSafe(await hashText(escaped)).slice(0, HASH_CHARS);
}

function checked(key: string, bytesMax: number): string {
  if (key === "") throw new TypeError("Key must have at least one part that is not empty");
  const actual = utf8Length(key);
  if (actual <= bytesMax) return key;
  throw new KvLimitError(`Key must be at most ${bytesMax} bytes of UTF-8: got ${actual}`, {
    limit: bytesMax,
    actual,
  });
}
