/** What an isolate remembers of one client, and the form in which KV carries it. */

import { addHits, type Hits, type Level, noHits, roll, type Rule } from "./_hits.ts";
import { parseHits } from "./_rate_limit.ts";

/** Hits of a window that KV knows in part. */
export interface SharedHits extends Hits {
  /** Of these, the ones that were not written yet. */
  pending: number;
  /** How far KV was read while this window was the current one: not, it, the one before as well. */
  reads: 0 | 1 | 2;
}

/** One client. */
export interface Client {
  /** What is enforced; the last one is shared through KV. */
  readonly levels: readonly [Level<SharedHits>, ...Level<SharedHits>[]];
  /** The level that is shared through KV. */
  readonly shared: Level<SharedHits>;
  /** When its key was last written. */
  writtenMs: number;
  /** Whether a write is under way. */
  busy: boolean;
  /** Whether the limit was reached and that could not be written yet. */
  held: boolean;
}

const SHARED_WINDOW_MS = 60_000;
const VERSION = 1;

/**
 * A client without hits. A window that is too short for KV gets a second level of about a minute,
 * which carries the mean.
 */
export function makeClient(rule: Rule): Client {
  const factor = Math.ceil(SHARED_WINDOW_MS / rule.windowMs);
  const shared = makeLevel({
    ...rule,
    limit: rule.limit * factor,
    windowMs: rule.windowMs * factor,
  });
  const levels: Client["levels"] = factor > 1 ? [makeLevel(rule), shared] : [shared];
  return { levels, shared, writtenMs: -Infinity, busy: false, held: false };
}

/** Moves a client on to the windows that `nowMs` is in. */
export function rollClient(client: Client, nowMs: number): void {
  for (const level of client.levels) {
    if (roll(level, nowMs, noSharedHits) && level === client.shared) client.held = false;
  }
}

/** Counts admitted hits. */
export function recordHits(client: Client, cost: number, nowMs: number): void {
  for (const { now } of client.levels) {
    addHits(now, cost, nowMs, nowMs);
    now.pending += cost;
  }
}

/** What is stored of a window: its hits and those of the one before. */
export function formatHits(now: Hits, before: Hits): string {
  return JSON.stringify({
    v: VERSION,
    h: [now.n, now.first, now.last],
    ...(before.n > 0 ? { p: [before.n, before.first, before.last] } : {}),
  });
}

/**
 * Takes over what others have counted: never less than is known already, never a hit twice.
 *
 * @returns Whether the text could be read.
 */
export function absorbHits(
  text: string,
  windowMs: number,
  index: number,
  now: SharedHits,
  before?: SharedHits,
): boolean {
  const stored = parseObject(text);
  const hits = parseHits(stored?.["h"], index, windowMs);
  if (stored?.["v"] !== VERSION || hits === undefined) return false;
  merge(now, hits);
  const earlier = parseHits(stored["p"], index - 1, windowMs);
  if (before !== undefined && earlier !== undefined) {
    merge(before, earlier);
    now.reads = 2;
  }
  return true;
}

function merge(known: SharedHits, stored: Hits): void {
  const more = stored.n - (known.n - known.pending);
  if (more > 0) addHits(known, more, stored.first, stored.last);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}

function makeLevel(rule: Rule): Level<SharedHits> {
  return { rule, index: -Infinity, now: noSharedHits(), before: noSharedHits() };
}

function noSharedHits(): SharedHits {
  return { ...noHits(), pending: 0, reads: 0 };
}
