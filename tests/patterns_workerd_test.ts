import type { KVNamespace } from "@cloudflare/workers-types";
import { assert, assertEquals } from "@std/assert";
import { Miniflare } from "miniflare";
import type { FeedPage } from "../lib/feed.ts";
import type { Kv } from "../lib/kv/kv.ts";
import { bundle, stop } from "../scripts/_bundle.ts";

/** The binding's own type satisfies the structural one. */
export const TYPES: (a: KVNamespace) => unknown = (a) => a satisfies Kv;

type Answer = { readonly results: unknown[]; readonly operations: Record<string, number> };
type Run = (...calls: (readonly unknown[])[]) => Promise<Answer>;

const turn = (name: string) => [
  { id: `${name}-q`, role: "user", content: name },
  { id: `${name}-a`, role: "assistant", content: name },
];
const idsOf = (value: unknown) =>
  (value as { messages: { id: string }[] }).messages.map(({ id }) => id).join(" ");

const STEPS: readonly (readonly [string, (run: Run) => Promise<void>])[] = [
  ["Conversations: operations, idempotence, bounds and hostile names", async (run) => {
    const first = await run(["chats", "append", "t", turn("1")]);
    assertEquals(first.operations, { get: 1, put: 1 });
    const again = await run(["chats", "append", "t", turn("1"), "withCtx"]);
    assertEquals(again.operations, { get: 1 });
    for (const n of [2, 3, 4, 5, 6, 7]) await run(["chats", "append", "t", turn(`${n}`)]);
    const { results: [loaded] } = await run(["chats", "load", "t"]);
    assertEquals(idsOf(loaded), "3-q 3-a 4-q 4-a 5-q 5-a 6-q 6-a 7-q 7-a");
    const names = ["a:b", "\ud800", "x".repeat(600), "😀".repeat(200), "..", "%"];
    for (const name of names) await run(["chats", "append", name, turn(name.slice(0, 5))]);
    for (const name of names) {
      const { results } = await run(["chats", "load", name]);
      assertEquals((results[0] as { messages: unknown[] }).messages.length, 2);
    }
    const { results } = await run(
      ["chats", "clear", "t"],
      ["chats", "load", "t"],
      ["chats", "load", ""],
      ["chats", "append", "t", [{ id: "" }]],
    );
    assertEquals([results[0], idsOf(results[1])], [true, ""]);
    assertEquals(results.slice(2), [{ error: "TypeError" }, { error: "TypeError" }]);
  }],
  ["Conversations: a write that comes too soon follows in waitUntil", async (run) => {
    await run(["chats", "append", "soon", turn("1"), "withCtx"]);
    const { results } = await run(["chats", "append", "soon", turn("2"), "withCtx"]);
    assertEquals((results[0] as { reason: string }).reason, "coalesced");
    for (let tries = 0; tries < 100; tries++) {
      const stored = await run(["kv", "get", "chat:soon"]);
      if (String(stored.results[0]).includes("2-a")) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("The second turn was never written");
  }],
  ["KeywordLog: 10,000 searches are one write, flushed in waitUntil", async (run) => {
    const searches = Array.from(
      { length: 10_000 },
      (_, i) => ["keywords", "log", `term ${i % 7}`, "ctx"],
    );
    await run(...searches, ["keywords", "log", "someone@example.com", "ctx"]);
    let total = 0;
    for (let tries = 0; tries < 200 && total === 0; tries++) {
      const { results } = await run(["keywords", "top", { days: 2 }]);
      total = (results[0] as { total: number }).total;
    }
    assertEquals(total, 10_000);
    const { results: [page] } = await run(["kv", "list", { prefix: "kw:" }]);
    assertEquals((page as { keys: unknown[] }).keys.length, 1);
    assertEquals(JSON.stringify(page).includes("example"), false);
  }],
  [
    "Feed: 100 items, hidden ones, additions and removals: nothing lost, nothing twice",
    async (run) => {
      const add = async (id: string) => {
        const { results } = await run(["feed", "add", "f", { id }]);
        return (results[0] as { key: string }).key;
      };
      const keys = new Map<string, string>();
      for (let i = 0; i < 100; i++) keys.set(`old${i}`, await add(`old${i}`));
      const seen: string[] = [];
      const removed = new Set<string>();
      let cursor: string | undefined;
      let lists = 0;
      do {
        const { results, operations } = await run(["feed", "page", "f", { cursor }]);
        const page = results[0] as FeedPage<{ id: string }>;
        seen.push(...page.items.map(({ id }) => id));
        assertEquals(operations, { list: page.lists });
        lists += page.lists;
        cursor = page.cursor;
        await add(`new${lists}`);
        const id = `old${90 - lists * 5}`;
        if (!seen.includes(id) && keys.has(id)) {
          await run(["feed", "remove", "f", { key: keys.get(id) }]);
          removed.add(id);
        }
      } while (cursor);
      const want = [...keys.keys()].reverse().filter((id) => !removed.has(id));
      assertEquals(seen.filter((id) => id.startsWith("old")), want);
      assertEquals(new Set(seen).size, seen.length);
      assert(removed.size >= 5 && lists <= 22, `${lists} lists`);
    },
  ],
  ["Feed: strict cursors, one remembered list", async (run) => {
    const { results } = await run(["feed", "page", "f", { cursor: "garbage" }], [
      "feed",
      "page",
      "",
    ]);
    assertEquals(results, [{ error: "InvalidCursorError" }, { error: "TypeError" }]);
    const pages = Array.from({ length: 20 }, () => ["remembering", "page", "f"]);
    assertEquals((await run(...pages)).operations, { list: 1 });
  }],
];

Deno.test({
  name: "the patterns in workerd, on Miniflare's KV",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const { code } = await bundle("tests/fixtures/patterns_worker.ts").finally(stop);
    const miniflare = new Miniflare({
      modules: true,
      script: new TextDecoder().decode(code),
      compatibilityDate: "2026-07-01",
      kvNamespaces: ["KV"],
    });
    const run: Run = async (...calls) => {
      const response = await miniflare.dispatchFetch("http://localhost/", {
        method: "POST",
        body: JSON.stringify(calls),
      });
      return await response.json() as Answer;
    };
    try {
      for (const [name, check] of STEPS) await t.step(name, () => check(run));
    } finally {
      await miniflare.dispose();
    }
  },
});
