import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { DayKeeper } from "../lib/views/day_keeper.ts";
import {
  type DayState,
  emptyDay,
  emptyShard,
  foldParts,
  growPart,
  isDirty,
  isShardDirty,
  mergeDay,
  openPart,
  primaryShard,
  sumShard,
  viewsOf,
} from "../lib/views/day_state.ts";
import { decodeDay, encodeDay } from "../lib/views/day_codec.ts";
import { countsOf, emptyTally, KEYS_MAX, type Tally, tallyVerdict } from "../lib/views/tally.ts";

const DAY = "2026-11-20";
const NOON = Date.UTC(2026, 10, 20, 12);
const HOUR = 3_600_000;
const PARTS = 5;
const SEED = { seed: 20261130, numRuns: 300 };

/** The first `count` views that somebody called `name` counts; always the same ones. */
function views(name: string, count: number): Tally {
  const tally = emptyTally();
  for (let n = 0; n < count; n++) {
    const path = `/${name}/${n % 3}`;
    tallyVerdict(tally, { counted: true, path, referrer: "direct", kind: "browser" });
  }
  return tally;
}

/** What a replica of a day knows: how far each part is, and which were folded. */
interface Known {
  readonly counts: readonly number[];
  readonly folded: number;
}

/** Builds a replica. Parts are folded in one order only, and only when they grow no more. */
function replica({ counts, folded }: Known): DayState {
  const state = emptyDay(DAY);
  const shard = emptyShard("LHR-a", NOON);
  state.shards.set(shard.id, shard);
  counts.forEach((count, index) => {
    const name = `p${index}`;
    if (index < folded) {
      growPart(shard.base, views(name, 9), KEYS_MAX);
      shard.folded.add(name);
    } else growPart(openPart(shard, name, NOON), views(name, count), KEYS_MAX);
  });
  return state;
}

function copy(state: DayState): DayState {
  const read = decodeDay(encodeDay(state), DAY);
  if (!read) throw new Error("A day that was written cannot be read");
  return read;
}

function mergeAll(states: readonly DayState[]): DayState {
  const sum = emptyDay(DAY);
  for (const state of states) mergeDay(sum, copy(state));
  return sum;
}

function countsIn(state: DayState) {
  const counts = countsOf(
    [...state.shards.values()].map((shard) => sumShard(shard).tally)[0] ?? emptyTally(),
  );
  return { ...counts, paths: Object.entries(counts.paths).sort() };
}

const known: fc.Arbitrary<Known> = fc.record({
  counts: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: PARTS, maxLength: PARTS }),
  folded: fc.integer({ min: 0, max: 2 }),
});

Deno.test("mergeDay() gives the same counts in any order, any number of times", () => {
  fc.assert(
    fc.property(fc.array(known, { minLength: 1, maxLength: 6 }), fc.nat(), (all, turn) => {
      const states = all.map(replica);
      const folded = Math.max(...all.map((one) => one.folded));
      const most = Array.from(
        { length: PARTS },
        (_, index) => index < folded ? 9 : Math.max(...all.map(({ counts }) => counts[index] ?? 0)),
      ).reduce((sum, count) => sum + count, 0);
      const once = mergeAll(states);
      assertEquals(viewsOf(once), most);
      const at = turn % states.length;
      const turned = [...states.slice(at), ...states.slice(0, at)].reverse();
      assertEquals(countsIn(mergeAll(turned)), countsIn(once));
      assertEquals(countsIn(mergeAll([...states, ...turned, ...states])), countsIn(once));
      const left = mergeAll([mergeAll(states.slice(0, at)), mergeAll(states.slice(at))]);
      assertEquals(countsIn(left), countsIn(once));
    }),
    SEED,
  );
});

type Step = readonly ["view" | "sync" | "die" | "wait" | "lose" | "old", who: number, how: number];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("view", "view", "sync", "sync", "die", "die", "wait", "lose", "old"),
  fc.nat(2),
  fc.nat(1_000),
);

