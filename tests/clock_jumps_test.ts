/** A clock that is set back, or was ahead for a while, delays counts by minutes and not for as long as it was wrong. */
import { assertEquals } from "@std/assert";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { PageViews } from "../lib/page_views.ts";
import { EdgeCacheFake, Simulation } from "../lib/sim/mod.ts";
import { BROWSER } from "./_traffic_worker.ts";
import { NOON, TODAY } from "./_core_site.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Isolates of one data center, each with a clock of its own. */
function makeCenter() {
  const sim = new Simulation({ seed: 3, startMs: NOON });
  const kv = new MemoryKv({ now: sim.clock.now });
  const edgeCache = new EdgeCacheFake({ clock: sim.clock, random: sim.random, evictionRate: 0 });
  function isolate() {
    const clock = { ahead: 0, now: () => sim.clock.now() + clock.ahead, sleep: sim.clock.sleep };
    const views = new PageViews(kv, { clock, edgeCache, colo: "LHR", random: sim.random });
    const view = () => {
      const request = new Request("https://site.example/", { headers: BROWSER });
      const response = new Response("<h1>Page</h1>", { headers: { "content-type": "text/html" } });
      views.count(request, response, { waitUntil: (work) => sim.spawn(work) });
    };
    return { clock, views, view };
  }
  const wait = (ms: number) => sim.runUntil(sim.clock.now() + ms);
  async function stored(): Promise<number> {
    const { keys } = await kv.list({ prefix: `views:${TODAY}:` });
    return keys.reduce((sum, { metadata }) => sum + Object(metadata).total, 0);
  }
  return { sim, kv, isolate, wait, stored };
}

for (const ahead of [6 * HOUR_MS, -6 * HOUR_MS]) {
  Deno.test(`a clock that jumps by ${ahead / HOUR_MS} hours and back stops nothing`, async () => {
    const { isolate, wait, stored } = makeCenter();
    const one = isolate();
    const other = isolate();
    let made = 0;
    const visit = async (ms: number) => {
      for (const { view } of [one, other]) view();
      made += 2;
      await wait(ms);
    };
    await visit(MINUTE_MS);
    // In the middle of a flush.
    await visit(1_000);
    one.clock.ahead = ahead;
    await visit(1_000);
    await visit(MINUTE_MS);
    await visit(1_000);
    one.clock.ahead = 0;
    for (let n = 0; n < 3; n++) await visit(MINUTE_MS);
    assertEquals(await stored(), made);
  });
}
