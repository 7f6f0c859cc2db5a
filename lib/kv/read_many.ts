/**
 * Reads many keys with as few operations as the store allows.
 *
 * @module
 */

import type { Kv } from "./kv.ts";

/** Keys of one bulk read at most. */
const BULK_KEYS_MAX = 100;
/** Single reads under way at once: Workers open six connections. */
const SINGLE_READS = 6;

/**
 * Reads values by key. One read a key; one operation for each 100 of them where the store reads in
 * bulk, otherwise one a key.
 *
 * @param kv The store.
 * @param keys The keys; none may be a bare number, because bulk reads lose those.
 * @returns The values, `null` where there is none.
 */
export async function readMany(
  kv: Kv,
  keys: readonly string[],
): Promise<Map<string, string | null>> {
  const values = new Map<string, string | null>();
  for (let start = 0; start < keys.length; start += BULK_KEYS_MAX) {
    const chunk = keys.slice(start, start + BULK_KEYS_MAX);
    for (const [key, value] of await readChunk(kv, chunk)) values.set(key, value);
  }
  return values;
}

async function readChunk(kv: Kv, keys: string[]): Promise<Map<string, string | null>> {
  let values = new Map<string, string | null>();
  if (keys.length > 1) {
    const bulk: unknown = await (kv as { get(keys: unknown): Promise<unknown> }).get(keys);
    if (bulk instanceof Map) values = bulk as Map<string, string | null>;
  }
  const missing = keys.filter((key) => !values.has(key));
  for (let start = 0; start < missing.length; start += SINGLE_READS) {
    const some = missing.slice(start, start + SINGLE_READS);
    // deno-lint-ignore scrimp/no-await-in-loop -- as above
    const read = await Promise.all(some.map((key) => kv.get(key)));
    some.forEach((key, index) => values.set(key, read[index] ?? null));
  }
  return values;
}
