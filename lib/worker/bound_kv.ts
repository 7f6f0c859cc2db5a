/**
 * Bounds how long a visitor waits for one operation of KV.
 *
 * @module
 */

import { type Clock, systemClock } from "../clock.ts";
import type { Kv } from "../kv/kv.ts";
import { within } from "../views/within.ts";
import type { Env } from "./env.ts";

/**
 * KV whose operations fail when there is no answer in five seconds. What was to be written may have been
 * written all the same.
 *
 * @param kv The store.
 * @param clock Time.
 * @returns The same store.
 */
export function boundKv(kv: Kv, clock: Clock): Kv {
  return {
    get: (...args) => within(clock, () => kv.get(...args)),
    getWithMetadata: (...args) => within(clock, () => kv.getWithMetadata(...args)),
    put: (...args) => within(clock, () => kv.put(...args)),
    delete: (...args) => within(clock, () => kv.delete(...args)),
    list: (...args) => within(clock, () => kv.list(...args)),
  };
}

/**
 * Waits for something at most as long as for an operation of KV. An injected clock is only asked to sleep
 * inside `waitUntil`, so that only the runtime's own bounds how long.
 *
 * @param clock The isolate's clock.
 * @param work What to do.
 * @returns What came of it.
 */
export function bounded<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return clock === systemClock ? within(clock, work) : work();
}

/**
 * What routes see of an environment. An injected clock is only asked to sleep inside `waitUntil`, so that
 * only the runtime's own bounds how long they wait.
 *
 * @param env The environment.
 * @param clock The isolate's clock.
 * @returns The same, with a bounded KV where that is possible.
 */
export function routeEnv(env: Env, clock: Clock): Env {
  return env.KV && clock === systemClock ? { ...env, KV: boundKv(env.KV, clock) } : env;
}
