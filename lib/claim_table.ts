/**
 * The queries behind `Claims`.
 *
 * @module
 */

import type { Clock, Random } from "./clock.ts";

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

/** The answer to a claim. */
export interface ClaimResult {
  /** Whether the one who asked holds the claim. */
  readonly claimed: boolean;
  /** Who holds it. */
  readonly owner: string;
}

/** The answer of `once`. */
export type OnceResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false };

/** Where claims are kept, and for how long. */
export interface ClaimTable {
  /** The database. */
  readonly db: D1Like;
  /** The table's name, safe to stand in a query. */
  readonly table: string;
  /** Time. */
  readonly clock: Pick<Clock, "now">;
  /** Seconds after which a claim lapses. */
  readonly ttlSeconds: number;
  /** Seconds that work under a claim may take. */
  readonly leaseSeconds: number;
}

const TRIES_MAX = 3;
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** Claims a key for some seconds. */
export async function claimKey(
  at: ClaimTable,
  key: string,
  owner: string,
  seconds: number,
): Promise<ClaimResult> {
  const { table } = at;
  const now = at.clock.now();
  const expires = Math.min(Math.ceil(now + seconds * 1000), NEVER_MS);
  const insert = `INSERT INTO ${table} (key, owner, expires_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_ms = excluded.expires_ms
    WHERE ${table}.expires_ms <= ?4 OR ${table}.owner = excluded.owner RETURNING owner`;
  const select = `SELECT owner FROM ${table} WHERE key = ?1`;
  // Asked again if the claim was given up between the two queries.
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    // deno-lint-ignore scrimp/no-await-in-loop
    const won = await queryField(at, "owner", insert, [key, owner, expires, now]);
    if (won === owner) return { claimed: true, owner };
    // deno-lint-ignore scrimp/no-await-in-loop
    const holder = await queryField(at, "owner", select, [key]);
    if (typeof holder === "string") return { claimed: false, owner: holder };
  }
  throw new Error(`Claim on "${key}" changed hands ${TRIES_MAX} times while it was asked for`);
}

/** Gives a claim up; says whether this owner held it. */
export async function releaseKey(at: ClaimTable, key: string, owner: string): Promise<boolean> {
  const sql =
    `DELETE FROM ${at.table} WHERE key = ?1 AND owner = ?2 RETURNING expires_ms > ?3 AS held`;
  return await queryField(at, "held", sql, [key, owner, at.clock.now()]) === 1;
}

/** A name for whoever runs something once. */
export function nameOwner(random: Random): string {
  return `once-${[random(), random()].map((n) => n.toString(36).slice(2)).join("")}`;
}

/** Runs a function under a claim that the first owner gets, and gives it up if the function throws. */
export async function runOnce<T>(
  at: ClaimTable,
  key: string,
  owner: string,
  run: () => T | Promise<T>,
): Promise<OnceResult<T>> {
  const { claimed } = await claimKey(at, key, owner, at.leaseSeconds);
  if (!claimed) return { ran: false };
  let value: T;
  try {
    value = await run();
  } catch (error) {
    await releaseKey(at, key, owner).catch(() => false);
    throw error;
  }
  await claimKey(at, key, owner, at.ttlSeconds);
  return { ran: true, value };
}

/** A field of a query's first row. The first query against a missing table makes it. */
export async function queryField(
  { db, table }: ClaimTable,
  name: string,
  sql: string,
  values: (string | number)[],
): Promise<unknown> {
  const run = async (query: string, bound: (string | number)[]) =>
    await db.prepare(query).bind(...bound).first();
  const row = await run(sql, values).catch(async (error) => {
    if (!/no such table/i.test(String(error))) throw error;
    const columns = "key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires_ms INTEGER NOT NULL";
    await run(`CREATE TABLE IF NOT EXISTS ${table} (${columns}) WITHOUT ROWID`, []);
    return await run(sql, values);
  });
  return Object(row)[name];
}
