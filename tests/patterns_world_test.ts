import { assert, assertEquals } from "@std/assert";
import { Conversations, type Message } from "../lib/conversations.ts";
import { Feed } from "../lib/feed.ts";
import { KeywordLog } from "../lib/keyword_log.ts";
import { KvWorld, type KvWorldOptions } from "../lib/kv/kv_world.ts";
import { seededRandom } from "../lib/sim/mod.ts";

const MINUTE = 60_000;
const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);

/** A world without allowances, so that only its nastiness counts. */
function worldOf(seed: number, options: Partial<KvWorldOptions> = {}) {
  const faults = { rate: 0.15, faults: ["500", "503", "429", "network"] as const };
  const world = new KvWorld({ seed, quotas: null, faults, ...options });
  const random = seededRandom(seed);
  const clock = {
    now: () => world.now(),
    sleep: (ms: number) => Promise.resolve(world.advance(ms)),
  };
  return { world, random, clock, pick: (n: number) => Math.floor(random() * n) };
}

function turn(name: string): Message[] {
  return [
    { id: `${name}-q`, role: "user", content: name },
    { id: `${name}-a`, role: "assistant", content: name },
  ];
}

function ids(messages: readonly Message[]): string[] {
  return messages.map(({ id }) => id);
}

Deno.test("Conversations: an isolate loses nothing through faults, stale reads and cached misses", async () => {
  for (const seed of SEEDS) {
    const { world, clock, pick } = worldOf(seed);
    const chats = new Conversations(world.location("LHR"), { clock, turnsMax: 1_000 });
    const said: string[] = [];
    for (let i = 0; i < 60; i++) {
      if (pick(3) === 0) await chats.load("t");
      const result = await chats.append("t", turn(`${i}`));
      said.push(`${i}-q`, `${i}-a`);
      assertEquals(ids(result.messages), said, `seed ${seed} turn ${i} ${result.reason}`);
      if (pick(4) === 0) {
        const again = await chats.append("t", turn(`${pick(i + 1)}`));
        assertEquals(again.added, 0);
      }
      world.advance(500 + pick(3 * MINUTE));
    }
    let last = await chats.append("t", turn("last"));
    for (let i = 0; i < 20 && !last.written; i++) {
      world.advance(2_000);
      last = await chats.append("t", turn("last"));
      if (last.reason === "known") break;
    }
    world.advance(30 * MINUTE);
    const calm = new Conversations(world.location("AMS"), { clock, turnsMax: 1_000 });
    let loaded = await calm.load("t");
    for (let i = 0; i < 20 && loaded.degraded; i++) loaded = await calm.load("t");
    assertEquals(ids(loaded.messages), [...said, "last-q", "last-a"], `seed ${seed}`);
  }
});

Deno.test("Conversations: locations that see each other keep both; bounds hold whatever happens", async () => {
  for (const seed of SEEDS) {
    const { world, clock, pick } = worldOf(seed);
    const limits = { turnsMax: 9, messagesMax: 16, bytesMax: 1_500 };
    const places = ["LHR", "AMS", "SIN"].map((name) =>
      new Conversations(world.location(name), { clock, ...limits })
    );
    for (let i = 0; i < 80; i++) {
      const chats = places[pick(3)];
      if (pick(12) === 0) await chats?.clear("t");
      else if (pick(9) === 0) await chats?.touch("t");
      else await chats?.append("t", turn(`${i}${"x".repeat(pick(200))}`.slice(0, 100)));
      world.advance(pick(2) ? 10 : pick(5 * MINUTE));
      const { messages } = await places[pick(3)]?.load("t") ?? { messages: [] };
      assert(messages.length <= 16);
      assert(messages.length === 0 || messages[0]?.role === "user");
      assertEquals(new Set(ids(messages)).size, messages.length);
    }
    world.advance(30 * MINUTE);
    await places[0]?.append("t", turn("one"));
    world.advance(30 * MINUTE);
    await places[1]?.append("t", turn("two"));
    const seen = ids((await places[1]?.load("t"))?.messages ?? []).slice(-2);
    assertEquals(seen, ["two-q", "two-a"]);
  }
});

Deno.test("KeywordLog: what six isolates flush is counted exactly, and never more", async () => {
  for (const seed of SEEDS) {
    const { world, clock, random, pick } = worldOf(seed);
    const work: Promise<unknown>[] = [];
    const ctx = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) };
    const open = (name: string) =>
      new KeywordLog(world.location(name), { clock, random, flushMs: 10 * MINUTE, cacheMs: 0 });
    const logs = ["LHR", "LHR", "AMS", "AMS", "SIN", "SIN"].map(open);
    const made = new Map<string, number>();
    const reader = open("NRT");
    for (let i = 0; i < 1_200; i++) {
      const term = `term ${pick(20)}`;
      made.set(term, (made.get(term) ?? 0) + 1);
      logs[pick(6)]?.log(term, ctx);
      await Promise.all(work.splice(0));
      world.advance(pick(40_000));
      if (i % 200 === 0) assert((await reader.top({ days: 2 })).total <= i + 1);
    }
    let dropped = 0;
    for (const log of logs) {
      for (let i = 0; i < 50; i++) {
        const result = await log.flush();
        dropped = Math.max(dropped, result.dropped);
        if (result.waiting === 0) break;
        world.advance(2_000);
      }
    }
    world.advance(30 * MINUTE);
    let top = await reader.top({ days: 3, n: 1_000 });
    for (let i = 0; i < 50 && !top.complete; i++) top = await reader.top({ days: 3, n: 1_000 });
    assertEquals([top.complete, dropped], [true, 0]);
    const counted = top.terms.map(({ term, count }) => [term, count]).sort();
    assertEquals(counted, [...made].sort(), `seed ${seed}`);
  }
});

