/**
 * Prints what the patterns cost a call, and what paging through a feed that changes loses.
 *
 * @module
 */
import { Conversations } from "../lib/conversations.ts";
import { Feed } from "../lib/feed.ts";
import { KeywordLog } from "../lib/keyword_log.ts";
import { type KvOperationCounts, MemoryKv } from "../lib/kv/memory_kv.ts";

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

/** What came of reading a feed while it changes. */
export interface PagingResult {
  /** Pages read. */
  readonly pages: number;
  /** Listings made. */
  readonly lists: number;
  /** Items shown. */
  readonly shown: number;
  /** Items shown more than once. */
  readonly duplicates: number;
  /** Visible items that were there from beginning to end and were not shown. */
  readonly losses: number;
}

/**
 * Pages through 100 items, one in seven hidden, with three additions a page and a removal now and then.
 *
 * @returns What was shown.
 */
export async function pageThroughChanges(): Promise<PagingResult> {
  const time = { now: START };
  const clock = { now: () => time.now };
  const kv = new MemoryKv(clock);
  const open = () => new Feed<{ id: string }>(kv, { id: ({ id }) => id, clock, headSeconds: 0 });
  const writer = open();
  const keys = new Map<string, string>();
  const add = async (id: string) => {
    keys.set(id, (await writer.add("news", { id })).key);
    time.now += 1_000;
  };
  for (let i = 0; i < 100; i++) await add(`old ${i}`);
  const visible = ({ id }: { id: string }) =>
    !(id.startsWith("old") && Number(id.slice(4)) % 7 === 0);
  const seen: string[] = [];
  const removed = new Set<string>();
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await open().page("news", { cursor, visible });
    seen.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
    pages++;
    for (let i = 0; i < 3; i++) await add(`new ${pages} ${i}`);
    const id = `old ${80 - pages * 5}`;
    if (pages % 3 === 0 && !seen.includes(id)) {
      await writer.remove("news", { key: keys.get(id) ?? "" });
      removed.add(id);
    }
  } while (cursor !== undefined);
  const there = Array.from({ length: 100 }, (_, i) => `old ${i}`)
    .filter((id) => visible({ id }) && !removed.has(id));
  return {
    pages,
    lists: kv.operations.list,
    shown: seen.length,
    duplicates: seen.length - new Set(seen).size,
    losses: there.filter((id) => !seen.includes(id)).length,
  };
}

/**
 * Counts the operations of each call.
 *
 * @returns Operations by call.
 */
export async function operationsPerCall(): Promise<Record<string, KvOperationCounts>> {
  const time = { now: START };
  const clock = { now: () => time.now };
  const kv = new MemoryKv(clock);
  const ctx = { waitUntil: () => {} };
  const chats = new Conversations(kv, { clock });
  const keywords = new KeywordLog(kv, { clock });
  const feed = new Feed<{ id: string; text?: string }>(kv, { id: ({ id }) => id, clock });
  const reader = new Feed<{ id: string; text?: string }>(kv, { id: ({ id }) => id, clock });
  const turn = (id: string) => [
    { id: `${id}q`, role: "user", content: "?" },
    { id: `${id}a`, role: "assistant", content: "." },
  ];
  const { key } = await feed.add("news", { id: "large", text: "x".repeat(2_000) });
  const calls: [string, () => unknown][] = [
    ["chats.append, a turn", () => chats.append("t", turn("1"))],
    ["chats.append, the same turn", () => chats.append("t", turn("1"))],
    ["chats.load", () => chats.load("t")],
    ["chats.touch, fresh", () => chats.touch("t")],
    ["chats.touch, half gone", () => (time.now += 16 * DAY_MS, chats.touch("t"))],
    ["chats.clear", () => chats.clear("t")],
    ["keywords.log, 10,000 times", () => {
      for (let i = 0; i < 10_000; i++) keywords.log(`term ${i % 40}`, ctx);
    }],
    ["keywords.flush", () => keywords.flush()],
    ["keywords.top, 7 days", () => keywords.top()],
    ["keywords.top, cached", () => keywords.top()],
    ["feed.add", () => feed.add("news", { id: "small" })],
    ["feed.page, one large item", () => reader.page("news")],
    ["feed.page, remembered", () => reader.page("news")],
    ["feed.remove", () => feed.remove("news", { key })],
  ];
  const table: Record<string, KvOperationCounts> = {};
  for (const [name, call] of calls) {
    const before = { ...kv.operations };
    await call();
    const { read, write, list, delete: deleted } = kv.operations;
    table[name] = {
      read: read - before.read,
      write: write - before.write,
      list: list - before.list,
      delete: deleted - before.delete,
    };
  }
  return table;
}

if (import.meta.main) {
  console.table(await operationsPerCall());
  console.log("Paging through 100 items, hidden ones, additions and removals:");
  console.table([await pageThroughChanges()]);
}
