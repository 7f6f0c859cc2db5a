import { assert, assertEquals } from "@std/assert";
import { scrimp } from "./sim/designs.ts";
import { simulateNetwork } from "./sim/network.ts";

/** Views a day, data centers: from a quiet site to one whose writes are far too few. */
const NETWORKS = [[500, 250], [1_000, 250], [2_000, 250], [5_000, 250], [5_000, 20]] as const;

for (const [viewsPerDay, dataCenters] of NETWORKS) {
  const name = `${viewsPerDay} views over ${dataCenters} data centers`;
  Deno.test(`at least 99 % of ${name} are stored by the end of the next day`, async () => {
    const { days, rejections, overdue } = await simulateNetwork({
      design: scrimp(),
      viewsPerDay,
      dataCenters,
      days: 3,
    });
    assertEquals(days.length, 2);
    for (const day of days) {
      const { made, storedByNextDayEnd, writes, lists, overCount, refused } = day;
      assert(storedByNextDayEnd >= 0.99 * made, `${storedByNextDayEnd} of ${made} on ${day.day}`);
      assert(writes <= 404, `${writes} writes on ${day.day}`);
      assert(lists <= 600, `${lists} lists on ${day.day}`);
      assertEquals([overCount, refused], [0, 0]);
    }
    assertEquals([rejections, overdue], [0, 0]);
  });
}

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
