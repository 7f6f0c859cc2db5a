import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Calendar } from "../lib/views/day.ts";
import type { NetworkView } from "../lib/views/network.ts";
import { fallbackDueAt, pace, paceFinal, type PaceInput } from "../lib/views/pacing.ts";
import { NOON, TODAY } from "./_core_site.ts";

const calendar = new Calendar();
const today = calendar.day(TODAY);
const yesterday = calendar.day("2026-11-19");
const HOUR = 3_600_000;

/** What a census has learnt that these tests are not about. */
const TAUGHT = { price: 0.3, days: 2, visits: 40 };

function network(parts: Partial<NetworkView> = {}, writes = 0, late = 0): NetworkView {
  return {
    at: NOON,
    used: { writes, late },
    recent: 0,
    writers: 10,
    weight: 20,
    total: 40,
    foretold: 80,
    other: {},
    ...parts,
  };
}

function input(parts: Partial<PaceInput> = {}): PaceInput {
  return {
    now: NOON,
    today,
    writesPerDay: 400,
    network: undefined,
    before: undefined,
    census: undefined,
    total: 5,
    totalBefore: 0,
    pending: 1,
    countedAt: NOON,
    since: NOON - HOUR,
    visits: 0,
    visitsBefore: 0,
    volatile: false,
    ...parts,
  };
}

Deno.test("pace() lets a quiet site write at once", () => {
  const { dueAt, mode, look } = pace(input({ network: network({ total: 24 }, 24) }));
  assertEquals([dueAt, mode, look], [NOON, 0, true]);
  assertEquals(pace(input()).dueAt, NOON);
});

Deno.test("pace() stops when the day's writes are used up", () => {
  for (const volatile of [false, true]) {
    const { dueAt } = pace(input({ network: network({ total: 50_000 }, 400), volatile }));
    assertEquals(dueAt, Infinity);
  }
});

Deno.test("pace() makes a write without a cache carry more on a busy day", () => {
  const busy = network({ total: 20_000 }, 150);
  const at = (pending: number) => pace(input({ network: busy, volatile: true, pending })).dueAt;
  assertEquals([at(1), at(10_000)], [Infinity, NOON]);
});

Deno.test("pace() holds a write for the visitor's next page where writes are scarce", () => {
  const scarce = network({ total: 400, writers: 200, weight: 300 }, 200);
  const { dueAt, mode } = pace(input({ network: scarce, pending: 5 }));
  assertEquals(mode, 1);
  assert(dueAt > NOON && dueAt <= NOON + 30_000);
});

Deno.test("pace() takes turns on a busy day, in proportion to the root of the traffic", () => {
  const busy = network({ total: 40_000, writers: 100, weight: 2_000 }, 190);
  const due = (total: number) =>
    pace(input({ network: busy, total, pending: total, visits: total, since: NOON })).dueAt;
  const [small, large] = [due(400), due(40_000)];
  assert(Number.isFinite(small) && large < small, `${small} ${large}`);
});

Deno.test("pace() needs no other listing for a while once a data center knows its share", () => {
  const census = { dataCenters: 100, total: 90_000, weight: 2_500, finals: 90, ...TAUGHT };
  const busy = network({ total: 45_000, writers: 100, weight: 2_500 }, 300);
  const known = { census, total: 500, totalBefore: 900, visits: 500, pending: 300 };
  const { look, mode } = pace(input({ ...known, network: busy }));
  assertEquals([look, mode], [false, 2]);
  const old = { ...busy, at: NOON - HOUR };
  assertEquals(pace(input({ ...known, network: old })).look, true);
});

Deno.test("pace() keeps writes for yesterday", () => {
  const census = { dataCenters: 10, total: 40, weight: 20, finals: 200, ...TAUGHT };
  const mode = (late: number, parts: Partial<PaceInput> = {}) =>
    pace(input({ network: network({}, 150, late), ...parts })).mode;
  // Half of the day, and five eighths of its writes, are gone when 250 of 400 are.
  assertEquals([mode(0), mode(0, { census })], [0, 2]);
  assertEquals([mode(50), mode(300)], [0, 2]);
  assertEquals(mode(0, { census, volatile: true }), 0);
});

Deno.test("pace() asks a write to save what the day before has taught", () => {
  const scarce = network({ total: 2_000, writers: 200, weight: 900 }, 200);
  const known = { dataCenters: 200, total: 4_000, weight: 900, finals: 60, days: 5, visits: 5 };
  const is = (price: number, parts: Partial<PaceInput> = {}) => {
    const census = { ...known, price, ...parts.census };
    const paced = pace(input({ network: scarce, visits: 1, pending: 3, ...parts, census }));
    return [paced.mode, paced.price];
  };
  // A visit a day: that nobody comes for a day and a half has a chance of about a fifth.
  assertEquals([is(0.3), is(0.9)], [[1, 0.3], [2, 0]]);
  // Fewer visits make it likelier, more views make it worse.
  assertEquals(is(0.9, { census: { ...known, price: 0.9, visits: 1 } }), [1, 0.9]);
  assertEquals([is(0.9, { pending: 9 }), is(0.3, { pending: 1 })], [[1, 0.9], [2, 0]]);
  // Ahead of the plan the price rises; behind it, it stays.
  assertEquals(is(0.3, { network: network({ total: 2_000 }, 100) }), [1, 0.3]);
  assertEquals(is(0.3, { network: network({ total: 2_000 }, 290) }), [2, 0]);
});

