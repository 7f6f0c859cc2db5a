import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Budget } from "../lib/budget.ts";
import { type AppendResult, Conversations, type Message } from "../lib/conversations.ts";
import type { Kv, KvPutOptions } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { utf8Length } from "../lib/kv/keys.ts";

const START = Date.UTC(2026, 10, 30, 12);
const DAY = 86_400_000;

function setUp(options: ConstructorParameters<typeof Conversations>[1] = {}) {
  const clock = { now: () => time.now };
  const time = { now: START };
  const kv = new MemoryKv(clock);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const open = (store: Kv = kv, more: typeof options = {}) =>
    new Conversations(store, { clock, onError, ...options, ...more });
  return { time, clock, kv, errors, open };
}

function turn(name: string, text = name): Message[] {
  return [
    { id: `${name}-q`, role: "user", content: `${text}?` },
    { id: `${name}-a`, role: "assistant", content: `${text}.` },
  ];
}

function ids(messages: readonly Message[]): string {
  return messages.map(({ id }) => id).join(" ");
}

/** A ledger that grants nothing until it is opened. */
function closedBudget(): Budget & { open: boolean; asked: string[] } {
  const asked: string[] = [];
  return {
    open: false,
    asked,
    take(purpose, operation = "write") {
      asked.push(`${purpose} ${operation}`);
      return this.open ? { granted: true, retryAfterMs: 0 } : { granted: false, retryAfterMs: 9 };
    },
    note: () => {},
  };
}

/** A store whose operations fail while their names are in `failing`. */
function flaky(kv: Kv, failing: Set<string>, error = new Error("KV PUT failed: 500 x")): Kv {
  const guard = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    if (failing.has(name)) await Promise.reject(error);
    return await work();
  };
  return {
    get: (key) => guard("get", () => kv.get(key)),
    getWithMetadata: (key) => guard("get", () => kv.getWithMetadata(key)),
    put: (key: string, value: string, o?: KvPutOptions) =>
      guard("put", () => kv.put(key, value, o)),
    delete: (key) => guard("delete", () => kv.delete(key)),
    list: (o) => guard("list", () => kv.list(o)),
  };
}

Deno.test("append() stores a turn with one read and one write", async () => {
  const { kv, open } = setUp();
  const result = await open().append("t", turn("one"));
  assertEquals([result.added, result.written, result.reason], [2, true, undefined]);
  assertEquals(kv.operations, { read: 1, write: 1, list: 0, delete: 0 });
  assertEquals((await open().load("t")).messages, turn("one"));
  assertEquals(kv.operations.read, 2);
});

Deno.test("append() of known ids makes no write, not even when they were dropped since", async () => {
  const { kv, time, open } = setUp({ turnsMax: 2 });
  const chats = open();
  for (const name of ["1", "2", "3", "4"]) {
    await chats.append("t", turn(name));
    time.now += 5_000;
  }
  const writes = kv.operations.write;
  for (const name of ["4", "3", "1"]) {
    for (const instance of [chats, open()]) {
      const result = await instance.append("t", turn(name));
      assertEquals([result.added, result.written, result.reason], [0, false, "known"]);
    }
  }
  assertEquals(kv.operations.write, writes);
  const twice = await chats.append("u", [...turn("1"), ...turn("1")]);
  assertEquals([twice.added, ids(twice.messages)], [2, "1-q 1-a"]);
});

Deno.test("append() keeps turns, messages and bytes bounded for weeks", async () => {
  const { kv, time, open } = setUp({ turnsMax: 7, messagesMax: 9, bytesMax: 2_000 });
  const chats = open();
  for (let i = 0; i < 400; i++) {
    const text = "ü\n".repeat(i % 97 * 5);
    const extra = i % 3 ? [] : [{ id: `${i}-t`, role: "tool", content: text }];
    await chats.append("t", [...turn(String(i), text), ...extra]);
    time.now += DAY / 10;
    const stored = await kv.get("chat:t") ?? "";
    assert(utf8Length(stored) <= 2_000, `${utf8Length(stored)} bytes after ${i}`);
    const { messages } = await open().load("t");
    assert(messages.length <= 9 && messages.length > 0);
    assertEquals(messages[0]?.role, "user");
    assert(messages.filter(({ role }) => role === "user").length <= 7);
    assert(ids(messages).includes(`${i}-q`), ids(messages));
  }
});