Deno.test("DayKeeper never gives more than was counted, whatever the cache does", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 400, size: "max" }),
      async (steps) => {
        let now = NOON;
        let made = 0;
        let born = 0;
        let answer: string | undefined;
        const old: string[] = [];
        const most = new Map<string, number>();
        const edgeCache = {
          get: () => Promise.resolve(answer),
          set: (_key: string, value: string) => {
            old.push(answer = value);
            return Promise.resolve();
          },
        };
        const keeper = () => {
          const start = ++born;
          let drawn = 0;
          return new DayKeeper({
            colo: "LHR",
            keysMax: 30,
            clock: { now: () => now, sleep: () => Promise.resolve() },
            random: () => (start * 50 + drawn++) / 100_000,
            edgeCache,
            onError: () => {},
          });
        };
        const keepers = [keeper(), keeper(), keeper()];
        for (const [what, who, how] of steps) {
          const one = keepers[who] ?? keeper();
          if (what === "view" || what === "die") {
            made++;
            const verdict = { counted: true, path: `/${how % 40}`, referrer: "a", kind: "browser" };
            tallyVerdict(one.pendingOf(DAY), verdict as never);
          }
          if (what === "sync") await one.sync(DAY);
          else if (what === "die") {
            await one.sync(DAY);
            keepers[who] = keeper();
          } else if (what === "wait") now += how * HOUR / 500;
          else if (what === "lose") answer = undefined;
          else if (what === "old") answer = old[how % Math.max(1, old.length)];
          for (const each of keepers) {
            for (const shard of each.peek(DAY)?.shards.values() ?? []) {
              const { total } = sumShard(shard).tally;
              most.set(shard.id, Math.max(total, most.get(shard.id) ?? 0));
            }
          }
        }
        const stored = [...most.values()].reduce((sum, total) => sum + total, 0);
        assert(stored <= made, `${stored} stored of ${made}`);
        for (const text of old) {
          const state = decodeDay(text, DAY);
          assert(state !== undefined && viewsOf(state) <= made);
        }
      },
    ),
    { ...SEED, numRuns: 60 },
  );
});

Deno.test("foldParts() folds silent parts of a busy shard and keeps the sum", () => {
  const state = emptyDay(DAY);
  const shard = emptyShard("LHR-a", NOON);
  state.shards.set(shard.id, shard);
  for (let n = 0; n < 40; n++) growPart(openPart(shard, `p${n}`, NOON), views(`p${n}`, 2), 30);
  foldParts(state, NOON + 2 * HOUR);
  assertEquals(shard.parts.size, 40);
  const part = openPart(shard, "new", NOON + 2 * HOUR);
  growPart(part, views("new", 3), 30);
  part.writes = 4;
  const first = shard.parts.get("p0");
  if (first) first.writes = 3;
  foldParts(state, NOON + HOUR - 1);
  assertEquals(shard.parts.size, 41);
  foldParts(state, NOON + 2 * HOUR);
  assertEquals([shard.parts.size, shard.folded.size, viewsOf(state)], [1, 40, 83]);
  assertEquals(sumShard(shard).writes, 7);
});

Deno.test("growPart() bounds keys and keeps sums", () => {
  const part = openPart(emptyShard("LHR-a", NOON), "p", NOON);
  for (let n = 0; n < 1_000; n++) {
    growPart(part, views(String(n), 3), 30);
    growPart(part, views("often", 3), 30);
  }
  const { total, paths } = part.tally;
  assertEquals([total, paths.size, paths.get("/often/0")], [6_000, 121, 1_000]);
  assertEquals([...paths.values()].reduce((sum, count) => sum + count, 0), 6_000);
});

