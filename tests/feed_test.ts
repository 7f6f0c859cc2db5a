import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Budget } from "../lib/budget.ts";
import {
  decodeFeedCursor,
  encodeFeedCursor,
  Feed,
  type FeedOptions,
  InvalidCursorError,
} from "../lib/feed.ts";
import { utf8Length } from "../lib/kv/keys.ts";
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { EdgeCacheFake } from "../lib/sim/mod.ts";

const START = Date.UTC(2026, 10, 30, 12);

interface Post {
  readonly id: string;
  readonly text?: string;
}

function setUp(options: Partial<FeedOptions<Post>> = {}) {
  const time = { now: START };
  const clock = { now: () => time.now };
  const kv = new MemoryKv(clock);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const open = (more: Partial<FeedOptions<Post>> = {}, store: Kv = kv) =>
    new Feed<Post>(store, { id: (post) => post.id, clock, onError, ...options, ...more });
  return { time, clock, kv, errors, open };
}

function ids(items: readonly Post[]): string {
  return items.map(({ id }) => id).join(" ");
}

/** Reads to the end, page by page. */
async function readAll(feed: Feed<Post>, name: string | string[] = "f", options = {}) {
  const items: Post[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await feed.page(name, { ...options, cursor });
    items.push(...page.items);
    cursor = page.cursor;
    pages++;
    assert(pages < 1_000, "paging does not end");
  } while (cursor !== undefined);
  return { items, pages };
}

/** A store in which the named operations fail. */
function flaky(kv: MemoryKv, down: Set<string>): Kv {
  const guard = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    down.has(name) ? Promise.reject(new Error("KV GET failed: 503 x")) : work();
  return {
    get: (key) => guard("get", () => kv.get(key)),
    getWithMetadata: (key) => guard("get", () => kv.getWithMetadata(key)),
    put: (key, value, options) => guard("put", () => kv.put(key, value, options)),
    delete: (key) => guard("delete", () => kv.delete(key)),
    list: (options) => guard("list", () => kv.list(options)),
  };
}

Deno.test("add() makes one write and page() one list and no read for small items", async () => {
  const { kv, open } = setUp();
  const feed = open();
  const added = await feed.add("f", { id: "1", text: "x" });
  assertEquals([added.atMs, added.written, added.reason], [START, true, undefined]);
  assertEquals(kv.operations, { read: 0, write: 1, list: 0, delete: 0 });
  const page = await feed.page("f");
  assertEquals(page.items, [{ id: "1", text: "x" }]);
  assertEquals(page.entries, [{ key: added.key, atMs: START, item: { id: "1", text: "x" } }]);
  assertEquals([page.cursor, page.short, page.lists, page.gets], [undefined, false, 1, 0]);
  assertEquals(kv.operations, { read: 0, write: 1, list: 1, delete: 0 });
});

Deno.test("page() shows newest first, and items of one millisecond in the order added", async () => {
  const { time, open } = setUp();
  const feed = open();
  for (let i = 0; i < 30; i++) {
    await feed.add("f", { id: `${i}` });
    if (i % 10 === 9) time.now++;
  }
  const want = Array.from({ length: 30 }, (_, i) => String(29 - i)).join(" ");
  assertEquals(ids((await readAll(open())).items), want);
});

Deno.test("paging loses and repeats nothing while items are added, removed and hidden", async () => {
  for (const inline of [true, false]) {
    for (const headSeconds of [0, 60]) {
      for (const list of [7, 40, 1_000]) {
        const { kv, time, open } = setUp({ inline, headSeconds, list });
        const writer = open();
        const added: { key: string; id: string }[] = [];
        const add = async (id: string) => {
          added.push({ id, key: (await writer.add("f", { id })).key });
          time.now += 10;
        };
        for (let i = 0; i < 100; i++) await add(`old${i}`);
        const hidden = (id: string) => id.startsWith("old") && Number(id.slice(3)) % 7 === 0;
        const visible = ({ id }: Post) => !hidden(id);
        const seen: string[] = [];
        const removed = new Set<string>();
        let cursor: string | undefined;
        let pages = 0;
        const lists = kv.operations.list;
        do {
          const page = await open().page("f", { cursor, visible });
          seen.push(...page.items.map(({ id }) => id));
          assert(page.items.length <= 6 && page.lists <= 3 && page.gets <= 20);
          cursor = page.cursor;
          for (let i = 0; i < 3; i++) await add(`new${pages}-${i}`);
          const victim = added[91 - pages * 13];
          if (victim && !seen.includes(victim.id)) {
            await writer.remove("f", victim);
            removed.add(victim.id);
          }
          pages++;
        } while (cursor !== undefined && pages < 100);
        const label = JSON.stringify({ inline, headSeconds, list, pages });
        const old = seen.filter((id) => id.startsWith("old"));
        assertEquals(new Set(seen).size, seen.length, `duplicates: ${label}`);
        const want = added.map(({ id }) => id)
          .filter((id) => id.startsWith("old") && !hidden(id) && !removed.has(id)).reverse();
        assertEquals(old, want, label);
        if (list === 40) {
          assert(kv.operations.list - lists <= 20, `${kv.operations.list - lists} lists`);
        }
      }
    }
  }
});

