import { assert, assertEquals } from "@std/assert";
import { operationsPerCall, pageThroughChanges } from "../scripts/show_patterns.ts";

Deno.test("operationsPerCall() is what the modules' documentation says", async () => {
  const table = Object.entries(await operationsPerCall());
  const short = table.map(([name, { read, write, list, delete: deleted }]) =>
    `${name}: ${read} ${write} ${list} ${deleted}`
  );
  assertEquals(short, [
    "chats.append, a turn: 1 1 0 0",
    "chats.append, the same turn: 1 0 0 0",
    "chats.load: 1 0 0 0",
    "chats.touch, fresh: 1 0 0 0",
    "chats.touch, half gone: 1 1 0 0",
    "chats.clear: 0 1 0 0",
    "keywords.log, 10,000 times: 0 0 0 0",
    "keywords.flush: 0 1 0 0",
    "keywords.top, 7 days: 0 0 7 0",
    "keywords.top, cached: 0 0 0 0",
    "feed.add: 0 1 0 0",
    "feed.page, one large item: 1 0 1 0",
    "feed.page, remembered: 0 0 0 0",
    "feed.remove: 0 0 0 1",
  ]);
});

Deno.test("pageThroughChanges() repeats and loses nothing", async () => {
  const { pages, lists, duplicates, losses } = await pageThroughChanges();
  assertEquals({ duplicates, losses }, { duplicates: 0, losses: 0 });
  assert(pages >= 14 && lists <= pages + 4, `${pages} pages, ${lists} lists`);
});
