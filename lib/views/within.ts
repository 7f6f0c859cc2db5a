/**
 * Bounds how long a flush waits for one operation of KV or of the cache.
 *
 * @module
 */

import type { Budget } from "../budget.ts";
import type { Clock } from "../clock.ts";
import type { Kv } from "../kv/kv.ts";

/** What a flush does with KV. */
export type FlushKv = Pick<Kv, "get" | "put" | "list">;

/** How long one operation is waited for, in milliseconds. */
export const ANSWER_MS = 5_000;
/** Turns of the microtask queue after which what is at hand has been answered without a timer. */
const TURNS = 24;

/**
 * Does something, but does not wait for it for long. An answer that comes later is ignored, a rejection
 * too.
 *
 * @param clock Time. Where it stands still the answer is waited for however long it takes.
 * @param task What is done.
 * @returns Its answer.
 * @throws {Error} If there is none in time, or what the task failed with.
 */
export function within<T>(clock: Clock, task: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = clock.now() + ANSWER_MS;
    let turns = TURNS;
    const watch = async () => {
      // deno-lint-ignore scrimp/no-await-in-loop -- turns follow each other
      while (turns-- > 0) await undefined;
      if (turns < -1) return;
      await clock.sleep(ANSWER_MS);
      if (clock.now() >= end) throw new Error("Store: no answer in time");
    };
    Promise.resolve(task()).then(resolve, reject).then(() => turns = -2);
    watch().catch(reject);
  });
}

/**
 * KV as a flush uses it: every operation is booked, and none is waited for for long.
 *
 * @param kv The store.
 * @param clock Time.
 * @param budget Where operations are booked.
 * @returns The same store.
 */
export function flushKv(kv: Kv, clock: Clock, budget: Budget | undefined): FlushKv {
  function booked<T>(operation: "read" | "write" | "list", task: () => Promise<T>): Promise<T> {
    budget?.note("views", operation);
    return within(clock, task);
  }
  return {
    get: (key) => booked("read", () => kv.get(key)),
    put: (key, value, options) => booked("write", () => kv.put(key, value, options)),
    list: (options) => booked("list", () => kv.list(options)),
  };
}