Deno.test("append() bounds what hostile messages bring", async () => {
  const { kv, open } = setUp({ bytesMax: 1_024 });
  const id = "i".repeat(128);
  const roles = ["system", "user", "tool", "assistant"];
  for (let i = 0; i < 12; i++) {
    const role = roles[i % 4] ?? "user";
    const content = i % 2 ? "\u0000\ud800".repeat(400) : [{ type: "image", data: "x".repeat(900) }];
    await open().append("t", [{ id: id.slice(0, 126) + i, role, content }]);
    assert(utf8Length(await kv.get("chat:t") ?? "") <= 1_024);
  }
  const messages = (await open().load("t")).messages;
  assert(messages.some(({ truncated }) => truncated));
});

Deno.test("two appends at once are both kept when the second can see the first", async () => {
  const { kv, open } = setUp();
  const one = open();
  await Promise.all([
    one.append("t", turn("1")),
    one.append("t", turn("2")),
    one.append("t", turn("3")),
  ]);
  assertEquals(ids((await open().load("t")).messages), "1-q 1-a 2-q 2-a 3-q 3-a");
  assert(kv.operations.write <= 3);
  await open().append("t", turn("4"));
  await open().append("t", turn("5"));
  assertEquals(
    ids((await open().load("t")).messages),
    [1, 2, 3, 4, 5].map((n) => `${n}-q ${n}-a`).join(" "),
  );
});

Deno.test("an isolate reads its own writes through stale reads and cached misses", async () => {
  const { kv, time, open } = setUp();
  const stale: Kv = { ...flaky(kv, new Set()), get: () => Promise.resolve(null) };
  const chats = open(stale);
  assertEquals((await chats.load("t")).messages, []);
  for (const name of ["1", "2", "3"]) {
    await chats.append("t", turn(name));
    time.now += 2_000;
  }
  assertEquals(ids((await chats.load("t")).messages), "1-q 1-a 2-q 2-a 3-q 3-a");
  assertEquals(ids((await open().load("t")).messages), "1-q 1-a 2-q 2-a 3-q 3-a");
});

Deno.test("append() puts a write that comes too soon off to waitUntil", async () => {
  const { kv, time, open } = setUp();
  const sleeps: (() => void)[] = [];
  const clock = {
    now: () => time.now,
    sleep: () => new Promise<void>((done) => sleeps.push(done)),
  };
  const ctx = {
    work: [] as Promise<unknown>[],
    waitUntil(promise: Promise<unknown>) {
      this.work.push(promise);
    },
  };
  const chats = open(kv, { clock });
  await chats.append("t", turn("1").slice(0, 1), { ctx });
  const results: AppendResult[] = [];
  for (const part of [turn("1").slice(1), turn("2")]) {
    results.push(await chats.append("t", part, { ctx }));
  }
  assertEquals(results.map(({ reason }) => reason), ["coalesced", "coalesced"]);
  assertEquals([kv.operations.write, ctx.work.length], [1, 1]);
  time.now += 1_000;
  sleeps.forEach((wake) => wake());
  await Promise.all([...ctx.work, results[0]?.pending]);
  assertEquals(kv.operations.write, 2);
  assertEquals(ids((await open().load("t")).messages), "1-q 1-a 2-q 2-a");
});

Deno.test("append() leaves out what belongs to no turn and writes nothing for it", async () => {
  const { kv, open } = setUp();
  const result = await open().append("t", turn("1").slice(1));
  assertEquals([result.added, result.reason, ids(result.dropped)], [0, "orphan", "1-a"]);
  assertEquals(kv.operations.write, 0);
});

