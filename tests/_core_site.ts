/** Isolates of one site in virtual time, for the tests of the Worker's core. */
import type { Kv } from "../lib/kv/kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { Simulation } from "../lib/sim/mod.ts";
import type { EdgeCache } from "../lib/views/edge_cache.ts";
import type { DayReport } from "../lib/views/types.ts";
import type { WaitUntil } from "../lib/wait_until.ts";
import { createWorker, type Env, type ScrimpWorker } from "../lib/worker/create_worker.ts";
import { BROWSER, SITE } from "./_traffic_worker.ts";

/** Noon of the day on which the tests begin. */
export const NOON: number = Date.UTC(2026, 10, 20, 12);
/** That day. */
export const TODAY = "2026-11-20";

/** What an isolate is made with. */
export interface SiteIsolateOptions {
  /** Bindings and settings beside `KV` and `ASSETS`; `KV: undefined` takes the store away. */
  readonly env?: Env;
  /** The data center's cache. */
  readonly edgeCache?: EdgeCache | null;
  /** The data center; `null` for a request without `cf`. */
  readonly colo?: string | null;
}

/** One isolate of the site. */
export interface SiteIsolate {
  /** The Worker itself. */
  readonly worker: ScrimpWorker;
  /** Its environment; may be changed between requests. */
  env: Env;
  /** What failed. */
  readonly errors: unknown[];
  /** Makes a request. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Looks at a page as a browser does. */
  view(path?: string, headers?: Record<string, string>): Promise<Response>;
  /** Asks the Worker for a day. */
  report(day?: string): Promise<DayReport>;
}

/** The site. */
export interface Site {
  /** Virtual time. */
  readonly sim: Simulation;
  /** The store that isolates get unless they are given another. */
  readonly kv: MemoryKv;
  /** The execution context: counts calls, and insists on being called as a method. */
  readonly ctx: WaitUntil & { calls: number };
  /** Starts an isolate. */
  isolate(options?: SiteIsolateOptions): SiteIsolate;
  /** Lets time go on. */
  wait(ms: number): Promise<void>;
}

/** Makes a site. */
export function makeSite(startMs = NOON): Site {
  const sim = new Simulation({ seed: 7, startMs });
  const kv = new MemoryKv({ now: sim.clock.now });
  const ctx = {
    calls: 0,
    waitUntil(promise: Promise<unknown>): void {
      if (this !== ctx) throw new TypeError("Illegal invocation");
      this.calls++;
      sim.spawn(promise);
    },
  };
  function isolate(options: SiteIsolateOptions = {}): SiteIsolate {
    const { edgeCache = null, colo = "LHR" } = options;
    const errors: unknown[] = [];
    const worker = createWorker({
      clock: sim.clock,
      random: sim.random,
      edgeCache,
      onError: (error) => errors.push(error),
    });
    const self: SiteIsolate = {
      worker,
      env: { KV: kv, ASSETS: SITE, ...options.env },
      errors,
      ask(path, init) {
        const request = new Request(`https://site.example${path}`, init);
        if (colo !== null) Object.defineProperty(request, "cf", { value: { colo } });
        return worker.fetch(request, self.env, ctx);
      },
      view: (path = "/", headers = {}) => self.ask(path, { headers: { ...BROWSER, ...headers } }),
      report: async (day = TODAY) => await (await self.ask(`/api/traffic?date=${day}`)).json(),
    };
    return self;
  }
  return { sim, kv, ctx, isolate, wait: (ms) => sim.runUntil(sim.clock.now() + ms) };
}

/** A store whose operations do what a test wants; the others go to `kv`. */
export function kvWith(kv: Kv, parts: Partial<Kv>): Kv {
  return {
    get: (key, options) => kv.get(key, options),
    getWithMetadata: (key, options) => kv.getWithMetadata(key, options),
    put: (key, value, options) => kv.put(key, value, options),
    delete: (key) => kv.delete(key),
    list: (options) => kv.list(options),
    ...parts,
  };
}

/** A store of which every operation does the same. */
export function kvAll(act: () => Promise<never>): Kv {
  return { get: act, getWithMetadata: act, put: act, delete: act, list: act };
}

/** Never settles. */
export function hang(): Promise<never> {
  return new Promise(() => {});
}

/** Everything in a store as one text. */
export async function dump(kv: Kv): Promise<string> {
  const { keys } = await kv.list();
  const lines = keys.map(async ({ name, metadata }) =>
    `${name} ${JSON.stringify(metadata)} ${await kv.get(name)}`
  );
  return (await Promise.all(lines)).join("\n");
}
