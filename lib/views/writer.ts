/**
 * Carries counts from an isolate's memory to its data centre's cache, and from there to KV.
 *
 * @module
 */

import type { Clock, Random } from "../clock.ts";
import type { Budget } from "../budget.ts";
import type { Kv } from "../kv/kv.ts";
import {
  type DayState,
  decodeDay,
  emptyDay,
  emptyShard,
  encodeDay,
  foldParts,
  mergeDay,
  openPart,
  type Part,
  PART_OPEN_MS,
  primaryShard,
  type Shard,
  sumShard,
} from "./day_state.ts";
import { addDays, type Calendar, type Day } from "./day.ts";
import type { EdgeCache } from "./edge_cache.ts";
import { delayAfter } from "./_retry.ts";
import { viewNetwork } from "./network.ts";
import { fallbackDueAt, LATE_WRITES_MAX, type Pace, pace } from "./pacing.ts";
import { encodeShard, listShards, SHARD_TTL_SECONDS, shardKey } from "./shard.ts";
import { addTally, emptyTally, eventsOf, type Tally } from "./tally.ts";

/** Days that are still written: today and those that roll-up still reads. */
const DAYS_KEPT = 3;
/** How long the cache keeps a day, in seconds. */
const CACHE_TTL_SECONDS = 3 * 86_400;
/** How long an isolate may be at storing before others may try, in milliseconds. */
const LEASE_MS = 15_000;
/** The least time between two writes of one key, in milliseconds. KV allows one a second. */
const SPACING_MS = 5_000;
/** A listing younger than this is not asked for again, in milliseconds. */
const LISTING_FRESH_MS = 60_000;
/** What waits this long after a refusal before it is looked at again, in milliseconds. */
const REFUSED_MS = 10 * 60_000;
/** The first and the longest pause between writes of nothing but skipped requests, in milliseconds. */
const SKIPPED_MS = { first: 15_000, most: 30 * 60_000 } as const;

/** What a writer works with. */
export interface WriterContext {
  /** The data centre's name. */
  readonly colo: string;
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** Days. */
  readonly calendar: Calendar;
  /** Tier two, or `null` for none. */
  readonly edgeCache: EdgeCache | null;
  /** Writes a day for page views over the whole network. */
  readonly writesPerDay: number;
  /** Keys kept in each of paths and referrers. */
  readonly keysMax: number;
  /** The ledger. */
  readonly budget: Budget | undefined;
  /** Told of everything that failed. */
  readonly onError: (error: unknown) => void;
  /** Tells other purposes' writes of this data centre today, and is told the network's. */
  readonly exchange: Exchange | undefined;
}

/** How the ledgers of data centres reach each other: along with the shards' metadata. */
export interface Exchange {
  /** This data centre's writes today, by purpose. */
  local(day: string): Readonly<Record<string, number>>;
  /** The network's writes today, by purpose, as a listing showed them. */
  learn(day: string, network: Readonly<Record<string, number>>, writers: number): void;
}

/** One isolate's way to the cache and to KV. */
export class ShardWriter {
  /** The store; may be set anew with every request. */
  kv: Kv | undefined;
  readonly #context: WriterContext;
  readonly #name: string;
  readonly #pending = new Map<string, Tally>();
  readonly #days = new Map<string, DayState>();
  /** This isolate's open part in each shard. */
  readonly #open = new WeakMap<Shard, { name: string; part: Part }>();
  #parts = 0;
  #hits = 0;
  #misses = 0;
  #lost = 0;

