/** How a page of a {@linkcode Feed} is filled. */

import { parseRecord } from "./_common.ts";
import { parseStored, type Row } from "./_feed_pages.ts";
import type { FeedEntry } from "./_feed_types.ts";
import type { Kv } from "./kv/kv.ts";
import { readMany } from "./kv/read_many.ts";

/** A page while it is being filled. */
export interface FeedWalk<T> {
  /** Items wanted. */
  readonly show: number;
  /** Values that may be read. */
  readonly getsMax: number;
  readonly entries: FeedEntry<T>[];
  readonly ids: Set<string>;
  gets: number;
  damaged: number;
  /** The item to show of what is stored, if any. */
  readonly itemOf: (stored: unknown) => T | undefined;
}

/**
 * Examines rows in order. No more than can be shown are read, so that none is passed over. Returns the
 * last key examined, whether rows are left, and whether KV failed.
 */
export async function walkRows<T>(
  walk: FeedWalk<T>,
  kv: Kv,
  rows: readonly Row[],
  now: number,
  report: (error: unknown) => void,
): Promise<{ last: string | undefined; more: boolean; failed: boolean }> {
  let last: string | undefined;
  let at = 0;
  while (at < rows.length && walk.entries.length < walk.show) {
    const some: Row[] = [];
    const unread: Row[] = [];
    for (const row of rows.slice(at, at + walk.show - walk.entries.length)) {
      if (!row.stored && walk.gets + unread.length >= walk.getsMax) break;
      if (!row.stored) unread.push(row);
      some.push(row);
    }
    if (some.length === 0) break;
    walk.gets += unread.length;
    try {
      // deno-lint-ignore scrimp/no-await-in-loop
      const values = await readMany(kv, unread.map(({ name }) => name));
      for (const row of unread) {
        const text = values.get(row.name);
        row.stored = parseStored(parseRecord(text));
        if (typeof text === "string" && !row.stored) walk.damaged++;
      }
    } catch (error) {
      report(error);
      return { last, more: true, failed: true };
    }
    for (const { name, stored } of some) {
      last = name;
      if (!stored || walk.ids.has(stored.id) || (stored.expiresMs ?? Infinity) <= now) continue;
      const item = walk.itemOf(structuredClone(stored.item));
      if (item === undefined) continue;
      walk.ids.add(stored.id);
      walk.entries.push({ key: name, atMs: stored.at, item });
    }
    at += some.length;
  }
  return { last, more: at < rows.length, failed: false };
}
