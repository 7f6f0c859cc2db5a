/**
 * Newest-first feeds without a database: a key an item, ordered by inverted time.
 *
 * **Cost.** `add` is one write, `remove` one delete. `page` makes at most `listsMax` lists and `get`
 * reads, in the common case one list and no read: items of up to 1,024 bytes travel in the list. The
 * first list page is remembered, in the isolate and in the data center's cache, for `headSeconds`, so
 * that most readers cost nothing.
 *
 * **Consistency.** KV's list lags a minute or more, and the remembered page up to `headSeconds` more.
 * An isolate sees its own additions and removals at once. Pages that follow one another repeat no
 * item and leave none out that was there all the time, whatever is added, removed or hidden meanwhile.
 *
 * **Bounds.** A write that is not granted is not kept for later: the result says so, add it again. A
 * list that is not granted leaves the remembered page, or an empty, `degraded` page whose cursor leads
 * on. The same id at the same time is one item; at another time it is another one, and of two in one
 * page the newer shows.
 *
 * @example Usage
 * ```ts
 * import { Feed } from "@scrimp/kv/feed";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const clock = { now: () => Date.UTC(2026, 0, 1) };
 * const kv = new MemoryKv(clock);
 * const feed = new Feed<{ id: string }>(kv, { id: (post) => post.id, show: 2, clock });
 * for (const id of ["a", "b", "c"]) await feed.add("news", { id });
 * const first = await feed.page("news");
 * assertEquals(first.items, [{ id: "c" }, { id: "b" }]);
 * const second = await feed.page("news", { cursor: first.cursor });
 * assertEquals(second.items, [{ id: "a" }]);
 * assertEquals(kv.operations, { read: 0, write: 3, list: 1, delete: 0 });
 * ```
 *
 * @module
 */

import { ask, bound, checkOptions, parseRecord, partsOf, reporter } from "./_common.ts";
import { decodeFeedCursor, encodeFeedCursor } from "./_feed_cursor.ts";
import {
  type FeedPages,
  feedPages,
  isItemKey,
  type ListPage,
  parseStored,
  PURPOSE,
  type Row,
} from "./_feed_pages.ts";
import { type FeedWalk, walkRows } from "./_feed_walk.ts";
import type { AddResult, FeedOptions, FeedPage, PageOptions } from "./_feed_types.ts";
import { type Clock, systemClock } from "./clock.ts";
import { buildKey, buildPrefix, invertedTime } from "./kv/keys.ts";
import type { Kv } from "./kv/kv.ts";
import { METADATA_BYTES_MAX, ttlSecondsFor } from "./kv/limits.ts";
import { jsonBytes } from "./trim_turns.ts";

export {
  decodeFeedCursor,
  encodeFeedCursor,
  type FeedPosition,
  InvalidCursorError,
} from "./_feed_cursor.ts";
export type { AddResult, FeedEntry, FeedOptions, FeedPage, PageOptions } from "./_feed_types.ts";

/** Items, ids and moments that an isolate remembers. */
const REMEMBERED_MAX = 300;
/** How long own additions and removals outrank what KV lists. */
const RECENT_MS = 120_000;
const ITEM_BYTES_MAX = 1_048_576;
const SEQUENCE_MAX = 9_999;
/** Smaller numbers are seconds by mistake: as milliseconds they lie before April 1973. */
const TIME_MS_MIN = 1e11;
const TIME_MS_MAX = 9_999_999_999_999;

/** What an isolate did to a key: the row it added, or none when it removed it. */
interface Recent {
  readonly row: Row | undefined;
  readonly untilMs: number;
}

/** Feeds in KV. One instance an isolate. */
export class Feed<T> {
  readonly #kv: Kv;
  readonly #options: FeedOptions<T>;
  readonly #bounds: { readonly get: number; readonly show: number; readonly listsMax: number };
  readonly #clock: Pick<Clock, "now">;
  readonly #pages: FeedPages;
  readonly #report: (error: unknown) => void;
  readonly #recent = new Map<string, Recent>();
  /** The next sequence number of a moment. */
  readonly #sequences = new Map<string, number>();
  /** Where an id was added last. */
  readonly #known = new Map<string, { claimed: number; atMs: number; key: string }>();

  /**
   * Makes feeds. Costs nothing.
   *
   * @param kv The namespace.
   * @param options See {@linkcode FeedOptions}.
   * @throws {TypeError} If `id` is no function.
   * @throws {RangeError} If a number among the options is out of bounds.
   */
  constructor(kv: Kv, options: FeedOptions<T>) {
    if (typeof options?.id !== "function") throw new TypeError('Option "id" must be a function');
    const { list = 40, get = 20, show = 6, listsMax = 3, ttlSeconds = 60 } = options;
    const { headSeconds = 60 } = options;
    checkOptions({
      list: [list, 1, 1_000],
      get: [get, 1, 100],
      show: [show, 1, 100],
      listsMax: [listsMax, 1, 50],
      ttlSeconds: [ttlSeconds, 0.001, 1e9],
      headSeconds: [headSeconds, 0, 3_600],
    });
    this.#kv = kv;
    this.#options = options;
    this.#bounds = { get, show, listsMax };
    this.#clock = options.clock ?? systemClock;
    this.#report = reporter(options.onError);
    this.#pages = feedPages(kv, options, list, headSeconds * 1_000, this.#report);
  }