  /** @param context What it works with. */
  constructor(context: WriterContext) {
    this.#context = context;
    this.#name = suffix(context.random);
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
   * Views of a day that this data centre, as far as this isolate knows, has not stored.
   *
   * @param day The day, `YYYY-MM-DD`.
   * @returns Views.
   */
  waiting(day: string): number {
    let views = this.#pending.get(day)?.total ?? 0;
    for (const shard of this.#days.get(day)?.shards.values() ?? []) {
      views += Math.max(0, sumShard(shard).tally.total - shard.storedTotal);
    }
    return views;
  }

  /**
   * Brings memory, cache and KV up to date, as far as the pacing lets it. Never rejects.
   *
   * @returns When it makes sense to call again, in milliseconds; `Infinity` for when more is counted.
   */
  async cycle(): Promise<number> {
    const today = this.#context.calendar.dayAt(this.#context.clock.now());
    this.#forget(today);
    let next = Infinity;
    for (const day of [addDays(today.name, 1 - DAYS_KEPT), addDays(today.name, -1), today.name]) {
      const known = this.#days.get(day);
      const isNews = this.#pending.has(day) || (known && isDirty(known));
      // An isolate takes over once what dead ones left behind yesterday and today.
      if (!isNews && (known || day < addDays(today.name, -1))) continue;
      // deno-lint-ignore no-await-in-loop -- today's metadata tells of yesterday's late writes
      const state = await this.#sync(day);
      // deno-lint-ignore no-await-in-loop -- as above
      next = Math.min(next, await this.#storeDay(state, today));
    }
    return next;
  }

  /**
   * Reads what the data centre's cache knows of a day, without counting anything.
   *
   * @param day The day, `YYYY-MM-DD`.
   */
  async refresh(day: string): Promise<void> {
    await this.#pull(this.#stateOf(day));
  }

  /** Notes that an operation never came back: KV is left alone for a while. */
  stalled(): void {
    const { clock, random, calendar, onError } = this.#context;
    const state = this.#stateOf(calendar.dayAt(clock.now()).name);
    const error = new Error("Cannot finish storing page views: no answer in time");
    state.blockedUntil = clock.now() + delayAfter(error, state.refusals++, clock.now(), random);
    onError(error);
  }

  /** Writes tried for page views today in this data centre, and what the last listing showed. */
  status(day: string): { state: DayState | undefined; lost: number; volatile: boolean } {
    return { state: this.#days.get(day), lost: this.#lost, volatile: this.#isVolatile() };
  }

  #stateOf(day: string): DayState {
    let state = this.#days.get(day);
    if (!state) this.#days.set(day, state = emptyDay(day));
    return state;
  }

  /** Lets go of days that are too old to be written, and reports what is lost with them. */
  #forget(today: Day): void {
    const oldest = addDays(today.name, 1 - DAYS_KEPT);
    for (const day of new Set([...this.#days.keys(), ...this.#pending.keys()])) {
      if (day >= oldest) continue;
      const lost = this.waiting(day);
      if (lost > 0) {
        this.#lost += lost;
        this.pendingOf(today.name).dropped += lost;
      }
      this.#days.delete(day);
      this.#pending.delete(day);
    }
  }

  #isVolatile(): boolean {
    return !this.#context.edgeCache || (this.#misses >= 2 && this.#hits === 0);
  }

  async #pull(state: DayState): Promise<void> {
    const { edgeCache, onError } = this.#context;
    if (!edgeCache) return;
    try {
      const text = await edgeCache.get(`views:${state.day}`);
      const theirs = decodeDay(text, state.day);
      if (theirs) {
        this.#hits++;
        mergeDay(state, theirs);
      } else if (state.shards.size > 0) {
        this.#misses++;
      }
    } catch (error) {
      onError(error);
    }
  }

  async #push(state: DayState): Promise<void> {
    const { edgeCache, onError } = this.#context;
    if (!edgeCache || state.shards.size === 0) return;
    try {
      await edgeCache.set(`views:${state.day}`, encodeDay(state), CACHE_TTL_SECONDS);
    } catch (error) {
      onError(error);
    }
  }

