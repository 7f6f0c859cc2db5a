/**
 * Memory and tier two: what an isolate has counted, and what its data center's cache knows.
 *
 * @module
 */

import type { Clock, Random } from "../clock.ts";
import {
  countedAt,
  type DayState,
  emptyDay,
  emptyShard,
  foldParts,
  growPart,
  isDirty,
  mergeDay,
  openPart,
  type Part,
  PART_OPEN_MS,
  primaryShard,
  setBack,
  type Shard,
  sumShard,
  viewsOf,
  waitingIn,
} from "./day_state.ts";
import { ANSWER_MS, within } from "./within.ts";
import { addDays } from "./day.ts";
import { decodeDay, encodeDay } from "./day_codec.ts";
import { writerName } from "../writer_name.ts";
import type { EdgeCache } from "./edge_cache.ts";
import { emptyTally, eventsOf, type Tally } from "./tally.ts";

/** Days that are still written: today and those that roll-up still reads. */
export const DAYS_KEPT = 3;
/** Views after a pause of this length are another visit, in milliseconds. */
const VISIT_PAUSE_MS = 5 * 60_000;
/** How long the cache keeps a day, in seconds. */
const CACHE_TTL_SECONDS = 3 * 86_400;
/** How long a cache that did not answer counts as none, in milliseconds. */
const CACHE_OFF_MS = 5 * 60_000;

/** What a keeper works with. */
export interface KeeperContext {
  /** The data center's name. */
  readonly colo: string;
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** Keys kept in each of paths and referrers. */
  readonly keysMax: number;
  /** Tier two, or `null` for none. */
  readonly edgeCache: EdgeCache | null;
  /** Told of everything that failed. */
  readonly onError: (error: unknown) => void;
}

/** One isolate's knowledge of the days that are still written. */
export class DayKeeper {
  /** This isolate's name, unlike any other's. */
  readonly name: string;
  readonly #context: KeeperContext;
  readonly #pending = new Map<string, Tally>();
  readonly #days = new Map<string, DayState>();
  /** Views that this isolate has added to each day. */
  readonly #counted = new Map<string, number>();
  /** This isolate's open part in each shard. */
  readonly #open = new WeakMap<Shard, { name: string; part: Part }>();
  #parts = 0;
  /** Days of which the cache may not know what this isolate knows, or the other way round. */
  readonly #unsure = new Set<string>();
  /** Before when the cache is left alone, because it did not answer. */
  #offUntil = 0;
  #hits = 0;
  #misses = 0;
  #lost = 0;

  /** @param context What it works with. */
  constructor(context: KeeperContext) {
    this.#context = context;
    this.name = writerName(context.random, context.clock.now());
  }

  /** Views that were too old to be stored and had to be dropped by this isolate. */
  get lost(): number {
    return this.#lost;
  }

  /** Whether what is not in KV dies with the isolate: there is no cache, or it keeps nothing. */
  get isVolatile(): boolean {
    return !this.#cache || (this.#misses > 1 && !this.#hits);
  }

