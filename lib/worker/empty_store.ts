/**
 * Stands in for a namespace that is not bound: holds nothing, keeps nothing.
 *
 * @module
 */

import type { Kv } from "../kv/kv.ts";

/** A store without anything in it. */
export const emptyStore: Kv = {
  get: () => Promise.resolve(null),
  getWithMetadata: () => Promise.resolve({ value: null, metadata: null }),
  put: () => Promise.reject(new Error("Cannot store: no KV namespace is bound")),
  delete: () => Promise.resolve(),
  list: () => Promise.resolve({ keys: [], list_complete: true }),
};