Deno.test("Feed: paging through faults, lagging lists and empty pages loses and repeats nothing", async () => {
  let duplicates = 0;
  let losses = 0;
  let shown = 0;
  for (const seed of SEEDS) {
    const { world, clock, pick } = worldOf(seed);
    const open = (place: string) =>
      new Feed<{ id: string }>(world.location(place), {
        id: (item) => item.id,
        clock,
        list: 10,
        inline: seed % 2 === 0,
      });
    const writer = open("LHR");
    const keys = new Map<string, string>();
    const add = async (id: string) => {
      for (;;) {
        const { key, written } = await writer.add("f", { id });
        world.advance(1_500);
        if (written) return void keys.set(id, key);
      }
    };
    const remove = async (id: string) => {
      for (let i = 0; i < 20; i++) {
        if (await writer.remove("f", { key: keys.get(id) ?? "" })) return;
        world.advance(1_500);
      }
    };
    for (let i = 0; i < 110; i++) await add(`old${i}`);
    for (let i = 0; i < 10; i++) await remove(`old${i * 11}`);
    const removed = new Set(Array.from({ length: 10 }, (_, i) => `old${i * 11}`));
    world.advance(10 * MINUTE);
    const visible = ({ id }: { id: string }) => !/^old\d*7$/.test(id);
    const readers = [open("AMS"), open("AMS"), open("SIN")];
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await readers[pick(3)]?.page("f", { cursor, visible });
      assert(page && page.lists <= 3 && page.gets <= 20 && page.items.length <= 6);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
      pages++;
      if (pages % 3 === 0 && pages < 60) await add(`new${pages}`);
      if (pages % 7 === 0 && pages < 60) {
        const id = `old${pick(100)}`;
        await remove(id);
        removed.add(id);
      }
      world.advance(pick(20_000));
    } while (cursor !== undefined && pages < 500);
    assertEquals(cursor, undefined);
    duplicates += seen.length - new Set(seen).size;
    for (let i = 0; i < 110; i++) {
      const id = `old${i}`;
      if (visible({ id }) && !removed.has(id) && !seen.includes(id)) losses++;
    }
    shown += seen.length;
  }
  assert(shown > 800);
  assertEquals({ duplicates, losses }, { duplicates: 0, losses: 0 });
});

Deno.test("the day's allowances are spent: reads go on, nothing rejects, writes come back at midnight", async () => {
  const quotas = { write: 5, list: 5, delete: 0, read: 1_000 };
  const { world, clock, random } = worldOf(1, { quotas, faults: { rate: 0 } });
  const kv = world.location("LHR");
  const ctx = { waitUntil: () => {} };
  const chats = new Conversations(kv, { clock });
  const log = new KeywordLog(kv, { clock, random });
  const feed = new Feed<{ id: string }>(kv, { id: ({ id }) => id, clock });
  for (let i = 0; i < 20; i++) {
    await chats.append(`t${i % 2}`, turn(`${i}`));
    log.log(`term ${i}`, ctx);
    await log.flush();
    await feed.add("f", { id: `${i}` });
    await feed.page("f");
    await log.top();
    world.advance(MINUTE);
  }
  assertEquals(world.quotasLeft.write, 0);
  assertEquals((await chats.load("t0")).messages.length, 20);
  assert((await feed.page("f")).items.length > 0);
  world.advance(86_400_000 - world.now() % 86_400_000 + 1_000);
  assertEquals((await chats.append("t0", turn("new day"))).written, true);
  assertEquals((await chats.load("t0")).messages.length, 22);
  assert((await log.flush()).written);
  assert((await feed.add("f", { id: "new day" })).written);
});

Deno.test("the same seed gives the same trace", async () => {
  const run = async () => {
    const { world, clock, pick } = worldOf(5);
    const feed = new Feed<{ id: string }>(world.location("LHR"), { id: ({ id }) => id, clock });
    const chats = new Conversations(world.location("AMS"), { clock });
    for (let i = 0; i < 40; i++) {
      await feed.add("f", { id: `${i}` });
      await chats.append("t", turn(`${i}`));
      await feed.page("f");
      world.advance(pick(MINUTE));
    }
    return world.traceHash;
  };
  assertEquals(await run(), await run());
});
