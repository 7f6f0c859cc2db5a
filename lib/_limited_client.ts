/** What an isolate remembers of one client, and the form in which KV carries it. */

import {
  addHits,
  type Hits,
  type Level,
  noHits,
  roll,
  type Rule,
  usedHits,
  waitMs,
} from "./_hits.ts";
import { asArray, parseRecord } from "./_common.ts";
import { parseHits } from "./_rate_limit.ts";

/** Hits of a window, by the isolate that admitted them. */
export interface SharedHits extends Hits {
  /** Hits by isolate; counts only grow, so whoever knows more is right. */
  readonly by: Map<string, number>;
  /** This isolate's hits that were not written yet. */
  pending: number;
}

/** One client. */
export interface Client {
  /** What is enforced: the limit itself first, then its mean over a longer window. */
  readonly levels: readonly [Level<SharedHits>, ...Level<SharedHits>[]];
  /** The levels that are worth carrying: KV knows little that is younger than a minute. */
  readonly carried: readonly Level<SharedHits>[];
  /** The level with the longest window, whose number is in the key. */
  readonly longest: Level<SharedHits>;
  /** When KV was last read. */
  readMs: number;
  /** The first level's window in which that was. */
  readIndex: number;
  /** The longest window before which KV was read as well, so that the one before is known. */
  knownIndex: number;
  /** When its key was last written. */
  writtenMs: number;
  /** Whether a write is under way. */
  busy: boolean;
  /** Whether a limit was reached and that could not be written yet. */
  held: boolean;
}

const MEAN_MS = 600_000;
const CARRIED_MS_MIN = 60_000;
const VERDICT_MS = 2000;
const ISOLATES_MAX = 40;
const VERSION = 1;

/**
 * A client without hits. A short window gets a second level of about ten minutes, which takes back
 * what many isolates admitted too much. It has room for one window more than the mean, since that is
 * how much a client that keeps to the limit can be ahead of an even pace.
 */
export function makeClient(rule: Rule): Client {
  const factor = Math.ceil(MEAN_MS / rule.windowMs);
  const longest = makeLevel({
    limit: factor > 1 ? rule.limit * (factor + 1) : rule.limit,
    windowMs: rule.windowMs * factor,
    sliding: factor > 1 || rule.sliding,
  });
  const levels: Client["levels"] = factor > 1 ? [makeLevel(rule), longest] : [longest];
  return {
    levels,
    carried: levels.filter((level) => level.rule.windowMs >= CARRIED_MS_MIN),
    longest,
    readMs: -Infinity,
    readIndex: -Infinity,
    knownIndex: -Infinity,
    writtenMs: -Infinity,
    busy: false,
    held: false,
  };
}

/** Moves a client on to the windows that `nowMs` is in. */
export function rollClient(client: Client, nowMs: number): void {
  for (const level of client.levels) {
    if (roll(level, nowMs, noSharedHits) && level === client.levels[0]) client.held = false;
  }
}

/** Counts hits that this isolate has admitted. */
export function recordHits(client: Client, isolate: string, cost: number, nowMs: number): void {
  for (const { now } of client.levels) {
    addHits(now, cost, nowMs, nowMs);
    now.by.set(isolate, (now.by.get(isolate) ?? 0) + cost);
    now.pending += cost;
  }
}

/** Whether a write is worth while once `more` hits have been recorded. */
export function isWorthWriting(
  { carried, levels }: Client,
  isolate: string,
  nowMs: number,
  { more, flushEvery }: { readonly more: number; readonly flushEvery: number | undefined },
): boolean {
  return carried.some((level) => {
    const { now, rule: { limit } } = level;
    const pending = now.pending + more;
    const full = waitMs(level, nowMs, more + 1) > 0;
    if (flushEvery !== undefined) return full || pending >= flushEvery;
    if (level !== levels[0]) {
      // The mean: written at a part of the limit, and then whenever this isolate's part has doubled.
      const sent = (now.by.get(isolate) ?? 0) - now.pending;
      const least = limit / (carried.length > 1 ? 4 : 10);
      return pending >= (full ? least / 4 : Math.max(least, sent));
    }
    // A batch that would leave less than a batch, or less than two seconds at this pace, waits for
    // it: the verdict is then one write, and is not refused as the key's second within a second.
    const left = limit - usedHits(level, nowMs) - more;
    const unhurried = left * (nowMs - now.first) >= VERDICT_MS * (now.n + more);
    const batch = left < limit / 2 && left >= limit / 4 && unhurried;
    return pending >= limit / 4 && (full || batch);
  });
}

/** What is stored of a client: for each carried level the window's number and its hits. */
export function formatClient({ carried }: Client): string {
  const levels = carried.map(({ index, now, before }) => [index, pack(now), pack(before)]);
  return JSON.stringify({ v: VERSION, levels });
}

/**
 * Takes over what others have counted: never less than is known already, never a hit twice.
 *
 * @returns Whether the text could be read.
 */
export function absorbText(text: string, client: Client): boolean {
  const { v, levels } = parseRecord(text) ?? {};
  if (v !== VERSION || !Array.isArray(levels)) return false;
  client.carried.forEach((level, i) => {
    const [index, now, before] = asArray(levels[i]);
    if (!Number.isSafeInteger(index)) return;
    const at = Number(index);
    merge(level, at, now);
    merge(level, at - 1, before);
  });
  return true;
}

function merge(level: Level<SharedHits>, index: number, stored: unknown): void {
  const back = level.index - index;
  if (back !== 0 && back !== 1) return;
  const known = back === 0 ? level.now : level.before;
  const [first, last, by] = asArray(stored);
  for (const entry of asArray(by)) {
    const [isolate, n] = asArray(entry);
    const hits = parseHits([n, first, last], index, level.rule.windowMs);
    if (typeof isolate !== "string" || hits === undefined) continue;
    const more = hits.n - (known.by.get(isolate) ?? 0);
    if (more <= 0) continue;
    known.by.set(isolate, hits.n);
    addHits(known, more, hits.first, hits.last);
  }
}

function pack({ first, last, by }: SharedHits): unknown[] {
  const most = [...by].sort(([, a], [, b]) => b - a).slice(0, ISOLATES_MAX);
  return most.length > 0 ? [first, last, most] : [];
}

function makeLevel(rule: Rule): Level<SharedHits> {
  return { rule, index: -Infinity, now: noSharedHits(), before: noSharedHits() };
}

function noSharedHits(): SharedHits {
  return { ...noHits(), by: new Map(), pending: 0 };
}
