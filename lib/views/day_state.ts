/**
 * What one data center knows of one day: a merge-by-maximum structure that isolates share through the
 * edge cache.
 *
 * A day has shards, one for each key in KV. Normally there is one; a new one begins when an isolate
 * finds nothing in the cache and remembers nothing itself, so what an evicted entry had already stored
 * is never read back, never overwritten and never counted again. A shard has parts, one for each
 * isolate that counts into it. Only that isolate ever adds to its part, so of two copies of a part the
 * one that has seen more is the later one: copies can be merged in any order, any number of times,
 * and the sum never exceeds what was counted.
 *
 * @module
 */

import { addTally, capTally, emptyTally, eventsOf, KEYS_MAX, type Tally } from "./tally.ts";
import type { Census } from "./census.ts";
import type { NetworkView } from "./network.ts";

/** How long an isolate adds to a part it has not pushed; afterwards it begins a new one. */
export const PART_OPEN_MS = 30 * 60_000;
/** How long a part must have been silent before it is folded; longer than any isolate adds to it. */
const PART_CLOSED_MS = 2 * PART_OPEN_MS;
/** How far another isolate's clock may be ahead, in milliseconds. */
const AHEAD_MS = 60_000;
/** How many more keys a part keeps than are stored, so that a late riser can still rise. */
const PART_KEYS_FACTOR = 4;
/** Parts of a shard above which silent ones are folded together. */
const PARTS_MAX = 40;

/** What one isolate has counted into a shard. */
export interface Part {
  /** The counts so far. */
  tally: Tally;
  /** When the isolate last pushed it, in milliseconds. */
  at: number;
  /** KV writes that the isolate has tried for the shard. */
  writes: number;
  /** Those of them that it tried after the shard's day was over. */
  late: number;
}

/** The sum of a shard's parts. */
export type Sum = Omit<Part, "at">;

/** One key in KV, as the data center knows it. */
export interface Shard {
  /** The last segment of the key: the data center and a random suffix. */
  readonly id: string;
  /** When the shard began, in milliseconds; the oldest shard takes the new parts. */
  readonly born: number;
  /** Parts by their isolate's name. */
  readonly parts: Map<string, Part>;
  /** Names of the parts that `base` holds; their copies elsewhere are void. */
  readonly folded: Set<string>;
  /** The sum of the folded parts. */
  base: Part;
  /** What KV is known to hold. */
  stored: Stored;
}

/** What the last write that succeeded put into KV. */
export interface Stored {
  /** When that was, in milliseconds; 0 for never. */
  readonly at: number;
  /** Views. */
  readonly total: number;
  /** Events: views, drops and requests not counted. */
  readonly events: number;
  /**
   * The writes that whoever wrote it, or tried to since, knew to have been tried. Where there were
   * more, some of them happened at the same time: nobody knows which came last.
   */
  readonly writes: number;
}

/** What is known of the network from the day before. */
export interface Lesson {
  /** When it was asked for, in milliseconds; 0 for never. */
  readonly at: number;
  /** What was learnt, if anything. */
  readonly census: Census | undefined;
}

/** One data center's knowledge of one day. */
export interface DayState {
  /** The day, `YYYY-MM-DD`. */
  readonly day: string;
  /** Shards by id. */
  readonly shards: Map<string, Shard>;
  /** What the last listing told of the whole network. */
  network: NetworkView | undefined;
  /** What the roll-up of the day before taught, and when it was asked for, in milliseconds. */
  lesson: Lesson;
  /** Visits: views that came after a pause. At least as many, where copies were merged. */
  visits: number;
  /** Until when somebody is at storing, in milliseconds. */
  leaseUntil: number;
  /** The isolate that is. */
  leaseBy: string;
  /** Before when nothing is to be tried again: KV failed, or the pacing had refused, in milliseconds. */
  restUntil: number;
  /** Refusals in a row, of KV or of the pacing. */
  refusals: number;
}

/**
 * Makes the state of a day of which nothing is known.
 *
 * @param day The day.
 * @returns The state.
 */