Deno.test("a lifetime under a minute is kept by KV and over for load()", async () => {
  const { kv, time, open } = setUp({ ttlSeconds: 59.9 });
  await open().append("t", turn("1"));
  assertEquals((await kv.list()).keys[0]?.expiration, START / 1000 + 60);
  time.now += 59_899;
  assertEquals((await open().load("t")).messages.length, 2);
  time.now += 1;
  assertEquals((await open().load("t")).messages, []);
  assertEquals((await kv.get("chat:t"))?.includes("1-q"), true);
});

Deno.test("touch() writes once half of the lifetime is gone", async () => {
  const { kv, time, open } = setUp({ ttlSeconds: 1_000 });
  assertEquals(await open().touch("t"), false);
  await open().append("t", turn("1"));
  time.now += 499_000;
  assertEquals(await open().touch("t"), false);
  time.now += 1_000;
  assertEquals(await open().touch("t"), true);
  assertEquals(await open().touch("t"), false);
  assertEquals(kv.operations.write, 2);
  time.now += 999_000;
  assertEquals(ids((await open().load("t")).messages), "1-q 1-a");
});

Deno.test("clear() leaves a tombstone that old states do not outlive", async () => {
  const { kv, time, open } = setUp({ ttlSeconds: 60 });
  const chats = open();
  await chats.append("t", turn("1"));
  const old = await kv.get("chat:t") ?? "";
  assertEquals(await chats.clear("t"), true);
  assertEquals([kv.operations.write, kv.operations.delete], [2, 0]);
  assertEquals((await kv.list()).keys[0]?.expiration, START / 1000 + 120);
  assertEquals((await open().load("t")).messages, []);
  await kv.put("chat:t", old);
  assertEquals((await chats.load("t")).messages, []);
  assertEquals((await chats.append("t", turn("1"))).reason, "known");
  time.now += 1_000;
  await chats.append("t", turn("2"));
  assertEquals(ids((await open().load("t")).messages), "2-q 2-a");
});

Deno.test("without a granted write messages stay in memory and go out later", async () => {
  const budget = closedBudget();
  const { kv, time, open } = setUp({ budget });
  const chats = open();
  const refused = await chats.append("t", turn("1"));
  assertEquals([refused.written, refused.reason, refused.retryAfterMs], [false, "budget", 9]);
  assertEquals([kv.operations.write, budget.asked], [0, ["chat write"]]);
  assertEquals(ids((await chats.load("t")).messages), "1-q 1-a");
  budget.open = true;
  time.now += DAY / 24;
  assertEquals((await chats.append("t", turn("1"))).written, true);
  assertEquals(ids((await open().load("t")).messages), "1-q 1-a");
});

Deno.test("trouble with the store never rejects and never costs stored messages", async () => {
  const { kv, time, errors, open } = setUp();
  await open().append("t", turn("1"));
  time.now += 10 * DAY / 24;
  for (const failing of [["get"], ["put"], ["get", "put"]]) {
    const down = new Set(failing);
    const chats = open(flaky(kv, down));
    const result = await chats.append("t", turn(`during-${failing}`));
    assertEquals([result.written, result.reason], [false, "store"]);
    assertEquals((await chats.load("t")).degraded, down.has("get"));
    assertEquals(await chats.touch("t"), false);
    assertEquals(ids((await open().load("t")).messages).startsWith("1-q 1-a"), true);
    down.clear();
    time.now += 1_000;
    assertEquals((await chats.append("t", turn(`after-${failing}`))).written, true);
    const all = ids((await open().load("t")).messages);
    for (const name of ["1", `during-${failing}`, `after-${failing}`]) {
      assert(all.includes(name), all);
    }
  }
  assert(errors.length > 0);
});