Deno.test("a burst between two isolates' views of the first page loses nothing", async () => {
  const { time, open } = setUp();
  const writer = open();
  for (let i = 0; i < 10; i++) await writer.add("f", { id: `old${i}` });
  const behind = open();
  await behind.page("f");
  time.now += 1_000;
  for (let i = 0; i < 10; i++) await writer.add("f", { id: `new${i}` });
  const ahead = open();
  const first = await ahead.page("f");
  assertEquals(ids(first.items), "new9 new8 new7 new6 new5 new4");
  const second = await behind.page("f", { cursor: first.cursor });
  assertEquals(ids(second.items), "new3 new2 new1 new0 old9 old8");
});

Deno.test("scheduled items sort as of now and keep the time they claim", async () => {
  const { time, open } = setUp();
  const feed = open();
  await feed.add("f", { id: "present" });
  for (let i = 0; i < 45; i++) {
    await feed.add("f", { id: `future${i}` }, { at: START + 86_400_000 * (i + 1) });
  }
  time.now += 1_000;
  const last = await feed.add("f", { id: "newest" });
  const page = await open().page("f", { visible: ({ id }) => !id.startsWith("future") });
  assertEquals(ids(page.items), "newest present");
  const shown = (await open().page("f")).entries;
  assertEquals([shown[0]?.item.id, shown[1]?.item.id], ["newest", "future44"]);
  assertEquals([last.atMs, shown[1]?.atMs], [START + 1_000, START + 86_400_000 * 45]);
});

Deno.test("at is validated and clamped", async () => {
  const { kv, open } = setUp();
  const feed = open();
  for (
    const at of [NaN, Infinity, -Infinity, 1_780_000_000, 0, -5, "2026", null, new Date(NaN), 5n]
  ) {
    await assertRejects(() => feed.add("f", { id: "x" }, { at: at as number }), RangeError, "at");
  }
  assertEquals(kv.operations.write, 0);
  const cases: [number | Date, number][] = [
    [START - 0.5, START - 1],
    [new Date(5), 5],
    [new Date(-5), 0],
    [1e15, START],
    [new Date(8.64e15), START],
  ];
  for (const [i, [at, want]] of cases.entries()) {
    assertEquals((await feed.add("g", { id: `${i}` }, { at })).atMs, want);
  }
  assertEquals(ids((await readAll(open(), "g")).items), "4 3 0 1 2");
});

Deno.test("adding the same id again is one item", async () => {
  const { kv, time, open } = setUp();
  const feed = open();
  const first = await feed.add("f", { id: "a", text: "one" });
  await feed.add("f", { id: "b" });
  time.now += 5_000;
  const again = await feed.add("f", { id: "a", text: "two" });
  assertEquals(again.key, first.key);
  assertEquals((await open().page("f")).items, [{ id: "b" }, { id: "a", text: "two" }]);
  const at = START - 1_000;
  const here = await open().add("f", { id: "c" }, { at });
  const there = await open().add("f", { id: "c" }, { at });
  assertEquals(here.key, there.key);
  assertEquals((await kv.list()).keys.length, 3);
  await open().add("f", { id: "b", text: "later" });
  assertEquals(ids((await open().page("f")).items), "b a c");
});

