/**
 * Exactly one of many: claims on D1, because KV has no compare-and-swap.
 *
 * **Cost.** No KV operation. A claim is one query that writes a row, or two that write none when somebody
 * else holds the key; `once` is two queries.
 *
 * **Consistency.** D1 is one database, so a claim is exact. A claim whose isolate died lapses after its
 * lease, and the work may then run again.
 *
 * @example One webhook delivery, handled once
 * ```ts ignore
 * import { Claims } from "@scrimp/kv/claims";
 *
 * const claims = new Claims(env.DB, { ttlSeconds: 86_400 });
 * const { ran } = await claims.once(`webhook:${event.id}`, () => handle(event));
 * ```
 *
 * @example Who comes first
 * ```ts
 * import { Claims, type D1Like } from "@scrimp/kv/claims";
 * import { assertEquals } from "@std/assert";
 *
 * const db: D1Like = {
 *   prepare: () => ({ bind: (_key, owner) => ({ first: () => Promise.resolve({ owner }) }) }),
 * };
 * assertEquals(await new Claims(db).claim("seat:1", "ann"), { claimed: true, owner: "ann" });
 * ```
 *
 * @module
 */

import {
  claimKey,
  type ClaimResult,
  type ClaimTable,
  type D1Like,
  nameOwner,
  type OnceResult,
  queryField,
  releaseKey,
  runOnce,
} from "./claim_table.ts";
import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";

export type { ClaimResult, D1Like, D1Statement, OnceResult } from "./claim_table.ts";

/** Options of {@linkcode Claims}. */
export interface ClaimsOptions {
  /**
   * The table's name: letters, digits and underscores. Made when it is missing.
   *
   * @default {"claims"}
   */
  readonly table?: string;
  /**
   * Seconds after which a claim lapses: at least 1. `Infinity` for never.
   *
   * @default {Infinity}
   */
  readonly ttlSeconds?: number;
  /**
   * Seconds that `once` gives its function. If the isolate dies, another may try after that.
   *
   * @default {60}
   */
  readonly leaseSeconds?: number;
  /** Time. Only `now` is used. */
  readonly clock?: Pick<Clock, "now">;
  /** Chance, for the owner that `once` claims as. */
  readonly random?: Random;
}

const KEY_CHARS_MAX = 1024;

/**
 * Claims on keys, each held by one owner at a time: D1 is one database, so this is exact.
 *
 * Costs no KV operation. A claim is one query that writes one row, or, when somebody else holds the
 * key, two queries that read one row each and write nothing. The first query against a missing table
 * makes it and is repeated. What D1 throws comes out as it is: decide there whether to go on.
 */
export class Claims {
  readonly #at: ClaimTable;
  readonly #random: Random;

  /**
   * Makes claims on a database. Asks it nothing yet.
   *
   * @param db A D1 binding.
   * @param options See {@linkcode ClaimsOptions}.
   * @throws {TypeError} If the table's name is none.
   * @throws {RangeError} If a lifetime is under a second.
   */
  constructor(db: D1Like, options: ClaimsOptions = {}) {
    const { table = "claims", ttlSeconds = Infinity, leaseSeconds = 60 } = options;
    if (!/^[a-z_]\w{0,63}$/i.test(table)) {
      throw new TypeError(`Option "table" must be letters, digits and underscores: got "${table}"`);
    }
    checkSeconds("ttlSeconds", ttlSeconds);
    checkSeconds("leaseSeconds", leaseSeconds);
    this.#at = { db, table, clock: options.clock ?? systemClock, ttlSeconds, leaseSeconds };
    this.#random = options.random ?? systemRandom;
  }

  /**
   * Claims a key: succeeds when nobody holds it, when the claim on it has lapsed, or when the same
   * owner holds it already, whose claim then starts anew.
   *
   * @param key What to claim: 1 to 1,024 characters.
   * @param owner Who claims it: 1 to 1,024 characters. A retry must name the same one.
   * @returns Whether it is claimed, and who holds it.
   * @throws {TypeError} If key or owner is empty or no string.
   * @throws {RangeError} If key or owner is too long.
   */
  async claim(key: string, owner: string): Promise<ClaimResult> {
    checkText("key", key);
    checkText("owner", owner);
    return await claimKey(this.#at, key, owner, this.#at.ttlSeconds);
  }

  /**
   * Gives a claim up. One query; writes one row when there is something to give up.
   *
   * @param key What was claimed.
   * @param owner Who claimed it.
   * @returns Whether this owner held it.
   * @throws {TypeError} If key or owner is empty or no string.
   * @throws {RangeError} If key or owner is too long.
   */
  async release(key: string, owner: string): Promise<boolean> {
    checkText("key", key);
    checkText("owner", owner);
    return await releaseKey(this.#at, key, owner);
  }

  /**
   * Runs a function unless it was run for this key before: removes duplicates.
   *
   * The key is claimed for `leaseSeconds`, and for `ttlSeconds` once the function has returned. If it
   * throws, the key is given up, so that a retry runs it again, and the error comes out. Costs two
   * queries, or two for a duplicate.
   *
   * @param key What names the work, for example the id of a webhook's delivery.
   * @param run The work. Should take less than `leaseSeconds`.
   * @returns What it returned, or that it did not run: it was done before, or is under way elsewhere.
   * @throws {TypeError} If the key is empty or no string.
   * @throws {RangeError} If the key is too long.
   */
  async once<T>(key: string, run: () => T | Promise<T>): Promise<OnceResult<T>> {
    checkText("key", key);
    return await runOnce(this.#at, key, nameOwner(this.#random), run);
  }

  /**
   * Deletes claims that have lapsed, for a cron job. Nothing depends on it but the table's size.
   *
   * @param limit Most rows to delete, since each counts as a row written.
   * @returns How many were deleted.
   * @throws {RangeError} If the limit is not a whole number of at least 1.
   */
  async sweep(limit: number = 1000): Promise<number> {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new RangeError(`Limit must be a whole number of at least 1: got ${String(limit)}`);
    }
    const at = this.#at;
    const lapsed = `SELECT key FROM ${at.table} WHERE expires_ms <= ?1 LIMIT ?2`;
    const now = at.clock.now();
    const count = await queryField(at, "n", `SELECT COUNT(*) AS n FROM (${lapsed})`, [now, limit]);
    if (count === 0) return 0;
    await queryField(at, "n", `DELETE FROM ${at.table} WHERE key IN (${lapsed})`, [now, limit]);
    return Number(count);
  }
}

function checkSeconds(name: string, value: number): void {
  if (typeof value === "number" && value >= 1) return;
  throw new RangeError(`Option "${name}" must be at least 1: got ${String(value)}`);
}

function checkText(name: string, value: string): void {
  if (typeof value !== "string" || value === "") {
    throw new TypeError(`Claim's ${name} must be a string that is not empty`);
  }
  if (value.length > KEY_CHARS_MAX) {
    throw new RangeError(
      `Claim's ${name} must be at most ${KEY_CHARS_MAX} characters: got ${value.length}`,
    );
  }
}
