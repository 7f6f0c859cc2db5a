import { assert, assertEquals } from "@std/assert";
import { bundle, stop, WORKER_ENTRY } from "../scripts/_bundle.ts";
import { type Running, startBackend, startIsolates } from "./_shards_workerd.ts";

interface Truth {
  readonly values: Record<string, string>;
  readonly operations: { write: number; list: number };
  readonly caches: number;
}

const HEADERS = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

async function visit(running: Running, which: number, center: string, views: number) {
  const headers = { ...HEADERS, "x-cf": JSON.stringify({ colo: center }) };
  for (let view = 0; view < views; view++) {
    const answer = await fetch(`${running.urls[which]}/page-${view % 3}`, { headers });
    assertEquals([answer.status, await answer.text()], [200, "<h1>Page</h1>"]);
  }
}

async function truth(backend: Running): Promise<Truth & { views: number; shards: string[] }> {
  const told: Truth = await (await fetch(`${backend.urls[0]}/`)).json();
  const shards = Object.entries(told.values).filter(([key]) => key.startsWith("views:"));
  const views = shards.reduce((sum, [, text]) => sum + JSON.parse(text).total, 0);
  return { ...told, views, shards: shards.map(([key]) => key) };
}

/**
 * Waits until so many views are stored, and sees that there are never more than were made. What has not
 * left a data center after a while does when somebody opens its report.
 */
async function stored(
  backend: Running,
  wanted: number,
  made = wanted,
  reader?: Running,
): Promise<number> {
  let views = 0;
  for (let attempt = 0; attempt < 300; attempt++) {
    if (attempt === 150 && reader) {
      for (const center of ["AMS", "SIN"]) {
        const headers = { "x-cf": JSON.stringify({ colo: center }) };
        for (const url of reader.urls) {
          await (await fetch(`${url}/api/traffic`, { headers })).text();
        }
      }
    }
    views = (await truth(backend)).views;
    assert(views <= made, `${views} stored of ${made} made`);
    if (views >= wanted) return views;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`Of ${made} views ${views} were stored after a minute, ${wanted} should be`);
}

Deno.test({
  name: "isolates of the built Worker that share a stale KV conserve counts when they are killed",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const worker = (await bundle(WORKER_ENTRY)).code;
    const { code } = await bundle("tests/_shards_backend.ts");
    await stop();
    const all: Running[] = [];
    const started = async (running: Promise<Running>) => {
      all.push(await running);
      return await running;
    };
    try {
      const backend = await started(startBackend(code));
      const at = backend.urls[0] ?? "";
      const first = await started(startIsolates(worker, at, ["AMS", "AMS"]));
      const second = await started(startIsolates(worker, at, ["AMS", "SIN"]));
      await Promise.all([
        visit(first, 0, "AMS", 10),
        visit(first, 1, "AMS", 10),
        visit(second, 0, "AMS", 10),
        visit(second, 1, "SIN", 10),
      ]);
      await stored(backend, 40, 40, first);
      await first.kill();
      all.splice(all.indexOf(first), 1);
      const third = await started(startIsolates(worker, at, ["AMS", "AMS", "SIN"]));
      await Promise.all([
        visit(third, 0, "AMS", 7),
        visit(third, 1, "AMS", 7),
        visit(third, 2, "SIN", 6),
      ]);
      await stored(backend, 60, 60, third);
      // These have not left their isolates when they are killed.
      await Promise.all([visit(second, 0, "AMS", 5), visit(second, 1, "SIN", 5)]);
      await second.kill();
      all.splice(all.indexOf(second), 1);
      await visit(third, 0, "AMS", 5);
      await visit(third, 2, "SIN", 5);
      const views = await stored(backend, 70, 80, third);
      const { shards, operations, caches } = await truth(backend);
      assertEquals(new Set(shards.map((key) => key.split(":")[2]?.slice(0, 3))).size, 2);
      assert(caches > 0, "the Cache API was not used");
      assert(operations.write < 40 && operations.list < 60, JSON.stringify({ operations, views }));
    } finally {
      for (const running of all) await running.kill();
    }
  },
});
