import { assert, assertEquals } from "@std/assert";
import { scrimp } from "./sim/designs.ts";
import { simulateNetwork } from "./sim/network.ts";

/** Views a day, data centers: from a quiet site to one whose writes are far too few. */
const NETWORKS = [
  [500, 100, 0.99],
  [1_000, 50, 0.99],
  [2_000, 100, 0.99],
  [5_000, 20, 0.99],
  [5_000, 100, 0.99],
  [1_000, 250, 0.99],
  [20_000, 250, 0.99],
  // So few visits to so many data centers that single days may fall short of the goal, the first most.
  [500, 250, 0.985],
  [5_000, 250, 0.98],
] as const;

for (const [viewsPerDay, dataCenters, share] of NETWORKS) {
  const name = `${viewsPerDay} views over ${dataCenters} data centers`;
  Deno.test(`at least ${100 * share} % of ${name} are stored by the end of the next day`, async () => {
    const { days, rejections, overdue } = await simulateNetwork({
      design: scrimp(),
      viewsPerDay,
      dataCenters,
      days: 3,
    });
    assertEquals(days.length, 2);
    for (const day of days) {
      const { made, storedByNextDayEnd, writes, lists, overCount, refused } = day;
      assert(storedByNextDayEnd >= share * made, `${storedByNextDayEnd} of ${made} on ${day.day}`);
      assert(writes <= 404, `${writes} writes on ${day.day}`);
      assert(lists <= 600, `${lists} lists on ${day.day}`);
      assertEquals([overCount, refused], [0, 0]);
    }
    assertEquals([rejections, overdue], [0, 0]);
  });
}

Deno.test("99 % of 5000 views over 250 data centers are stored once there has been a day to learn from", async () => {
  const { days } = await simulateNetwork({
    design: scrimp(),
    viewsPerDay: 5_000,
    dataCenters: 250,
    days: 7,
  });
  const sum = (of: "made" | "storedByNextDayEnd") =>
    days.slice(1).reduce((total, day) => total + day[of], 0);
  const [made, stored] = [sum("made"), sum("storedByNextDayEnd")];
  assert(stored >= 0.99 * made, `${stored} of ${made}`);
  for (const { day, writes, lists } of days) {
    assert(writes <= 404 && lists <= 600, `${writes} writes, ${lists} lists on ${day}`);
  }
});

Deno.test("99 % of 300 views a day are stored within a minute", async () => {
  const { days } = await simulateNetwork({
    design: scrimp(),
    viewsPerDay: 300,
    dataCenters: 20,
    days: 3,
  });
  for (const { day, made, storedWithinMinute } of days) {
    assert(storedWithinMinute >= 0.99 * made, `${storedWithinMinute} of ${made} on ${day}`);
  }
});

Deno.test("a day with fifty times the traffic for two hours stays within its writes", async () => {
  const { days } = await simulateNetwork({
    design: scrimp(),
    viewsPerDay: 300,
    dataCenters: 250,
    days: 3,
    spike: { hour: 30, hours: 2, factor: 50 },
  });
  for (const { day, writes, lists, overCount, refused } of days) {
    assert(writes <= 404, `${writes} writes on ${day}`);
    assert(lists <= 600, `${lists} lists on ${day}`);
    assertEquals([overCount, refused], [0, 0]);
  }
});
