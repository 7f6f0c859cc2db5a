/** List pages of a {@linkcode Feed}, the first of which is remembered. */

import { asArray, ask, asRecord, bound, isCount, parseRecord } from "./_common.ts";
import { InvalidCursorError } from "./_feed_cursor.ts";
import type { FeedOptions } from "./_feed_types.ts";
import { classifyKvError } from "./kv/errors.ts";
import type { Kv } from "./kv/kv.ts";
import { jsonBytes } from "./trim_turns.ts";

/** What the ledger calls the operations of feeds. */
export const PURPOSE = "feed";
const HEADS_MAX = 50;
/** Larger values are read anew for each page. */
const REMEMBERED_BYTES_MAX = 8_192;

/** An item as it is stored, in the value and, when it is small, in the metadata. */
export interface Stored {
  readonly id: string;
  /** The time claimed. */
  readonly at: number;
  readonly item: unknown;
  /** When it is over, in milliseconds. */
  readonly expiresMs?: number;
}

/** One key of a list page. */
export interface Row {
  readonly name: string;
  /** What is stored under it, as far as known. */
  stored?: Stored | undefined;
}

/** One list page. */
export interface ListPage {
  readonly rows: readonly Row[];
  /** KV's cursor of the page after it; empty for the last. */
  readonly next: string;
  readonly listedMs: number;
}

/** Reads an item's stored form; `undefined` for anything else. */
export function parseStored(value: unknown): Stored | undefined {
  const { v, id, at, item, expiresMs } = asRecord(value) ?? {};
  if (v !== 1 || typeof id !== "string" || !isCount(at) || item === undefined) return undefined;
  return { id, at, item, ...(isCount(expiresMs) ? { expiresMs } : {}) };
}

/** The keys of one item: inverted time, inverted sequence, id. Others are not the feed's. */
export function isItemKey(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && /^\d{13}:\d{4}:[^:]+$/.test(name.slice(prefix.length));
}

/** List pages, the first of which is remembered. */
export interface FeedPages {
  /** The remembered first page, if it is no older than allowed. At most one look into the cache. */
  head(prefix: string, sinceMs: number, now: number): Promise<ListPage | undefined>;
  /** The first page as this isolate remembers it, however old. */
  stale(prefix: string, sinceMs: number): ListPage | undefined;
  /** Lists a page. One list; `undefined` when it is not granted or KV fails. */
  list(prefix: string, cursor: string, now: number): Promise<ListPage | undefined>;
  /** Remembers a first page, with the small values that were read since. */
  remember(prefix: string, page: ListPage): Promise<void>;
  /** Forgets a first page that a write has made old. */
  forget(prefix: string): Promise<void>;
}

/** Makes what lists pages: `limit` keys each, the first one remembered for `headMs`. */
export function feedPages(
  kv: Kv,
  { budget, edgeCache }: Pick<FeedOptions<never>, "budget" | "edgeCache">,
  limit: number,
  headMs: number,
  report: (error: unknown) => void,
): FeedPages {
  const heads = new Map<string, ListPage>();
  return {
    async head(prefix, sinceMs, now) {
      const good = (page: ListPage | undefined) =>
        page && page.listedMs >= Math.max(sinceMs, now - headMs + 1) ? page : undefined;
      const own = good(heads.get(prefix));
      if (own || headMs === 0) return own;
      const shared = good(parsePage(await edgeCache?.get(cacheKey(prefix)).catch(report) || ""));
      if (shared) heads.set(prefix, shared);
      return shared;
    },
    stale(prefix, sinceMs) {
      const page = heads.get(prefix);
      return page && page.listedMs >= sinceMs ? page : undefined;
    },
    async list(prefix, cursor, now) {
      if (!ask(budget, PURPOSE, "list").granted) return undefined;
      try {
        const page = await kv.list({ prefix, limit, ...(cursor ? { cursor } : {}) });
        const next = "cursor" in page && page.cursor !== cursor ? page.cursor : "";
        const rows = page.keys.filter(({ name }) => isItemKey(name, prefix))
          .map(({ name, metadata }) => ({ name, stored: parseStored(metadata) }));
        return { rows, next, listedMs: now };
      } catch (error) {
        if (cursor && classifyKvError(error) === "limit") {
          throw new InvalidCursorError({ cause: error });
        }
        report(error);
        return undefined;
      }
    },
    async remember(prefix, page) {
      if (headMs === 0) return;
      heads.set(prefix, page);
      bound(heads, HEADS_MAX);
      const rows = page.rows.map(({ name, stored }) =>
        stored && jsonBytes(stored) <= REMEMBERED_BYTES_MAX ? [name, { v: 1, ...stored }] : [name]
      );
      const text = JSON.stringify({ v: 1, at: page.listedMs, next: page.next, rows });
      await edgeCache?.set(cacheKey(prefix), text, Math.ceil(headMs / 1_000)).catch(report);
    },
    async forget(prefix) {
      heads.delete(prefix);
      await edgeCache?.set(cacheKey(prefix), "", 1).catch(report);
    },
  };
}

function cacheKey(prefix: string): string {
  return `feed-head:${prefix}`;
}

function parsePage(text: string): ListPage | undefined {
  const { v, at, next, rows } = parseRecord(text) ?? {};
  if (v !== 1 || !isCount(at) || typeof next !== "string" || !Array.isArray(rows)) return undefined;
  const read = rows.map((row): Row | undefined => {
    const [name, stored] = asArray(row);
    return typeof name === "string" ? { name, stored: parseStored(stored) } : undefined;
  });
  return read.includes(undefined) ? undefined : { rows: read as Row[], next, listedMs: at };
}
