/**
 * Exactly one of many: claims on D1, because KV has no compare-and-swap.
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

import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";

/** What claims need of a SQL database. A Cloudflare `D1Database` is one as it is. */
export interface D1Like {
  /** Prepares a statement. */
  prepare(sql: string): D1Statement;
}

/** A prepared statement. */
export interface D1Statement {
  /** Binds the values of `?1`, `?2` and so on. */
  bind(...values: (string | number)[]): {
    /** Runs it; the first row, or `null`. */
    first(): Promise<unknown>;
  };
}

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

/** The answer to a claim. */
export interface ClaimResult {
  /** Whether the one who asked holds the claim. */
  readonly claimed: boolean;
  /** Who holds it. */
  readonly owner: string;
}

/** The answer of {@linkcode Claims.once}. */
export type OnceResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false };

const KEY_CHARS_MAX = 1024;
const TRIES_MAX = 3;
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/**
 * Claims on keys, each held by one owner at a time: D1 is one database, so this is exact.
 *
 * Costs no KV operation. A claim is one query that writes one row, or, when somebody else holds the
 * key, two queries that read one row each and write nothing. The first query against a missing table
 * makes it and is repeated. What D1 throws comes out as it is: decide there whether to go on.
 */
export class Claims {
  readonly #db: D1Like;
  readonly #table: string;
  readonly #ttlSeconds: number;
  readonly #leaseSeconds: number;
  readonly #clock: Pick<Clock, "now">;
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
    this.#db = db;
    this.#table = table;
    this.#ttlSeconds = ttlSeconds;
    this.#leaseSeconds = leaseSeconds;
    this.#clock = options.clock ?? systemClock;
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
    return await this.#claim(key, owner, this.#ttlSeconds);
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
    const row = await this.#first(
      `DELETE FROM ${this.#table} WHERE key = ?1 AND owner = ?2 RETURNING expires_ms > ?3 AS held`,
      [key, owner, this.#clock.now()],
    );
    return field(row, "held") === 1;
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
    const owner = [this.#random(), this.#random()].map((n) => n.toString(36).slice(2)).join("");
    const { claimed } = await this.#claim(key, `once-${owner}`, this.#leaseSeconds);
    if (!claimed) return { ran: false };
    let value: T;
    try {
      value = await run();
    } catch (error) {
      await this.release(key, `once-${owner}`).catch(() => false);
      throw error;
    }
    await this.claim(key, `once-${owner}`);
    return { ran: true, value };
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
    const table = this.#table;
    const lapsed = `SELECT key FROM ${table} WHERE expires_ms <= ?1 LIMIT ?2`;
    const now = this.#clock.now();
    const count = field(
      await this.#first(`SELECT COUNT(*) AS n FROM (${lapsed})`, [now, limit]),
      "n",
    );
    if (count === 0) return 0;
    await this.#first(`DELETE FROM ${table} WHERE key IN (${lapsed})`, [now, limit]);
    return Number(count);
  }

  async #claim(key: string, owner: string, seconds: number): Promise<ClaimResult> {
    checkText("key", key);
    checkText("owner", owner);
    const table = this.#table;
    const now = this.#clock.now();
    const expires = Math.min(Math.ceil(now + seconds * 1000), NEVER_MS);
    const insert = `INSERT INTO ${table} (key, owner, expires_ms) VALUES (?1, ?2, ?3)
      ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_ms = excluded.expires_ms
      WHERE ${table}.expires_ms <= ?4 OR ${table}.owner = excluded.owner RETURNING owner`;
    const select = `SELECT owner FROM ${table} WHERE key = ?1`;
    // Asked again if the claim was given up between the two queries.
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      // deno-lint-ignore scrimp/no-await-in-loop
      const won = await this.#first(insert, [key, owner, expires, now]);
      if (field(won, "owner") === owner) return { claimed: true, owner };
      // deno-lint-ignore scrimp/no-await-in-loop
      const holder = field(await this.#first(select, [key]), "owner");
      if (typeof holder === "string") return { claimed: false, owner: holder };
    }
    throw new Error(`Claim on "${key}" changed hands ${TRIES_MAX} times while it was asked for`);
  }

  async #first(sql: string, values: (string | number)[]): Promise<unknown> {
    try {
      return await this.#db.prepare(sql).bind(...values).first();
    } catch (error) {
      if (!/no such table/i.test(String(error))) throw error;
    }
    const columns = "key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires_ms INTEGER NOT NULL";
    const create = `CREATE TABLE IF NOT EXISTS ${this.#table} (${columns}) WITHOUT ROWID`;
    await this.#db.prepare(create).bind().first();
    return await this.#db.prepare(sql).bind(...values).first();
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

function field(row: unknown, name: string): unknown {
  return typeof row === "object" && row !== null
    ? (row as Record<string, unknown>)[name]
    : undefined;
}