  /**
   * Adds an item, or replaces one of the same id and time. One write.
   *
   * Items of the same millisecond keep their order: the one added later shows first. A time that lies
   * ahead is kept with the item, but it is sorted as if it were now.
   *
   * @param feed The feed's name: a text, or several that are kept apart.
   * @param item Something that JSON can hold.
   * @param options `at`: when it happened, in milliseconds or as a `Date`; now by default.
   * @returns Its key, and whether it is stored. Never rejects for trouble with the store.
   * @throws {TypeError} If the name or the item's id is empty, or JSON cannot hold the item.
   * @throws {RangeError} If `at` is no time, or the item is over 1 MiB.
   */
  async add(
    feed: string | readonly string[],
    item: T,
    options: { readonly at?: number | Date | undefined } = {},
  ): Promise<AddResult> {
    const now = Math.floor(this.#clock.now());
    const claimed = options.at === undefined ? now : timeOf(options.at);
    const id = this.#options.id(item);
    if (typeof id !== "string" || id === "") {
      throw new TypeError("Item needs an id, a text that is not empty");
    }
    const { ttlSeconds, inline = true, budget } = this.#options;
    const expiry = ttlSeconds === undefined
      ? {}
      : { expiresMs: Math.ceil(now + ttlSeconds * 1_000) };
    const value = JSON.stringify({ v: 1, id, at: claimed, item, ...expiry });
    const stored = parseStored(parseRecord(value));
    if (!stored) throw new TypeError("Item must be something that JSON can hold");
    const bytes = jsonBytes(stored);
    if (bytes > ITEM_BYTES_MAX) {
      throw new RangeError(`Item must be at most ${ITEM_BYTES_MAX} bytes as JSON: got ${bytes}`);
    }
    const prefix = await this.#prefix(feed);
    const { key, atMs } = await this.#place(prefix, id, claimed, now, options.at === undefined);
    const { granted, retryAfterMs } = ask(budget, PURPOSE);
    if (!granted) return { key, atMs, written: false, reason: "budget", retryAfterMs };
    const metadata = { v: 1, ...stored };
    try {
      await this.#kv.put(key, value, {
        ...(ttlSeconds === undefined ? {} : { expirationTtl: ttlSecondsFor(ttlSeconds * 1_000) }),
        ...(inline && jsonBytes(metadata) <= METADATA_BYTES_MAX ? { metadata } : {}),
      });
    } catch (error) {
      this.#report(error);
      return { key, atMs, written: false, reason: "store", retryAfterMs: 1_000 };
    }
    await this.#did(prefix, key, { name: key, stored }, now);
    return { key, atMs, written: true, retryAfterMs: 0 };
  }

  /**
   * Removes an item. One delete.
   *
   * @param feed The feed's name.
   * @param ref The item's key, from `add` or from a page's `entries`.
   * @returns Whether it was removed; `false` when no delete was granted or KV failed.
   * @throws {TypeError} If the name is empty.
   * @throws {RangeError} If the key is none of this feed.
   */
  async remove(
    feed: string | readonly string[],
    ref: { readonly key: string },
  ): Promise<boolean> {
    const prefix = await this.#prefix(feed);
    const key: unknown = ref?.key;
    if (typeof key !== "string" || !isItemKey(key, prefix)) {
      throw new RangeError(`Key must be one of this feed's items: got ${JSON.stringify(key)}`);
    }
    if (!ask(this.#options.budget, PURPOSE, "delete").granted) return false;
    try {
      await this.#kv.delete(key);
    } catch (error) {
      this.#report(error);
      return false;
    }
    for (const [id, known] of this.#known) if (known.key === key) this.#known.delete(id);
    await this.#did(prefix, key, undefined, this.#clock.now());
    return true;
  }

  /**
   * Shows a page, newest first. At most `listsMax` lists and `get` reads.
   *
   * @param feed The feed's name.
   * @param options See {@linkcode PageOptions}.
   * @returns The items, and a cursor when there may be more. Never rejects for trouble with the store.
   * @throws {TypeError} If the name is empty.
   * @throws {RangeError} If `show` is out of bounds.
   * @throws {InvalidCursorError} If the cursor is not one of this feed.
   */
  async page(
    feed: string | readonly string[],
    options: PageOptions<T> = {},
  ): Promise<FeedPage<T>> {
    const { cursor, show = this.#bounds.show, visible = () => true } = options;
    checkOptions({ show: [show, 1, 100] });
    const prefix = await this.#prefix(feed);
    const start = cursor === undefined || cursor === null
      ? { list: "", after: "", listedMs: 0 }
      : decodeFeedCursor(prefix, cursor);
    const { parse = (value: unknown) => value as T } = this.#options;
    const walk: FeedWalk<T> = {
      show,
      getsMax: this.#bounds.get,
      entries: [],
      ids: new Set(),
      gets: 0,
      damaged: 0,
      itemOf(value) {
        const item = parse(value);
        return item !== undefined && visible(item) ? item : undefined;
      },
    };
    const now = Math.floor(this.#clock.now());
    let { list, listedMs } = start;
    let after = prefix + start.after;
    let lists = 0;
    let failed = false;
    let done = false;
    while (!done) {
      // deno-lint-ignore scrimp/no-await-in-loop
      const head = list === "" ? await this.#pages.head(prefix, listedMs, now) : undefined;
      if (!head && lists >= this.#bounds.listsMax) break;
      if (!head) lists++;
      // deno-lint-ignore scrimp/no-await-in-loop
      const listed = head ?? await this.#pages.list(prefix, list, now);
      failed ||= !listed;
      const page = listed ?? (list === "" ? this.#pages.stale(prefix, listedMs) : undefined);
      if (!page) break;
      listedMs = page.listedMs;
      const gets = walk.gets;
      const rows = this.#rows(prefix, page, list, after);
      // deno-lint-ignore scrimp/no-await-in-loop
      const end = await walkRows(walk, this.#kv, rows, now, this.#report);
      if (list === "" && listed && (!head || walk.gets > gets)) {
        // deno-lint-ignore scrimp/no-await-in-loop
        await this.#pages.remember(prefix, page);
      }
      after = end.last ?? after;
      failed ||= end.failed;
      if (end.more) break;
      list = page.next;
      done = list === "";
      if (walk.entries.length >= show) break;
    }
    if (walk.gets > 0) this.#options.budget?.note(PURPOSE, "read", walk.gets);
    const position = { list, after: after.slice(prefix.length), listedMs };
    return {
      items: walk.entries.map(({ item }) => item),
      entries: walk.entries,
      cursor: done ? undefined : encodeFeedCursor(prefix, position),
      short: !done && walk.entries.length < show,
      degraded: failed,
      lists,
      gets: walk.gets,
      damaged: walk.damaged,
    };
  }

  /** A prefix that is no other feed's beginning: several names become one part. */
  #prefix(feed: string | readonly string[]): Promise<string> {
    const name = partsOf("Feed", feed).map((part) =>
      part.replace(/[%/]/g, (char) => char === "%" ? "%25" : "%2F")
    );
    return buildPrefix([this.#options.prefix ?? PURPOSE, name.join("/")]);
  }

  /** The key of an item: the one it has, or a new one behind those of the same moment. */
  async #place(prefix: string, id: string, claimed: number, now: number, anyTime: boolean) {
    const known = this.#known.get(prefix + id);
    if (known && (anyTime || known.claimed === claimed)) return known;
    const atMs = Math.min(claimed, now);
    const moment = prefix + invertedTime(atMs);
    const sequence = this.#sequences.get(moment) ?? 0;
    this.#sequences.set(moment, Math.min(SEQUENCE_MAX, sequence + 1));
    bound(this.#sequences, REMEMBERED_MAX);
    const ascii = id.replace(
      /[^\x20-\x5b\x5d-\x7e]/g,
      (unit) => `\\${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    const tail = await buildKey([
      invertedTime(atMs),
      String(SEQUENCE_MAX - sequence).padStart(4, "0"),
      ascii,
    ]);
    const place = { claimed, atMs, key: prefix + tail };
    this.#known.set(prefix + id, place);
    bound(this.#known, REMEMBERED_MAX);
    return place;
  }

  async #did(prefix: string, key: string, row: Row | undefined, now: number): Promise<void> {
    this.#recent.delete(key);
    this.#recent.set(key, { row, untilMs: now + RECENT_MS });
    bound(this.#recent, REMEMBERED_MAX);
    await this.#pages.forget(prefix);
  }

  /** The rows of a list page after a key, with what this isolate did lately. */
  #rows(prefix: string, page: ListPage, list: string, after: string): Row[] {
    const now = this.#clock.now();
    const last = page.next ? page.rows.at(-1)?.name ?? "" : "\uffff";
    const rows = new Map(page.rows.map((row) => [row.name, row]));
    for (const [name, { row, untilMs }] of this.#recent) {
      if (untilMs <= now || !name.startsWith(prefix)) continue;
      if (!row) rows.delete(name);
      else if (rows.has(name) || list === "" && name < last) rows.set(name, row);
    }
    return [...rows.values()].filter(({ name }) => name > after)
      .sort((a, b) => a.name < b.name ? -1 : 1);
  }
}

function timeOf(at: number | Date): number {
  const time: unknown = at instanceof Date ? at.getTime() : at;
  if (typeof time !== "number" || !Number.isFinite(time)) {
    throw new RangeError(`Option "at" must be a time: got ${String(at)}`);
  }
  if (!(at instanceof Date) && time < TIME_MS_MIN) {
    throw new RangeError(
      `Option "at" must be in milliseconds, at least ${TIME_MS_MIN}: got ${time}`,
    );
  }
  return Math.min(Math.max(0, Math.floor(time)), TIME_MS_MAX);
}