Deno.test("remove() deletes once and hides at once; a key of another feed is refused", async () => {
  const { kv, open } = setUp();
  const feed = open();
  const { key } = await feed.add("f", { id: "a" });
  await feed.add("f", { id: "b" });
  await feed.page("f");
  assertEquals(await feed.remove("f", { key }), true);
  assertEquals(kv.operations.delete, 1);
  assertEquals(ids((await feed.page("f")).items), "b");
  assertEquals((await feed.add("f", { id: "a" })).key === key, false);
  const keys = [
    key.replace("f:", "g:"),
    "feed:f:",
    "feed:f:x",
    `${key}:x`,
    "",
    5,
    undefined,
    "views:x",
  ];
  for (const bad of keys) {
    await assertRejects(() => feed.remove("f", { key: bad as string }), RangeError, "Key");
  }
  await assertRejects(() => feed.remove("f", undefined as unknown as { key: string }), RangeError);
  assertEquals(kv.operations.delete, 1);
});

Deno.test("large items are read, up to get a page, and none is passed over", async () => {
  const { kv, open } = setUp({ show: 50 });
  const feed = open();
  const text = "x".repeat(1_200);
  for (let i = 0; i < 60; i++) await feed.add("f", { id: `${i}`, ...(i % 3 ? { text } : {}) });
  const reader = open({ headSeconds: 0 });
  const page = await reader.page("f");
  assertEquals([page.gets, page.lists, page.short], [20, 1, true]);
  assertEquals(kv.operations.read, 20);
  const { items } = await readAll(reader);
  assertEquals(ids(items), Array.from({ length: 60 }, (_, i) => 59 - i).join(" "));
  const remembering = open();
  await remembering.page("f", { show: 6 });
  const reads = kv.operations.read;
  assertEquals((await remembering.page("f", { show: 6 })).gets, 0);
  assertEquals(kv.operations.read, reads);
});

Deno.test("the first page is remembered in the data center, so readers spend no list", async () => {
  const { kv, time, clock, open } = setUp();
  const edgeCache = new EdgeCacheFake({
    clock: { ...clock, sleep: () => Promise.resolve() },
    random: () => 0.5,
  });
  const writer = open({ edgeCache });
  for (let i = 0; i < 20; i++) await writer.add("f", { id: `${i}` });
  for (let i = 0; i < 59; i++) {
    assertEquals((await readAll(open({ edgeCache }))).items.length, 20);
    time.now += 1_000;
  }
  assertEquals([kv.operations.list, kv.operations.read], [1, 0]);
  time.now += 1_000;
  await open({ edgeCache }).page("f");
  assertEquals(kv.operations.list, 2);
  await writer.add("f", { id: "mine" });
  assertEquals((await open({ edgeCache }).page("f")).items[0]?.id, "mine");
  const broken = {
    get: () => Promise.resolve('{"v":1,"at":9e15,"next":"","rows":[5]}'),
    set: () => Promise.reject(new Error("cache")),
  };
  assertEquals((await open({ edgeCache: broken }).page("f")).items.length, 6);
});

Deno.test("items end when their time is over, whatever KV still lists", async () => {
  const { kv, time, open } = setUp({ ttlSeconds: 30 });
  await open().add("f", { id: "a" });
  assertEquals((await kv.list()).keys[0]?.expiration, START / 1_000 + 60);
  time.now += 29_999;
  assertEquals(ids((await open().page("f")).items), "a");
  time.now += 1;
  assertEquals(ids((await open().page("f")).items), "");
});

Deno.test("page() walks over empty list pages within its bound", async () => {
  const { kv, open } = setUp({ headSeconds: 0 });
  const feed = open();
  for (let i = 0; i < 9; i++) await feed.add("f", { id: `${i}` });
  let empties = 5;
  const store: Kv = {
    ...flaky(kv, new Set()),
    list: (options) => {
      if (empties-- > 0) {
        return Promise.resolve({ keys: [], list_complete: false, cursor: `empty${empties}` });
      }
      const { cursor = "", ...rest } = options ?? {};
      return kv.list(cursor.startsWith("empty") ? rest : { ...rest, cursor });
    },
  };
  const reader = open({}, store);
  const first = await reader.page("f");
  assertEquals([first.items, first.lists, first.short], [[], 3, true]);
  const second = await reader.page("f", { cursor: first.cursor });
  assertEquals([ids(second.items), second.lists], ["8 7 6 5 4 3", 3]);
  const stuck: Kv = {
    ...flaky(kv, new Set()),
    list: () => Promise.resolve({ keys: [], list_complete: false, cursor: "same" }),
  };
  assertEquals((await open({ listsMax: 50 }, stuck).page("f")).lists, 2);
  const blank: Kv = {
    ...flaky(kv, new Set()),
    list: () => Promise.resolve({ keys: [], list_complete: false, cursor: "" }),
  };
  assertEquals((await open({}, blank).page("f")).cursor, undefined);
});