export function emptyDay(day: string): DayState {
  return {
    day,
    shards: new Map(),
    network: undefined,
    lesson: { at: 0, census: undefined },
    visits: 0,
    leaseUntil: 0,
    leaseBy: "",
    restUntil: 0,
    refusals: 0,
  };
}

function emptyPart(at: number): Part {
  return { tally: emptyTally(), at, writes: 0, late: 0 };
}

/**
 * Makes a shard that holds nothing yet.
 *
 * @param id The last segment of its key.
 * @param born When it began, in milliseconds.
 * @returns The shard.
 */
export function emptyShard(id: string, born: number): Shard {
  return {
    id,
    born,
    parts: new Map(),
    folded: new Set(),
    base: emptyPart(0),
    stored: { at: 0, total: 0, events: 0, writes: 0 },
  };
}

/**
 * Opens a part in a shard.
 *
 * @param shard The shard.
 * @param name The part's name, never used before.
 * @param now The time, in milliseconds.
 * @returns The part.
 */
export function openPart(shard: Shard, name: string, now: number): Part {
  const part = emptyPart(now);
  shard.parts.set(name, part);
  return part;
}

/**
 * Adds counts to a part. Rare keys become `other` once there are many: a part stays small whatever is
 * asked for, and the keys that are viewed most stay exact.
 *
 * @param part The part.
 * @param tally What is added.
 * @param keysMax Paths and referrers that are stored.
 */
export function growPart(part: Part, tally: Tally, keysMax: number): void {
  addTally(part.tally, tally);
  capPart(part, keysMax);
}

function capPart(part: Part, keysMax: number): void {
  part.tally = capTally(part.tally, PART_KEYS_FACTOR * keysMax);
}

/**
 * When a day was last counted into.
 *
 * @param state The day.
 * @returns Milliseconds; `-Infinity` for never.
 */
export function countedAt(state: DayState): number {
  return Math.max(...[...state.shards.values()].map(grownAt));
}

/**
 * When a shard was last counted into.
 *
 * @param shard The shard.
 * @returns Milliseconds; `-Infinity` for never.
 */
export function grownAt({ parts }: Shard): number {
  return Math.max(...[...parts.values()].map(({ at }) => at));
}

/**
 * The sum of a shard.
 *
 * @param shard The shard.
 * @returns Its counts, its writes and its late writes.
 */
export function sumShard(shard: Shard): Sum {
  const sum = emptyPart(0);
  for (const part of [shard.base, ...shard.parts.values()]) addPart(sum, part);
  return sum;
}

/**
 * Views of a shard that wait: what KV is not known to hold. What a write at the same time may have
 * overwritten waits too.
 *
 * @param shard The shard.
 * @param sum Its sum.
 * @returns Views.
 */
export function waitingIn(shard: Shard, { tally, writes }: Sum): number {
  return tally.total - (writes > shard.stored.writes ? 0 : shard.stored.total);
}

function addPart(sum: Part, { tally, writes, late }: Part): void {
  addTally(sum.tally, tally);
  sum.writes += writes;
  sum.late += late;
}

/**
 * The views of a day, stored or not.
 *
 * @param state The day.
 * @returns Views.
 */
export function viewsOf(state: DayState): number {
  let views = 0;
  for (const { base, parts } of state.shards.values()) {
    for (const { tally } of [base, ...parts.values()]) views += tally.total;
  }
  return views;
}

/**
 * Whether a shard has counted what KV is not known to hold.
 *
 * @param shard The shard.
 * @returns Whether it has.
 */
export function isShardDirty(shard: Shard): boolean {
  const { tally, writes } = sumShard(shard);
  return eventsOf(tally) > shard.stored.events || writes > shard.stored.writes;
}

/**
 * Whether any shard of a day is dirty.
 *
 * @param state The day.
 * @returns Whether one is.
 */
export function isDirty(state: DayState): boolean {
  return [...state.shards.values()].some(isShardDirty);
}

/**
 * The shard that takes new parts: the oldest, so that copies agree.
 *
 * @param state The day.
 * @returns The shard, or `undefined` where there is none yet.
 */
export function primaryShard(state: DayState): Shard | undefined {
  return [...state.shards.values()].sort((a, b) => a.born - b.born || (a.id < b.id ? -1 : 1))[0];
}