Deno.test("a failed read never lets an old memory overwrite what KV has", async () => {
  const { kv, time, open } = setUp();
  const failing = new Set<string>();
  const here = open(flaky(kv, failing));
  await here.append("t", turn("1"));
  time.now += DAY / 24;
  await open().append("t", turn("2"));
  time.now += DAY / 24;
  failing.add("get");
  for (const name of ["3", "4"]) {
    assertEquals((await here.append("t", turn(name))).reason, "store");
    time.now += 60_000;
  }
  failing.clear();
  await here.append("t", turn("5"));
  assertEquals(
    ids((await open().load("t")).messages),
    ["1", "2", "3", "4", "5"].map((n) => `${n}-q ${n}-a`).join(" "),
  );
});

Deno.test("a stored value that cannot be read is left as it is until clear()", async () => {
  const foreign = [
    "",
    "null",
    "[]",
    "{",
    '{"v":2}',
    '{"v":1,"expiresMs":1e400,"clearedAt":0,"gone":[],"turns":[]}',
    '{"v":1,"expiresMs":9e15,"clearedAt":0,"gone":[],"turns":[[1,[{"id":1}]]]}',
    '{"v":1,"expiresMs":9e15,"clearedAt":0,"gone":[1],"turns":[]}',
    '{"v":1,"expiresMs":9e15,"clearedAt":0,"gone":[],"turns":[[-1,[]]]}',
    '[{"role":"user","content":"from another app"}]',
  ];
  const { kv, errors, time, open } = setUp();
  for (const text of foreign) {
    await kv.put("chat:t", text);
    const chats = open();
    const loaded = await chats.load("t");
    assertEquals([loaded.damaged, loaded.messages], [true, []], text);
    assertEquals((await chats.append("t", turn("1"))).reason, "damaged");
    assertEquals(await kv.get("chat:t"), text);
    assertEquals(ids((await chats.load("t")).messages), "1-q 1-a");
    assertEquals(await chats.clear("t"), true);
    time.now += 2_000;
    assertEquals((await chats.append("t", turn("2"))).written, true);
  }
  assert(errors.length >= foreign.length);
});

Deno.test("thread names stay apart and are valid keys, whatever they hold", async () => {
  const { kv, open } = setUp();
  const names: (string | string[])[] = [
    "a",
    "a:b",
    ["a", "b"],
    ["a:b", "c"],
    ["a", "b:c"],
    "u:1",
    "u:10",
    "%",
    "%3A",
    "~x",
    ".",
    "..",
    "__proto__",
    "😀".repeat(300),
    "\ud800",
    "x".repeat(10_000),
    ["x".repeat(600), "y".repeat(600)],
  ];
  const chats = open();
  for (const [i, name] of names.entries()) await chats.append(name, turn(String(i)));
  for (const [i, name] of names.entries()) {
    assertEquals(ids((await open().load(name)).messages), `${i}-q ${i}-a`);
  }
  const { keys } = await kv.list();
  assertEquals(new Set(keys.map(({ name }) => name)).size, names.length);
  for (const { name } of keys) assert(utf8Length(name) <= 512);
  for (const bad of ["", [], ["a", ""], [1], null, undefined, {}]) {
    for (const method of ["load", "touch", "clear"] as const) {
      await assertRejects(() => chats[method](bad as unknown as string), TypeError, "Thread");
    }
  }
});

Deno.test("append() refuses what is no message and stores nothing of it", async () => {
  const { kv, open } = setUp();
  const good = turn("1");
  const types: unknown[] = [
    null,
    "x",
    [null],
    ["text"],
    [{}],
    [{ id: "", role: "user", content: "" }],
    [{ id: 5, role: "user", content: "" }],
    [{ id: "1", role: "", content: "" }],
    [{ id: "1", role: "user" }],
    [...good, { id: "1", content: "" }],
    [{ id: "1", role: "user", content: 5n }],
  ];
  for (const bad of types) {
    await assertRejects(() => open().append("t", bad as Message[]), TypeError);
  }
  for (
    const bad of [
      { id: "1", role: "user", content: "x".repeat(1_048_577) },
      { id: "x".repeat(129), role: "user", content: "" },
      { id: "1", role: "r".repeat(129), content: "" },
    ]
  ) await assertRejects(() => open().append("t", [bad]), RangeError);
  assertEquals(kv.operations.write, 0);
});