  /** Merges the cache's copy, adds what this isolate has counted, and puts the result back. */
  async #sync(day: string): Promise<DayState> {
    const state = this.#stateOf(day);
    await this.#pull(state);
    const now = this.#context.clock.now();
    const pending = this.#pending.get(day);
    if (pending && eventsOf(pending) > 0) {
      addTally(this.#part(state, now).tally, pending);
      this.#pending.delete(day);
    }
    foldParts(state, now);
    if (pending) await this.#push(state);
    return state;
  }

  /** This isolate's open part of a day, in the shard that takes new parts. */
  #part(state: DayState, now: number, wanted?: Shard): Part {
    let shard = wanted ?? primaryShard(state);
    if (!shard) {
      const { colo, random } = this.#context;
      shard = emptyShard(`${colo}-${suffix(random)}`, now);
      state.shards.set(shard.id, shard);
    }
    const open = this.#open.get(shard);
    if (open && !shard.folded.has(open.name) && now - open.part.at < PART_OPEN_MS) {
      open.part.at = now;
      return open.part;
    }
    const name = `${this.#name}${(this.#parts++).toString(36)}`;
    const part = openPart(shard, name, now);
    this.#open.set(shard, { name, part });
    return part;
  }

  async #storeDay(state: DayState, today: Day): Promise<number> {
    let next = Infinity;
    for (const shard of state.shards.values()) {
      if (!isShardDirty(shard)) continue;
      // deno-lint-ignore no-await-in-loop -- one write at a time
      next = Math.min(next, await this.#storeShard(state, shard, today));
    }
    return next;
  }

  async #storeShard(state: DayState, shard: Shard, today: Day): Promise<number> {
    const { clock } = this.#context;
    const now = clock.now();
    const kv = this.kv;
    if (!kv) return Infinity;
    const isToday = state.day === today.name;
    const lease = state.leaseBy === this.#name ? 0 : state.leaseUntil;
    let due = Math.max(
      this.#dueAt(state, shard, today, now),
      lease,
      state.blockedUntil,
      isToday ? state.restUntil : 0,
    );
    if (due > now) return due;
    if (isToday && !(state.network && now - state.network.at < LISTING_FRESH_MS)) {
      await this.#look(state, kv);
      due = this.#dueAt(state, shard, today, clock.now());
      if (due > clock.now()) {
        const wait = REFUSED_MS * 2 ** Math.min(6, state.refusals++);
        state.restUntil = Math.min(due, clock.now() + wait);
        await this.#push(state);
        return due;
      }
    }
    return await this.#put(state, shard, today, kv);
  }

  #pace(state: DayState, shard: Shard, today: Day, now: number): Pace {
    const { total } = sumShard(shard).tally;
    const yesterday = addDays(today.name, -1);
    const before = this.#days.get(yesterday)?.network;
    return pace({
      now,
      today,
      writesPerDay: this.#context.writesPerDay,
      network: this.#days.get(today.name)?.network,
      before: before && { day: this.#context.calendar.day(yesterday), network: before },
      total,
      pending: total - shard.storedTotal,
      since: Math.max(shard.storedAt || shard.born, today.start),
      stored: [...state.shards.values()].some(({ storedAt }) => storedAt > 0),
      volatile: this.#isVolatile(),
    });
  }

  #dueAt(state: DayState, shard: Shard, today: Day, now: number): number {
    const { tally, writes, late } = sumShard(shard);
    const soonest = shard.storedAt > 0 ? shard.storedAt + SPACING_MS : 0;
    const views = tally.total - shard.storedTotal;
    const { dueAt, plenty } = this.#pace(state, shard, today, now);
    if (views <= 0) {
      // Requests that were not counted ride along; alone they may only use what abounds.
      const pause = Math.min(SKIPPED_MS.most, SKIPPED_MS.first * 2 ** Math.min(10, writes));
      return plenty && writes > 0 ? shard.storedAt + pause : plenty ? now : Infinity;
    }
    if (state.day !== today.name) {
      if (late >= LATE_WRITES_MAX && !plenty) return Infinity;
      // Other isolates bring in their last views of the day within a minute.
      return Math.max(soonest, plenty ? now : today.start + LISTING_FRESH_MS);
    }
    if (state.network === undefined && state.refusals > 0) {
      return Math.max(soonest, fallbackDueAt(shard.storedAt || shard.born, views, writes));
    }
    return Math.max(soonest, dueAt);
  }

  /** Lists the day's shards, to learn what the whole network has used. One list. */
  async #look(state: DayState, kv: Kv): Promise<void> {
    const { clock, budget, onError, exchange } = this.#context;
    try {
      const { shards } = await listShards(
        kv,
        state.day,
        () => budget?.note("views", "list"),
      );
      state.network = viewNetwork(shards, clock.now());
      exchange?.learn(state.day, state.network.other, state.network.writers);
      for (const { writer, metadata } of shards) {
        const shard = state.shards.get(writer);
        // A write that a listing much later does not show was overwritten or lost: it is due again.
        const isOld = shard && clock.now() - shard.storedAt > 10 * LISTING_FRESH_MS;
        if (shard && metadata && isOld && metadata.total < shard.storedTotal) {
          shard.storedTotal = metadata.total;
          shard.storedEvents = metadata.total;
          shard.storedAt = clock.now() - SPACING_MS;
        }
      }
    } catch (error) {
      state.refusals++;
      onError(error);
    }
  }

  async #put(state: DayState, shard: Shard, today: Day, kv: Kv): Promise<number> {
    const { clock, random, budget, onError, exchange, keysMax } = this.#context;
    const part = this.#part(state, clock.now(), shard);
    part.writes++;
    if (state.day !== today.name) part.late++;
    state.leaseUntil = clock.now() + LEASE_MS;
    state.leaseBy = this.#name;
    await this.#push(state);
    const { tally, writes } = sumShard(shard);
    const events = eventsOf(tally);
    const other = exchange?.local(today.name) ?? {};
    const metadata = {
      v: 1,
      total: tally.total,
      writes,
      late: this.#late(addDays(today.name, -1)),
      at: Math.floor(clock.now() / 1000),
      finals: this.#pace(state, shard, today, clock.now()).finals,
      ...(Object.keys(other).length > 0 ? { other } : {}),
    };
    try {
      budget?.note("views", "write");
      await kv.put(shardKey(state.day, shard.id), encodeShard(tally, keysMax), {
        expirationTtl: SHARD_TTL_SECONDS,
        metadata,
      });
      shard.storedEvents = events;
      shard.storedTotal = tally.total;
      shard.storedAt = clock.now();
      state.refusals = 0;
      if (state.network) state.network = { ...state.network, writes: state.network.writes + 1 };
    } catch (error) {
      const wait = delayAfter(error, state.refusals++, clock.now(), random);
      state.blockedUntil = clock.now() + wait;
      const now = this.#days.get(today.name);
      if (now) now.blockedUntil = Math.max(now.blockedUntil, state.blockedUntil);
      onError(error);
    }
    state.leaseUntil = clock.now();
    await this.#push(state);
    return isShardDirty(shard) ? Math.max(clock.now() + SPACING_MS, state.blockedUntil) : Infinity;
  }

  /** Late writes of this data centre today, for the day before. */
  #late(yesterday: string): number {
    let late = 0;
    for (const shard of this.#days.get(yesterday)?.shards.values() ?? []) {
      late += sumShard(shard).late;
    }
    return late;
  }
}

function isShardDirty(shard: Shard): boolean {
  return eventsOf(sumShard(shard).tally) > shard.storedEvents;
}

function isDirty(state: DayState): boolean {
  return [...state.shards.values()].some(isShardDirty);
}

/** Six characters that tell writers apart: one clash in two thousand million. */
function suffix(random: Random): string {
  return Math.floor(random() * 36 ** 6).toString(36).padStart(6, "0");
}
