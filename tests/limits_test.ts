import { assertEquals, assertThrows } from "@std/assert";
import * as limits from "../lib/kv/limits.ts";

Deno.test("ttlSecondsFor() never goes below KV's least", () => {
  const cases: [number, number][] = [[-1, 60], [0, 60], [59_900, 60], [60_000, 60], [60_001, 61]];
  for (const [ms, seconds] of cases) assertEquals(limits.ttlSecondsFor(ms), seconds);
  assertEquals(limits.ttlSecondsFor(1e20), limits.OPTION_MAX);
  for (const bad of [NaN, Infinity]) assertThrows(() => limits.ttlSecondsFor(bad), RangeError);
});

Deno.test("checkExpiration() refuses milliseconds, fractions and what is too near", () => {
  const now = Date.UTC(2026, 0, 1);
  const least = now / 1000 + 60;
  assertEquals(limits.checkExpiration(least, now), least);
  for (const bad of [now + 90_000, least - 1, least + 0.5, NaN, Infinity]) {
    assertThrows(() => limits.checkExpiration(bad, now), RangeError, "Expiration must be whole");
  }
});

Deno.test("msUntilReset() counts to 00:00 UTC", () => {
  assertEquals(limits.msUntilReset(0), limits.DAY_MS);
  assertEquals(limits.msUntilReset(limits.DAY_MS - 1), 1);
  assertEquals(limits.msUntilReset(-1), 1);
});

Deno.test("limits keep their relations", () => {
  const { CACHE_TTL_SECONDS_MIN, CACHE_TTL_SECONDS_DEFAULT, WRITES_PER_DAY, READS_PER_DAY } =
    limits;
  assertEquals(CACHE_TTL_SECONDS_MIN < CACHE_TTL_SECONDS_DEFAULT, true);
  assertEquals(WRITES_PER_DAY < READS_PER_DAY, true);
});