  /** The cache, unless it did not answer a moment ago. */
  get #cache(): EdgeCache | null {
    const { clock, edgeCache } = this.#context;
    return clock.now() < this.#offUntil ? null : edgeCache;
  }

  /** Asks the cache. Never rejects, and never waits for long: a cache that hangs is none for a while. */
  async #ask<T>(day: string, task: (cache: EdgeCache) => Promise<T>): Promise<T | undefined> {
    const { clock, onError } = this.#context;
    const cache = this.#cache;
    const start = clock.now();
    try {
      return cache ? await within(clock, () => task(cache)) : undefined;
    } catch (error) {
      if (clock.now() - start >= ANSWER_MS) this.#offUntil = clock.now() + CACHE_OFF_MS;
      this.#unsure.add(day);
      onError(error);
      return undefined;
    }
  }

  /**
   * The tally that takes what is counted on a day.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns The tally.
   */
  pendingOf(day: string): Tally {
    let tally = this.#pending.get(day);
    if (!tally) this.#pending.set(day, tally = emptyTally());
    return tally;
  }

  /**
   * Views of a day that this data center, as far as this isolate knows, has not stored.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @param stored Views by shard that a report has; by default what KV is known to hold.
   * @returns Views.
   */
  waiting(day: string, stored?: ReadonlyMap<string, number>): number {
    let views = this.#pending.get(day)?.total ?? 0;
    for (const shard of this.#days.get(day)?.shards.values() ?? []) {
      const sum = sumShard(shard);
      const known = stored ? sum.tally.total - (stored.get(shard.id) ?? 0) : waitingIn(shard, sum);
      views += Math.max(0, known);
    }
    return views;
  }

  /**
   * What is known of a day.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns The day, or `undefined` where nothing is known.
   */
  peek(day: string): DayState | undefined {
    return this.#days.get(day);
  }

  /**
   * Whether a day has anything that the cache or KV may not have.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns Whether it does.
   */
  hasNews(day: string): boolean {
    const state = this.#days.get(day);
    return this.#pending.has(day) || this.#unsure.has(day) || (!!state && isDirty(state));
  }

  /**
   * What is known of a day, made where nothing is.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns The day.
   */
  stateOf(day: string): DayState {
    let state = this.#days.get(day);
    if (!state) this.#days.set(day, state = emptyDay(day));
    return state;
  }

  /**
   * Reads what the data center's cache knows of a day, without counting anything.
   *
   * @param day The day, `YYYY-MM-DD`.
   */
  async refresh(day: string): Promise<void> {
    const state = this.stateOf(day);
    for (const key of copiesOf(day)) {
      // deno-lint-ignore scrimp/no-await-in-loop -- the second copy is for when the first is gone
      const theirs = decodeDay(await this.#ask(day, (cache) => cache.get(key)), day);
      const views = theirs ? viewsOf(theirs) : 0;
      if (theirs) mergeDay(state, theirs);
      setBack(state, this.#context.clock.now());
      if (viewsOf(state) > views) this.#unsure.add(day);
      if (theirs) return void this.#hits++;
    }
    if (state.shards.size > 0) this.#misses++;
  }

  /**
   * Lets go of days that are too old to be written, and reports what is lost with them. Never rejects.
   *
   * @param today Today, `YYYY-MM-DD`.
   */
  async forget(today: string): Promise<void> {
    const oldest = addDays(today, 1 - DAYS_KEPT);
    for (const day of new Set([...this.#days.keys(), ...this.#pending.keys()])) {
      if (day >= oldest) continue;
      // Another isolate may have stored it in the meantime.
      // deno-lint-ignore scrimp/no-await-in-loop -- a day or two
      if (this.waiting(day) > 0) await this.refresh(day);
      const lost = this.#lostOf(day);
      if (lost > 0) {
        this.#lost += lost;
        this.pendingOf(today).dropped += lost;
      }
      for (const known of [this.#days, this.#pending, this.#counted, this.#unsure]) {
        known.delete(day);
      }
    }
  }

  /** What this isolate loses with a day: its share of what nobody stored, so that each is lost once. */
  #lostOf(day: string): number {
    const state = this.stateOf(day);
    const all = viewsOf(state);
    const own = Math.min(all, this.#counted.get(day) ?? 0);
    const pending = this.#pending.get(day)?.total ?? 0;
    const stored = new Map([...state.shards].map(([id, shard]) => [id, shard.stored.total]));
    return pending + Math.floor((this.waiting(day, stored) - pending) * own / (all || 1));
  }

  /**
   * Puts a day into the cache. Never rejects.
   *
   * @param state The day.
   * @param how Whether to look at it again in the next round in any case.
   */
  async push(state: DayState, how?: "unsure"): Promise<void> {
    const { day, shards } = state;
    if (how) this.#unsure.add(day);
    else this.#unsure.delete(day);
    if (!this.#cache || shards.size === 0) return;
    const text = encodeDay(state);
    const set = (key: string) => this.#ask(day, (cache) => cache.set(key, text, CACHE_TTL_SECONDS));
    await Promise.all(copiesOf(day).map(set));
  }

  /**
   * Merges the cache's copy, adds what this isolate has counted, and puts the result back. Never
   * rejects.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns The day.
   */
  async sync(day: string): Promise<DayState> {
    const state = this.stateOf(day);
    await this.refresh(day);
    const now = this.#context.clock.now();
    const pending = this.#pending.get(day);
    if (pending && eventsOf(pending) > 0) {
      if (pending.total > 0 && now - countedAt(state) > VISIT_PAUSE_MS) state.visits++;
      growPart(this.part(state, now), pending, this.#context.keysMax);
      this.#counted.set(day, (this.#counted.get(day) ?? 0) + pending.total);
      this.#pending.delete(day);
    }
    foldParts(state, now, this.#context.keysMax);
    if (pending || this.#unsure.has(day)) await this.push(state);
    return state;
  }

  /**
   * This isolate's open part of a day.
   *
   * @param state The day.
   * @param now The time, in milliseconds.
   * @param wanted The shard; by default the one that takes new parts.
   * @returns The part.
   */
  part(state: DayState, now: number, wanted?: Shard): Part {
    let shard = wanted ?? primaryShard(state);
    if (!shard) {
      const { colo, random } = this.#context;
      shard = emptyShard(`${colo}-${writerName(random, now)}`, now);
      state.shards.set(shard.id, shard);
    }
    const open = this.#open.get(shard);
    if (open && !shard.folded.has(open.name) && now - open.part.at < PART_OPEN_MS) {
      open.part.at = now;
      return open.part;
    }
    let name;
    // A name that is taken belongs to another isolate, whose counts must stay.
    do name = `${this.name}${(this.#parts++).toString(36)}`; while (
      shard.parts.has(name) || shard.folded.has(name)
    );
    const part = openPart(shard, name, now);
    this.#open.set(shard, { name, part });
    return part;
  }
}

/** Where the cache keeps a day: twice, since it may forget either at any time. */
function copiesOf(day: string): readonly string[] {
  return [`views:${day}`, `views:${day}:copy`];
}
