import { assert, assertEquals } from "@std/assert";
import { Miniflare } from "miniflare";
import { bundle, stop } from "../scripts/_bundle.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import type { BackendControl } from "./_backend_worker.ts";
import { type Observation, probe } from "./_kv_probe.ts";
import { generateSequences, withoutTimes } from "./_kv_generated.ts";
import { runSequences } from "./_kv_sequences.ts";
import { startWorkerd } from "./_workerd.ts";

/**
 * The differences that stay between our fake and Miniflare, each with its reason. Where `ring` is 1, the
 * real binding on our fake (ring 2) agrees with Miniflare.
 */
const EXPLAINED: readonly (readonly [operation: string, ring: "1" | "1 and 2", reason: string])[] =
  [
    ['list({prefix: "\\u0000"})', "1 and 2", "Miniflare's database ends a prefix at NUL"],
    ['list({prefix: "l:a\\u0000"})', "1 and 2", "Miniflare's database ends a prefix at NUL"],
    ['get(["__proto__"])', "1 and 2", "Miniflare sets the key on an object and loses it"],
    [
      "list with a cursor that is none",
      "1 and 2",
      "Miniflare decodes whatever it gets; a cursor is opaque, so the fake refuses what it did not make",
    ],
    [
      "bytes changed after the call",
      "1",
      "Workerd 1.20260730.1 sends what the buffer holds when it gets to it; the fake copies at the call, as 1.20261117.1 does",
    ],
  ];

/** Namespaces that sequences run on side by side. */
const NAMESPACES = Array.from({ length: 10 }, (_, i) => `KV${i}`);

const REAL = {
  sanitizeOps: false,
  sanitizeResources: false,
};

async function openMiniflare(): Promise<Miniflare> {
  const { code } = await bundle("tests/_probe_worker.ts");
  return new Miniflare({
    modules: [{ type: "ESModule", path: "main.js", contents: new TextDecoder().decode(code) }],
    kvNamespaces: ["KV", ...NAMESPACES],
    compatibilityDate: "2026-07-01",
    cf: false,
  });
}

async function ask<T>(miniflare: Miniflare, path: string, body: unknown = null): Promise<T> {
  const response = await miniflare.dispatchFetch(`http://probe.example/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return await response.json() as T;
}

async function askWorkerd<T>(url: string, path: string, body: unknown = null): Promise<T> {
  const request = { method: "POST", body: JSON.stringify(body) };
  return await (await fetch(new URL(path, url), request)).json();
}

/** Compares two probes; gives the operations that differ. */
function differences(ours: readonly Observation[], theirs: readonly Observation[]): string[] {
  assertEquals(ours.map(([operation]) => operation), theirs.map(([operation]) => operation));
  return ours.filter(([, answer], i) => answer !== theirs[i]?.[1]).map(([operation]) => operation);
}

Deno.test({
  ...REAL,
  name: "the fake, the real binding on the fake, and Miniflare answer alike",
  async fn(t) {
    const miniflare = await openMiniflare();
    const workerd = await startWorkerd("tests/_probe_worker.ts", "tests/_backend_worker.ts");
    await stop();
    try {
      const ring3 = await ask<Observation[]>(miniflare, "probe");
      const ring2 = await askWorkerd<Observation[]>(workerd.url, "probe");
      const ring1 = await probe(new MemoryKv());
      assert(ring1.length >= 300, `${ring1.length} observations`);
      await t.step(`${ring1.length} observations: the fake and Miniflare`, () => {
        assertEquals(differences(ring1, ring3), inOrder(ring1, "1"));
      });
      await t.step(
        `${ring2.length} observations: the real binding on the fake, and Miniflare`,
        () => {
          assertEquals(differences(ring2, ring3), inOrder(ring1, "1 and 2"));
        },
      );
      await t.step("the contract suite on the real binding on the fake", async () => {
        assertEquals(await askWorkerd(workerd.url, "contract", "all"), []);
      });
      await t.step("the contract suite on a harmless KvWorld behind the real binding", async () => {
        const world = { seed: 1, staleness: 0, sameKeyWrites: "overwrite", quotas: null } as const;
        await control(workerd.url, { world });
        assertEquals(await askWorkerd(workerd.url, "contract", "all"), []);
      });
      await t.step("the real binding throws what a KvWorld makes it throw", async () => {
        await control(workerd.url, { world: { seed: 1, sameKeyWrites: "throw" } });
        assertEquals(await askWorkerd(workerd.url, "naive"), [
          "undefined",
          "rejects with Error: KV PUT failed: 429 Too Many Requests",
        ]);
        const cues = [{ fault: "503" }, { fault: "500", effect: "after" }] as const;
        await control(workerd.url, { world: { seed: 1 }, cues });
        assertEquals(await askWorkerd(workerd.url, "naive"), [
          "rejects with Error: KV PUT failed: 503 Service Temporarily Unavailable",
          "rejects with Error: KV PUT failed: 500 Internal Server Error",
        ]);
      });
      await t.step("the contract suite on Miniflare", async () => {
        assertEquals(await ask(miniflare, "contract", "small"), []);
      });
    } finally {
      await workerd.stop();
      await miniflare.dispose();
    }
  },
});

/** The explained differences of a ring, in the order of the probe. */
function inOrder(ring1: readonly Observation[], ring: "1" | "1 and 2"): string[] {
  const explained = new Set(
    EXPLAINED.filter(([, where]) => ring === "1" || where === ring).map(([operation]) => operation),
  );
  return ring1.map(([operation]) => operation).filter((operation) => explained.has(operation));
}

async function control(url: string, body: BackendControl): Promise<void> {
  const response = await fetch(new URL("control", url), {
    method: "POST",
    body: JSON.stringify(body),
  });
  assertEquals(await response.text(), "ready");
}

Deno.test({
  ...REAL,
  name: "2,000 generated sequences: the fake and Miniflare answer alike",
  async fn() {
    const miniflare = await openMiniflare();
    await stop();
    try {
      const sequences = generateSequences(2000, 20261130);
      const parts = NAMESPACES.map((_, i) =>
        sequences.filter((_, at) => at % NAMESPACES.length === i)
      );
      const theirs = await ask<string[][][]>(miniflare, "sequences", parts);
      for (const [i, part] of parts.entries()) {
        const ours = await runSequences(new MemoryKv(), part);
        for (const [at, sequence] of part.entries()) {
          const [wanted, answered] = [theirs[i]?.[at] ?? [], ours[at] ?? []].map(withoutTimes);
          assertEquals(answered, wanted, JSON.stringify(sequence));
        }
      }
    } finally {
      await miniflare.dispose();
    }
  },
});