Deno.test("an unknown cursor is an InvalidCursorError, never another place", async () => {
  const { open, errors } = setUp({ show: 2 });
  const feed = open();
  for (let i = 0; i < 9; i++) await feed.add("f", { id: `${i}` });
  const { cursor = "" } = await feed.page("f");
  const flipped = cursor.slice(0, 5) + (cursor[5] === "A" ? "B" : "A") + cursor.slice(6);
  const bad = [
    "",
    "x",
    ".",
    "1.2.3",
    "eyJ",
    "../../etc",
    "\ud800",
    cursor + "x",
    cursor.slice(1),
    cursor.slice(0, -1),
    flipped,
    cursor.toUpperCase(),
    cursor + "." + cursor,
    "x".repeat(100_000),
    5,
    {},
    [cursor],
  ];
  for (const value of bad) {
    const error = await assertRejects(
      () => feed.page("f", { cursor: value as string }),
      InvalidCursorError,
    );
    assertEquals(error.name, "InvalidCursorError");
  }
  await assertRejects(() => feed.page("g", { cursor }), InvalidCursorError);
  assertEquals(ids((await open().page("f", { cursor })).items), "6 5");
  assertEquals(errors, []);
});

Deno.test("the cursor codec is strict and exact", () => {
  const position = { list: "abc==", after: "0123:é😀~~~", listedMs: START };
  const cursor = encodeFeedCursor("feed:f:", position);
  assert(/^[\w-]+\.[0-9a-z]+$/.test(cursor));
  assertEquals(decodeFeedCursor("feed:f:", cursor), position);
  assertThrows(() => decodeFeedCursor("feed:g:", cursor), InvalidCursorError);
  for (const list of [5, null, {}]) {
    const forged = encodeFeedCursor("p", { ...position, list: list as unknown as string });
    assertThrows(() => decodeFeedCursor("p", forged), InvalidCursorError);
  }
});

Deno.test("feeds stay apart, whatever they and their items are called", async () => {
  const { kv, open } = setUp();
  const names: (string | string[])[] = [
    "a",
    "a:b",
    ["a", "b"],
    ["a", "b", "c"],
    "a/b",
    ["a/b"],
    "a%2Fb",
    ["a", "1234567890123"],
    "u:1",
    "u:10",
    ".",
    "..",
    "%",
    "~x",
    "__proto__",
    "😀".repeat(200),
    "\ud800",
    "x".repeat(10_000),
  ];
  const same = new Set([5]);
  const items = [
    "1",
    "a:b",
    "é",
    "\ud800",
    "\ud801",
    "..",
    "~",
    "%3A",
    "\\00e9",
    "i".repeat(9_000),
  ];
  const feed = open({ show: 20 });
  for (const [n, name] of names.entries()) {
    if (same.has(n)) continue;
    for (const id of items) {
      assertEquals((await feed.add(name, { id, text: `${n}` })).written, true);
    }
  }
  for (const [n, name] of names.entries()) {
    const page = await open({ show: 20 }).page(name);
    assertEquals(page.items.map(({ text }) => text), items.map(() => `${same.has(n) ? 4 : n}`));
    assertEquals(ids(page.items), ids(items.map((id) => ({ id })).reverse()));
  }
  for (const { name } of (await kv.list()).keys) assert(utf8Length(name) <= 512, name);
  for (const bad of ["", [], [""], ["a", ""], 5, null]) {
    await assertRejects(() => feed.page(bad as string), TypeError, "Feed");
    await assertRejects(() => feed.add(bad as string, { id: "x" }), TypeError, "Feed");
  }
});

