/** How a page of a {@linkcode Feed} is filled. */

import { parseRecord } from "./_common.ts";
import { parseStored, type Row } from "./_feed_pages.ts";
import type { FeedEntry } from "./_feed_types.ts";
import type { Kv } from "./kv/kv.ts";
import { readMany } from "./kv/read_many.ts";

/** Goes through rows until a page is full. */
export class FeedWalk<T> {
  readonly entries: FeedEntry<T>[] = [];
  gets = 0;
  damaged = 0;
  readonly #ids = new Set<string>();
  readonly #show: number;
  readonly #getsMax: number;
  readonly #visible: (item: T) => boolean;
  readonly #parse: (value: unknown) => T | undefined;

  constructor(
    show: number,
    getsMax: number,
    visible: (item: T) => boolean,
    parse: ((value: unknown) => T | undefined) | undefined,
  ) {
    this.#show = show;
    this.#getsMax = getsMax;
    this.#visible = visible;
    this.#parse = parse ?? ((value) => value as T);
  }

  /** Examines rows in order. No more than can be shown are read, so that none is passed over. */
  async through(kv: Kv, rows: readonly Row[], now: number, report: (error: unknown) => void) {
    let last: string | undefined;
    let at = 0;
    while (at < rows.length && this.entries.length < this.#show) {
      const some: Row[] = [];
      const unread: Row[] = [];
      for (const row of rows.slice(at, at + this.#show - this.entries.length)) {
        if (!row.stored && this.gets + unread.length >= this.#getsMax) break;
        if (!row.stored) unread.push(row);
        some.push(row);
      }
      if (some.length === 0) break;
      this.gets += unread.length;
      try {
        // deno-lint-ignore scrimp/no-await-in-loop
        const values = await readMany(kv, unread.map(({ name }) => name));
        for (const row of unread) {
          const text = values.get(row.name) ?? null;
          row.stored = text === null ? undefined : parseStored(parseRecord(text));
          if (text !== null && !row.stored) this.damaged++;
        }
      } catch (error) {
        report(error);
        return { last, more: true, failed: true };
      }
      for (const row of some) this.#examine(row, now);
      last = some.at(-1)?.name;
      at += some.length;
    }
    return { last, more: at < rows.length, failed: false };
  }

  #examine({ name, stored }: Row, now: number): void {
    if (!stored || this.#ids.has(stored.id)) return;
    if (stored.expiresMs !== undefined && stored.expiresMs <= now) return;
    const item = this.#parse(structuredClone(stored.item));
    if (item === undefined || !this.#visible(item)) return;
    this.#ids.add(stored.id);
    this.entries.push({ key: name, atMs: stored.at, item });
  }
}
