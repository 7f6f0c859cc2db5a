import { assertEquals, assertThrows } from "@std/assert";
import { addDays, Calendar, isDay } from "../lib/views/day.ts";

const HOUR = 3_600_000;

for (
  const [zone, day, hours, why] of [
    ["UTC", "2026-03-29", 24, "no clock changes"],
    ["Europe/Berlin", "2026-03-29", 23, "spring"],
    ["Europe/Berlin", "2026-10-25", 25, "autumn"],
    ["America/New_York", "2026-03-08", 23, "spring"],
    ["Australia/Lord_Howe", "2026-04-05", 24.5, "half an hour back"],
    ["America/Santiago", "2026-09-06", 23, "midnight is skipped"],
    ["Asia/Kathmandu", "2026-06-01", 24, "an odd offset"],
    ["Pacific/Kiritimati", "2026-06-01", 24, "far ahead"],
  ] as const
) {
  Deno.test(`Calendar gives ${day} in ${zone} ${hours} hours: ${why}`, () => {
    const calendar = new Calendar(zone);
    const { start, end } = calendar.day(day);
    assertEquals((end - start) / HOUR, hours);
    assertEquals(calendar.dayAt(start).name, day);
    assertEquals(calendar.dayAt(end - 1).name, day);
    assertEquals(calendar.dayAt(start - 1).name, addDays(day, -1));
    assertEquals(calendar.dayAt(end).name, addDays(day, 1));
  });
}

Deno.test("Calendar counts a reader's midnight in the site's zone", () => {
  const late = Date.UTC(2026, 10, 10, 23, 59, 59);
  assertEquals(new Calendar().dayAt(late).name, "2026-11-10");
  assertEquals(new Calendar("Asia/Taipei").dayAt(late).name, "2026-11-11");
  assertEquals(new Calendar("America/Los_Angeles").dayAt(late).name, "2026-11-10");
});

Deno.test("Calendar gives the same day object until the day is over", () => {
  const calendar = new Calendar("Europe/Berlin");
  const { start, end } = calendar.day("2026-10-25");
  const day = calendar.dayAt(start);
  for (let ms = start; ms < end; ms += HOUR / 2) assertEquals(calendar.dayAt(ms) === day, true);
  assertEquals(calendar.dayAt(end) === day, false);
});

Deno.test("Calendar agrees with the runtime at every hour of a year", () => {
  for (const timeZone of ["America/Sao_Paulo", "Africa/Casablanca", "Pacific/Chatham"]) {
    const calendar = new Calendar(timeZone);
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone });
    for (let ms = Date.UTC(2026, 0); ms < Date.UTC(2027, 0); ms += HOUR) {
      assertEquals(calendar.dayAt(ms).name, format.format(ms));
    }
  }
});

Deno.test("Calendar refuses a zone that does not exist", () => {
  for (const zone of ["Mars/Olympus", "", "Europe"]) {
    assertThrows(() => new Calendar(zone), RangeError, `time zone "${zone}"`);
  }
});

Deno.test("addDays() crosses months, leap days and years", () => {
  assertEquals(addDays("2028-02-28", 1), "2028-02-29");
  assertEquals(addDays("2026-02-28", 1), "2026-03-01");
  assertEquals(addDays("2026-12-31", 1), "2027-01-01");
  assertEquals(addDays("2026-01-01", -1), "2025-12-31");
  assertEquals(addDays("2026-11-10", 0), "2026-11-10");
});

Deno.test("isDay() takes days that exist", () => {
  for (const day of ["2026-11-10", "2028-02-29", "0001-01-01"]) assertEquals(isDay(day), true, day);
  for (
    const day of [
      "",
      "2026-02-29",
      "2026-13-01",
      "2026-1-1",
      "2026-11-10T00",
      "20261110",
      "x",
      "2026-00-10",
    ]
  ) {
    assertEquals(isDay(day), false, day);
  }
});