function mergePart(mine: Part | undefined, theirs: Part): Part {
  if (!mine) return theirs;
  // The object that this isolate counts into must stay the same one, so it is kept on a tie.
  const [later, other] = eventsOf(theirs.tally) > eventsOf(mine.tally)
    ? [theirs, mine]
    : [mine, theirs];
  keepMost(later, other, "at", "writes", "late");
  return later;
}

/** Raises numbers to those of another. */
function keepMost<K extends string>(
  mine: Record<K, number>,
  theirs: Readonly<Record<K, number>>,
  ...names: readonly K[]
): void {
  for (const name of names) mine[name] = Math.max(mine[name], theirs[name]);
}

function mergeShard(mine: Shard, theirs: Shard): void {
  const takeTheirs = theirs.folded.size > mine.folded.size ||
    (theirs.folded.size === mine.folded.size &&
      eventsOf(theirs.base.tally) > eventsOf(mine.base.tally));
  if (takeTheirs) {
    // A base is taken whole: the sum of two would count what both hold twice.
    mine.base = theirs.base;
    mine.folded.clear();
    for (const name of theirs.folded) {
      mine.folded.add(name);
      mine.parts.delete(name);
    }
  }
  for (const [name, part] of theirs.parts) {
    if (!mine.folded.has(name)) mine.parts.set(name, mergePart(mine.parts.get(name), part));
  }
  // Of what is known of one and the same write, that of whoever tried since counts.
  const later = theirs.stored.at - mine.stored.at || theirs.stored.writes - mine.stored.writes;
  if (later > 0) mine.stored = theirs.stored;
}

/**
 * Merges another copy of a day into this one, by maximum. Idempotent and order-independent.
 *
 * @param mine What is changed.
 * @param theirs The other copy; its parts may become this one's.
 */
export function mergeDay(mine: DayState, theirs: DayState): void {
  for (const [id, shard] of theirs.shards) {
    const known = mine.shards.get(id);
    if (known) mergeShard(known, shard);
    else mine.shards.set(id, shard);
  }
  if (theirs.network && theirs.network.at > (mine.network?.at ?? 0)) mine.network = theirs.network;
  const knowsMore = Number(!mine.lesson.census) - Number(!theirs.lesson.census);
  if ((knowsMore || theirs.lesson.at - mine.lesson.at) > 0) mine.lesson = theirs.lesson;
  // The cache knows best whether an isolate is done.
  if (theirs.leaseUntil > mine.leaseUntil || theirs.leaseBy === mine.leaseBy) {
    mine.leaseUntil = theirs.leaseUntil;
    mine.leaseBy = theirs.leaseBy;
  }
  if (theirs.restUntil > mine.restUntil) mine.refusals = theirs.refusals;
  keepMost(mine, theirs, "visits", "restUntil");
}

/**
 * Corrects what a clock that was ahead has left, or everybody would wait until its time has come.
 *
 * @param state The day.
 * @param now The time, in milliseconds.
 */
export function setBack(state: DayState, now: number): void {
  const most = now + AHEAD_MS;
  for (const shard of state.shards.values()) {
    for (const part of shard.parts.values()) part.at = Math.min(part.at, most);
    if (shard.stored.at > most) shard.stored = { ...shard.stored, at: now };
  }
  state.leaseUntil = Math.min(state.leaseUntil, most);
  if (Number(state.network?.at) > most) state.network = undefined;
}

/**
 * Folds parts that have been silent for long, so that a busy day stays small.
 *
 * @param state The day.
 * @param now The time, in milliseconds.
 * @param keysMax Paths and referrers that are stored.
 */
export function foldParts(state: DayState, now: number, keysMax: number = KEYS_MAX): void {
  for (const shard of state.shards.values()) {
    if (shard.parts.size <= PARTS_MAX) continue;
    for (const [name, part] of shard.parts) {
      if (now - part.at < PART_CLOSED_MS) continue;
      addPart(shard.base, part);
      capPart(shard.base, keysMax);
      shard.parts.delete(name);
      shard.folded.add(name);
    }
  }
}
