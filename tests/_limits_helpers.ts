/** What the tests of limiters and claims share. */

import type { Kv } from "../lib/kv/kv.ts";

/** A clock that is moved by hand. */
export function handClock(startMs: number = Date.UTC(2026, 0, 1)) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms: number) => void (nowMs += ms),
    set: (ms: number) => void (nowMs = ms),
  };
}

/** What a watched store has seen. */
export interface Watched {
  /** The store. */
  readonly kv: Kv;
  /** Reads so far. */
  reads: number;
  /** Writes so far. */
  writes: number;
  /** When each key was written. */
  readonly writtenMs: Map<string, number[]>;
  /** Every lifetime that was asked for. */
  readonly ttls: (number | undefined)[];
  /** Makes operations of that kind throw. */
  failing: "none" | "reads" | "writes" | "all";
  /** What they throw. */
  error: unknown;
}

/** Counts what a store is asked for, and makes it fail on cue. */
export function watch(kv: Kv, now: () => number): Watched {
  const watched: Watched = {
    kv: {
      get: async (key, options) => {
        watched.reads++;
        if (["reads", "all"].includes(watched.failing)) throw watched.error;
        return await kv.get(key, options);
      },
      put: async (key, value, options) => {
        watched.writes++;
        watched.ttls.push(options?.expirationTtl);
        watched.writtenMs.set(key, [...watched.writtenMs.get(key) ?? [], now()]);
        if (["writes", "all"].includes(watched.failing)) throw watched.error;
        await kv.put(key, value, options);
      },
      getWithMetadata: (key, options) => kv.getWithMetadata(key, options),
      delete: (key) => kv.delete(key),
      list: (options) => kv.list(options),
    },
    reads: 0,
    writes: 0,
    writtenMs: new Map(),
    ttls: [],
    failing: "none",
    error: new Error("KV GET failed: 503 Service Unavailable"),
  };
  return watched;
}

/** 32-bit seeded chance. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
