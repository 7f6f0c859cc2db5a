/**
 * A client's id as a keyed hash that changes daily, so that an address is never stored raw.
 *
 * @example Same day, same hash
 * ```ts
 * import { hashId } from "@scrimp/kv/hash-id";
 * import { assertEquals, assertNotEquals } from "@std/assert";
 *
 * const noon = Date.UTC(2026, 0, 1, 12);
 * const hash = await hashId("a secret", "192.0.2.7", noon);
 * assertEquals(hash.length, 24);
 * assertEquals(hash, await hashId("a secret", "192.0.2.7", noon + 3_600_000));
 * assertNotEquals(hash, await hashId("a secret", "192.0.2.7", noon + 86_400_000));
 * ```
 *
 * @module
 */

import { encodeText, signText, toUrlSafe } from "./bytes.ts";
import { escapePart } from "./kv/keys.ts";

const DAY_MS = 86_400_000;
const HASH_CHARS = 24;

/**
 * Makes the key that {@linkcode hashId} hashes with. Make it once and keep it.
 *
 * @param secret Any text that is not empty; the longer and the less guessable, the better.
 * @returns A key that cannot be read out again.
 * @throws {TypeError} If the secret is empty.
 */
export async function hashKey(secret: string): Promise<CryptoKey> {
  if (typeof secret !== "string" || secret === "") {
    throw new TypeError("Secret must be a string that is not empty");
  }
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const extractable = false;
  return await crypto.subtle.importKey("raw", encodeText(secret), hmac, extractable, ["sign"]);
}

/**
 * Hashes an id with HMAC-SHA-256 under a key that changes with each UTC day, cut to 144 bits.
 *
 * Whoever reads the store cannot tell the id from it, nor link one day to the next, without the
 * secret. A limiter sees a client anew at 00:00 UTC. Costs no KV operation.
 *
 * @param secret The secret, or a key made of it by {@linkcode hashKey}.
 * @param id What to hide, for example the result of `ipKey`.
 * @param nowMs The current time, in milliseconds since the Unix epoch.
 * @returns 24 characters of base64url.
 * @throws {TypeError} If the secret is empty.
 */
export async function hashId(
  secret: string | CryptoKey,
  id: string,
  nowMs: number,
): Promise<string> {
  const key = typeof secret === "string" ? await hashKey(secret) : secret;
  const text = `${Math.floor(nowMs / DAY_MS)}:${escapePart(id)}`;
  return toUrlSafe(await signText(key, text)).slice(0, HASH_CHARS);
}