Deno.test("serialize, summarize and last do what they say", async () => {
  const { time, open } = setUp({
    turnsMax: 1,
    serialize: (message) =>
      message.role === "tool"
        ? undefined
        : { ...message, content: String(message.content).toUpperCase() },
    summarize: (dropped, before = "") => `${before}${ids(dropped)};`,
  });
  const chats = open();
  for (const name of ["1", "2", "3"]) {
    await chats.append("t", [...turn(name, "abc"), { id: `${name}-t`, role: "tool", content: "" }]);
    time.now += 2_000;
  }
  const loaded = await open().load("t");
  assertEquals(loaded.summary, "1-q 1-a;2-q 2-a;");
  assertEquals(loaded.messages.map(({ content }) => content), ["ABC?", "ABC."]);
  const all = setUp();
  await all.open().append("t", [...turn("1"), ...turn("2"), ...turn("3")]);
  assertEquals(ids((await all.open().load("t", { last: 3 })).messages), "3-q 3-a");
});

Deno.test("loaded and appended messages are copies", async () => {
  const { open } = setUp();
  const chats = open();
  const mine = [{ id: "1", role: "user", content: ["a"] }];
  const { messages } = await chats.append("t", mine);
  mine[0]?.content.push("b");
  (messages[0]?.content as string[]).push("c");
  ((await chats.load("t")).messages[0]?.content as string[]).push("d");
  assertEquals((await chats.load("t")).messages[0]?.content, ["a"]);
});

Deno.test("waitUntil is called as a method and a failing onError does no harm", async () => {
  const { kv, open, time } = setUp();
  const clock = { now: () => time.now, sleep: () => Promise.reject(new Error("gone")) };
  const chats = open(
    flaky(kv, new Set(["put"]), new Error("KV PUT failed: 429 Too Many Requests")),
    {
      clock,
      onError: () => {
        throw new Error("reporter");
      },
    },
  );
  class Context {
    #count = 0;
    waitUntil(promise: Promise<unknown>) {
      this.#count++;
      promise.then(() => {});
    }
    get count() {
      return this.#count;
    }
  }
  const ctx = new Context();
  const result = await chats.append("t", turn("1"), { ctx });
  await result.pending;
  assertEquals([result.reason, ctx.count], ["store", 1]);
});

Deno.test("options that are none are refused at construction", () => {
  const { kv } = setUp();
  const bad = [0, -1, NaN, Infinity];
  for (
    const name of ["ttlSeconds", "turnsMax", "messagesMax", "bytesMax", "tokensMax", "threadsMax"]
  ) {
    for (const value of bad) {
      assertThrows(() => new Conversations(kv, { [name]: value }), RangeError, name);
    }
  }
  assertThrows(() => new Conversations(kv, { bytesMax: 2_000_000 }), RangeError, "1048576");
  assertThrows(() => new Conversations(kv, { turnsMax: 1.5 }), RangeError, "turnsMax");
});

Deno.test("what two isolates have is cut to size when a repeat brings them together", async () => {
  const { kv, open } = setUp({ bytesMax: 1_024 });
  const failing = new Set(["put"]);
  const here = open(flaky(kv, failing));
  await here.append("t", turn("here", "x".repeat(190)));
  await open().append("t", turn("there", "y".repeat(190)));
  failing.clear();
  const { written, added } = await here.append("t", turn("here", "x".repeat(190)));
  assertEquals([written, added], [true, 0]);
  const stored = await kv.get("chat:t") ?? "";
  assert(utf8Length(stored) <= 1_024, `${utf8Length(stored)} bytes`);
});
