/** A Worker over a counting MemoryKv, for the tests of the traffic routes. */
import { createWorker, type Env } from "../lib/worker/create_worker.ts";
import type { EdgeCache } from "../lib/views/edge_cache.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";
import { NOON } from "./_report_fixtures.ts";

/** What a test holds in its hands. */
export interface TrafficWorker {
  /** The store. */
  readonly kv: MemoryKv;
  /** Operations so far, by kind. */
  readonly operations: { get: number; put: number; list: number };
  /** The time; set it to move it. */
  now: number;
  /** Asks the Worker; the path is one of `https://example.org`. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Waits for everything that was put off. */
  settle(): Promise<void>;
}

/** An edge cache in memory, without expiry. */
export function mapCache(): EdgeCache {
  const entries = new Map<string, string>();
  return {
    get: (key) => Promise.resolve(entries.get(key)),
    set: (key, value) => {
      entries.set(key, value);
      return Promise.resolve();
    },
  };
}

/**
 * Makes one isolate.
 *
 * @param env Settings of the Worker.
 * @param edgeCache Its data center's cache.
 * @param origin Where it is.
 */
export function trafficWorker(
  env: Env = {},
  edgeCache: EdgeCache | null = null,
  origin = "https://example.org",
): TrafficWorker {
  const kv = new MemoryKv({ now: () => self.now });
  const operations = { get: 0, put: 0, list: 0 };
  const counted = new Proxy(kv, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name === "get") operations.get += Array.isArray(args[0]) ? args[0].length : 1;
        if (name === "put" || name === "list") operations[name]++;
        return value.apply(target, args);
      };
    },
  });
  const waiting: Promise<unknown>[] = [];
  const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
  const sleep = (ms: number) => {
    self.now += ms;
    return Promise.resolve();
  };
  const worker = createWorker({
    clock: { now: () => self.now, sleep },
    random: () => 0.5,
    edgeCache,
  });
  const all: Env = { KV: counted, ...env };
  const self: TrafficWorker = {
    kv,
    operations,
    now: NOON,
    ask: (path, init) => worker.fetch(new Request(origin + path, init), all, ctx),
    settle: async () => {
      while (waiting.length > 0) await waiting.shift();
    },
  };
  return self;
}

/** A page that a browser can ask for. */
export const SITE = {
  fetch: () =>
    Promise.resolve(new Response("<h1>Page</h1>", { headers: { "content-type": "text/html" } })),
};

/** The headers of a navigation. */
export const BROWSER: Record<string, string> = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "accept-language": "en",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};