Deno.test("what is no item is refused and foreign values are left out", async () => {
  const { kv, open } = setUp();
  const feed = open();
  for (const id of ["", undefined, 5, null]) {
    await assertRejects(() => feed.add("f", { id: id as string }), TypeError, "id");
  }
  const loose = (item: unknown) => new Feed<unknown>(kv, { id: () => "x" }).add("f", item);
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  for (const item of [undefined, () => {}, 5n, cyclic]) {
    await assertRejects(() => loose(item), TypeError);
  }
  await assertRejects(() => loose("x".repeat(1_048_577)), RangeError, "1048576");
  assertEquals(kv.operations.write, 0);
  const key = (n: number) => `feed:f:${8_000_000_000_000 + n}:9999:x${n}`;
  await kv.put(key(1), "{broken");
  await kv.put(key(2), '{"v":2,"id":"x","at":1,"item":1}');
  await kv.put(key(3), '{"v":1,"id":"good","at":1,"item":{"id":"good","__proto__":{"x":1}}}');
  await kv.put(key(4), "[]", { metadata: { v: 1, id: 5 } });
  await kv.put("feed:f:foreign", "x");
  await kv.put("feed:f:", "x");
  const page = await feed.page("f");
  assertEquals([ids(page.items), page.damaged, page.gets], ["good", 3, 4]);
  const parsed = await open({
    parse: (value) => (value as Post).id === "good" ? undefined : value as Post,
  })
    .page("f");
  assertEquals(parsed.items, []);
});

Deno.test("trouble with the store never rejects; the cursor leads on", async () => {
  const { kv, errors, open } = setUp({ inline: false, headSeconds: 0, show: 3 });
  const down = new Set<string>();
  for (let i = 0; i < 9; i++) await open().add("f", { id: `${i}` }, { at: START - 9 + i });
  const feed = open({}, flaky(kv, down));
  const first = await feed.page("f");
  down.add("list");
  const listless = await feed.page("f", { cursor: first.cursor });
  assertEquals([listless.items, listless.degraded, listless.short], [[], true, true]);
  down.clear();
  down.add("get");
  const unread = await feed.page("f", { cursor: listless.cursor });
  assertEquals([unread.items, unread.degraded], [[], true]);
  down.clear();
  assertEquals(ids((await feed.page("f", { cursor: unread.cursor })).items), "5 4 3");
  down.add("put").add("delete");
  const refused = await feed.add("f", { id: "x" });
  assertEquals([refused.written, refused.reason], [false, "store"]);
  assertEquals(await feed.remove("f", { key: first.entries[0]?.key ?? "" }), false);
  assertEquals(ids((await feed.page("f")).items), "8 7 6");
  assertEquals(errors.length, 4);
});

Deno.test("without grants nothing is written, and the remembered page is shown", async () => {
  const asked: string[] = [];
  const budget: Budget & { open: boolean } = {
    open: true,
    take(purpose, operation = "write") {
      asked.push(`${purpose} ${operation}`);
      return this.open ? { granted: true, retryAfterMs: 0 } : { granted: false, retryAfterMs: 9 };
    },
    note: (purpose, operation, count) => asked.push(`noted ${purpose} ${operation} ${count}`),
  };
  const { kv, time, open } = setUp({ budget });
  const feed = open();
  const { key } = await open().add("f", { id: "a", text: "x".repeat(2_000) });
  await feed.page("f");
  assertEquals(asked, ["feed write", "feed list", "noted feed read 1"]);
  budget.open = false;
  const refused = await feed.add("f", { id: "b" });
  assertEquals([refused.written, refused.reason, refused.retryAfterMs], [false, "budget", 9]);
  assertEquals(await feed.remove("f", { key }), false);
  time.now += 3_600_000;
  const page = await feed.page("f");
  assertEquals([ids(page.items), page.degraded], ["a", true]);
  const cold = await open().page("f");
  assertEquals([cold.items, cold.degraded, cold.cursor === undefined], [[], true, false]);
  assertEquals(kv.operations, { read: 1, write: 1, list: 1, delete: 0 });
});

Deno.test("a page's items are copies", async () => {
  const { open } = setUp();
  const feed = open();
  await feed.add("f", { id: "a" });
  const [item] = (await feed.page("f")).items;
  (item as { id: string }).id = "changed";
  assertEquals(ids((await feed.page("f")).items), "a");
});

Deno.test("options that are none are refused", async () => {
  const { kv, open } = setUp();
  assertThrows(() => new Feed(kv, {} as FeedOptions<Post>), TypeError, "id");
  for (const name of ["list", "get", "show", "listsMax", "ttlSeconds", "headSeconds"]) {
    for (const value of [NaN, -1, Infinity]) {
      assertThrows(() => open({ [name]: value }), RangeError, name);
    }
  }
  for (const show of [0, NaN, 101, 1.5]) {
    await assertRejects(() => open().page("f", { show }), RangeError, "show");
  }
});
