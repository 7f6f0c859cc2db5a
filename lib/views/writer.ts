/**
 * Carries counts from an isolate's memory to its data centre's cache, and from there to KV.
 *
 * @module
 */

import type { Budget } from "../budget.ts";
import type { Kv } from "../kv/kv.ts";
import { delayAfter } from "./_retry.ts";
import { addDays, type Calendar, type Day } from "./day.ts";
import { DayKeeper, DAYS_KEPT, type KeeperContext } from "./day_keeper.ts";
import { type DayState, isShardDirty, type Shard, sumShard } from "./day_state.ts";
import { viewNetwork } from "./network.ts";
import { fallbackDueAt, LATE_WRITES_MAX, type Pace, pace } from "./pacing.ts";
import { encodeShard, listShards, SHARD_TTL_SECONDS, shardKey } from "./shard.ts";
import { eventsOf } from "./tally.ts";

/** How long an isolate may be at storing before others may try, in milliseconds. */
const LEASE_MS = 15_000;
/** The least time between two writes of one key, in milliseconds. KV allows one a second. */
const SPACING_MS = 5_000;
/** A listing younger than this is not asked for again, in milliseconds. */
const LISTING_FRESH_MS = 60_000;
/** What waits this long after a refusal before it is looked at again, in milliseconds. */
const REFUSED_MS = 10 * 60_000;
/** The first and the longest pause between writes of nothing but skipped requests, in milliseconds. */
const SKIPPED_MS = { first: 5_000, most: 30 * 60_000 } as const;

/** What a writer works with. */
export interface WriterContext extends KeeperContext {
  /** Days. */
  readonly calendar: Calendar;
  /** Writes a day for page views over the whole network. */
  readonly writesPerDay: number;
  /** Keys kept in each of paths and referrers. */
  readonly keysMax: number;
  /** The ledger. */
  readonly budget: Budget | undefined;
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
  /** Memory and tier two. */
  readonly keeper: DayKeeper;
  readonly #context: WriterContext;

  /** @param context What it works with. */
  constructor(context: WriterContext) {
    this.#context = context;
    this.keeper = new DayKeeper(context);
  }

  /**
   * Brings memory, cache and KV up to date, as far as the pacing lets it. Never rejects.
   *
   * @returns When it makes sense to call again, in milliseconds; `Infinity` for when more is counted.
   */
  async cycle(): Promise<number> {
    const today = this.#context.calendar.dayAt(this.#context.clock.now());
    this.keeper.forget(today.name);
    let next = Infinity;
    for (const day of [addDays(today.name, 1 - DAYS_KEPT), addDays(today.name, -1), today.name]) {
      // An isolate takes over once what dead ones left behind yesterday and today.
      const isNew = !this.keeper.peek(day) && day >= addDays(today.name, -1);
      if (!isNew && !this.keeper.hasNews(day)) continue;
      // deno-lint-ignore scrimp/no-await-in-loop -- today's metadata tells of yesterday's late writes
      const state = await this.keeper.sync(day);
      // deno-lint-ignore scrimp/no-await-in-loop -- as above
      next = Math.min(next, await this.#storeDay(state, today));
    }
    return next;
  }

  /** Notes that an operation never came back: KV is left alone for a while. */
  stalled(): void {
    const { clock, random, calendar, onError } = this.#context;
    const state = this.keeper.stateOf(calendar.dayAt(clock.now()).name);
    const error = new Error("Cannot finish storing page views: no answer in time");
    state.blockedUntil = clock.now() + delayAfter(error, state.refusals++, clock.now(), random);
    onError(error);
  }

  async #storeDay(state: DayState, today: Day): Promise<number> {
    let next = Infinity;
    for (const shard of [...state.shards.values()]) {
      if (!isShardDirty(shard)) continue;
      // deno-lint-ignore scrimp/no-await-in-loop -- one write at a time
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
    const lease = state.leaseBy === this.keeper.name ? 0 : state.leaseUntil;
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
        await this.keeper.push(state);
        return due;
      }
    }
    return await this.#put(state, shard, today, kv);
  }

  #pace(state: DayState, shard: Shard, today: Day, now: number): Pace {
    const { total } = sumShard(shard).tally;
    const yesterday = addDays(today.name, -1);
    const before = this.keeper.peek(yesterday)?.network;
    return pace({
      now,
      today,
      writesPerDay: this.#context.writesPerDay,
      network: this.keeper.peek(today.name)?.network,
      before: before && { day: this.#context.calendar.day(yesterday), network: before },
      total,
      pending: total - shard.storedTotal,
      since: Math.max(shard.storedAt || shard.born, today.start),
      stored: [...state.shards.values()].some(({ storedAt }) => storedAt > 0),
      volatile: this.keeper.isVolatile,
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
    const part = this.keeper.part(state, clock.now(), shard);
    part.writes++;
    if (state.day !== today.name) part.late++;
    state.leaseUntil = clock.now() + LEASE_MS;
    state.leaseBy = this.keeper.name;
    await this.keeper.push(state);
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
      const now = this.keeper.peek(today.name);
      if (now) now.blockedUntil = Math.max(now.blockedUntil, state.blockedUntil);
      onError(error);
    }
    state.leaseUntil = clock.now();
    await this.keeper.push(state);
    return isShardDirty(shard) ? Math.max(clock.now() + SPACING_MS, state.blockedUntil) : Infinity;
  }

  /** Late writes of this data centre today, for the day before. */
  #late(yesterday: string): number {
    let late = 0;
    for (const shard of this.keeper.peek(yesterday)?.shards.values() ?? []) {
      late += sumShard(shard).late;
    }
    return late;
  }
}