Deno.test("mergeDay() takes over the later knowledge", () => {
  const [mine, theirs] = [emptyDay(DAY), emptyDay(DAY)];
  const census = { dataCenters: 1, total: 2, weight: 3, finals: 4, price: 0.3, days: 1, visits: 2 };
  Object.assign(theirs, { leaseUntil: 5, leaseBy: "them", restUntil: 7, refusals: 3 });
  theirs.lesson = { at: 1, census };
  mine.lesson = { at: 9, census: undefined };
  Object.assign(mine, { restUntil: 6, refusals: 1 });
  mergeDay(mine, theirs);
  const { leaseUntil, leaseBy, restUntil, refusals, lesson } = mine;
  assertEquals([leaseUntil, leaseBy, restUntil, refusals], [5, "them", 7, 3]);
  assertEquals(lesson, { at: 1, census });
  mergeDay(mine, emptyDay(DAY));
  assertEquals([mine.leaseBy, mine.refusals, mine.lesson.census], ["them", 3, census]);
});

Deno.test("mergeDay() keeps the part that this isolate counts into", () => {
  const mine = replica({ counts: [1, 1, 1, 1, 1], folded: 0 });
  const part = mine.shards.get("LHR-a")?.parts.get("p0");
  mergeDay(mine, copy(mine));
  assert(mine.shards.get("LHR-a")?.parts.get("p0") === part);
});

Deno.test("primaryShard() is the oldest, and of those of one age the first", () => {
  const state = emptyDay(DAY);
  assertEquals(primaryShard(state), undefined);
  for (const [id, born] of [["b", 5], ["a", 5], ["c", 4], ["d", 9], ["e", 4]] as const) {
    state.shards.set(id, emptyShard(id, born));
  }
  assertEquals(primaryShard(state)?.id, "c");
  state.shards.delete("c");
  state.shards.delete("e");
  assertEquals(primaryShard(state)?.id, "a");
});

Deno.test("isDirty() says whether something waits", () => {
  const state = replica({ counts: [1, 0, 0, 0, 2], folded: 0 });
  const shard = state.shards.get("LHR-a");
  assert(shard !== undefined && isShardDirty(shard) && isDirty(state));
  shard.stored = { ...shard.stored, events: 3 };
  assertEquals([isShardDirty(shard), isDirty(state), isDirty(emptyDay(DAY))], [
    false,
    false,
    false,
  ]);
});

Deno.test("decodeDay() reads what encodeDay() wrote, and nothing else", () => {
  const state = replica({ counts: [1, 2, 3, 4, 5], folded: 2 });
  const text = encodeDay(state);
  assertEquals(encodeDay(copy(state)), text);
  assertEquals(decodeDay(text, "2026-11-21"), undefined);
  const value = JSON.parse(text);
  const [shard] = value.shards;
  const [name, part] = shard.parts[0];
  for (
    const damaged of [
      { ...value, v: 2 },
      { ...value, shards: {} },
      { ...value, shards: [null] },
      { ...value, shards: [{ ...shard, id: 5 }] },
      { ...value, shards: [{ ...shard, base: undefined }] },
      { ...value, shards: [{ ...shard, parts: {} }] },
      { ...value, shards: [{ ...shard, folded: null }] },
      { ...value, shards: [{ ...shard, born: "x" }] },
      { ...value, shards: [{ ...shard, stored: { ...shard.stored, total: null } }] },
      { ...value, shards: [{ ...shard, parts: [[name, [...part.slice(0, 3), { total: -1 }]]] }] },
      { ...value, shards: [{ ...shard, parts: [[name, ["x", ...part.slice(1)]]] }] },
      { ...value, shards: [{ ...shard, parts: [null] }] },
      { ...value, lesson: null },
      { ...value, leaseUntil: "x" },
      { ...value, refusals: null },
    ]
  ) {
    assertEquals(decodeDay(JSON.stringify(damaged), DAY), undefined, JSON.stringify(damaged));
  }
  for (const text of [undefined, "", "null", "5", "{", "[]"]) {
    assertEquals(decodeDay(text, DAY), undefined);
  }
  const odd = decodeDay(JSON.stringify({ ...value, network: { at: 5 } }), DAY);
  assertEquals(odd?.network, undefined);
});