Deno.test("pace() lets a write cost less that probably spares tomorrow's", () => {
  const census = { dataCenters: 200, total: 4_000, weight: 900, finals: 60, ...TAUGHT };
  const scarce = network({ total: 2_000, writers: 200, weight: 900 }, 200);
  const at = (price: number) => {
    const known = { census: { ...census, price, days: 5, visits: 12 }, visits: 2 };
    return pace(input({ network: scarce, ...known, pending: 3 })).mode;
  };
  // It saves 0.135 views, and is the day's last while somebody comes tomorrow with a chance of 0.23.
  assertEquals([at(0.17), at(0.18)], [1, 2]);
});

Deno.test("pace() takes views that never pause for more than one visit", () => {
  const scarce = network({ total: 2_000, writers: 200, weight: 900 }, 200);
  const busy = { network: scarce, total: 900, visits: 1, pending: 5 };
  assertEquals(pace(input({ ...busy, total: 9 })).mode, 1);
  assertEquals(pace(input(busy)).mode, 2);
});

Deno.test("pace() never gives NaN, nor a time that is long past, whatever it is told", () => {
  const count = fc.integer({ min: 0, max: 1_000_000 });
  const view = fc.record({
    at: fc.integer({ min: today.start - HOUR, max: today.end }),
    writes: count,
    late: count,
    recent: count,
    writers: count,
    weight: fc.double({ min: 0, max: 1e6, noNaN: true }),
    total: count,
  }).map(({ writes, late, ...rest }) =>
    network({ ...rest, foretold: rest.total * 2 }, writes, late)
  );
  const census = fc.record({
    dataCenters: count,
    total: count,
    weight: count,
    finals: count,
    price: fc.double({ min: 0, max: 2, noNaN: true }),
    days: fc.double({ min: 0, max: 7, noNaN: true }),
    visits: count,
  });
  const any = fc.record({
    now: fc.integer({ min: today.start, max: today.end - 1 }),
    writesPerDay: fc.integer({ min: 1, max: 10_000 }),
    network: fc.option(view, { nil: undefined }),
    before: fc.option(view.map((network) => ({ day: yesterday, network })), { nil: undefined }),
    census: fc.option(census, { nil: undefined }),
    total: count,
    totalBefore: count,
    pending: count,
    volatile: fc.boolean(),
  });
  fc.assert(
    fc.property(any, (parts) => {
      const made = input({ ...parts, countedAt: parts.now, since: parts.now - HOUR });
      const { dueAt, mode, price } = pace(made);
      assert(!Number.isNaN(dueAt) && dueAt >= parts.now - HOUR, String(dueAt));
      assert(Number.isFinite(price) && price >= 0 && [0, 1, 2].includes(mode));
      const { allowed, scarce } = paceFinal(made);
      assertEquals([typeof allowed, typeof scarce], ["boolean", "boolean"]);
      if (parts.network && parts.network.used.writes >= parts.writesPerDay && !parts.volatile) {
        assertEquals(pace({ ...made, now: Math.max(made.now, parts.network.at) }).dueAt > 0, true);
      }
    }),
    { seed: 20261130, numRuns: 2_000 },
  );
});

Deno.test("paceFinal() allows late writes within the day's budget", () => {
  assertEquals(paceFinal(input()), { allowed: true, scarce: false });
  const census = { dataCenters: 100, total: 9_000, weight: 900, finals: 50, ...TAUGHT };
  assertEquals(paceFinal(input({ census })), { allowed: true, scarce: true });
  const gone = network({}, 390, 6);
  assertEquals(paceFinal(input({ census, network: gone })).allowed, false);
  const before = { day: yesterday, network: network({ at: NOON, recent: 500 }, 200, 1) };
  assertEquals(paceFinal(input({ before })).allowed, false);
  const early = { day: yesterday, network: network({ at: today.start - 1 }, 399) };
  assertEquals(paceFinal(input({ before: early })).allowed, true);
});

Deno.test("fallbackDueAt() follows the article's schedule, ever more slowly", () => {
  const due = (pending: number, writes: number) => fallbackDueAt(NOON, pending, writes) - NOON;
  assertEquals([due(1, 0), due(1, 1), due(250, 1)], [0, HOUR / 2, 0]);
  assertEquals([due(250, 2), due(500, 2), due(1, 3)], [HOUR, 0, 2 * HOUR]);
  assertEquals([due(1, 48), due(10 ** 9, 48)], [Infinity, Infinity]);
});
