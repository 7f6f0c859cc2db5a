/**
 * Carries counts from an isolate's memory to its data center's cache, and from there to KV.
 *
 * @module
 */

import type { Budget } from "../budget.ts";
import type { Kv } from "../kv/kv.ts";
import { delayAfter } from "./_retry.ts";
import { type FlushKv, flushKv } from "./within.ts";
import { readCensus } from "./census.ts";
import { addDays, type Calendar, type Day } from "./day.ts";
import { DayKeeper, DAYS_KEPT, type KeeperContext } from "./day_keeper.ts";
import {
  type DayState,
  grownAt,
  isShardDirty,
  type Shard,
  sumShard,
  viewsOf,
  waitingIn,
} from "./day_state.ts";
import { hintKey, parseNetwork, viewNetwork } from "./network.ts";
import {
  fallbackDueAt,
  LATE_VIEWS,
  LATE_WRITES_MAX,
  pace,
  paceFinal,
  type PaceInput,
} from "./pacing.ts";
import { encodeShard, listShards, SHARD_TTL_SECONDS, shardKey } from "./shard.ts";
import { eventsOf, parseJson } from "./tally.ts";

/** How long an isolate may be at storing before others may try, in milliseconds. */
const LEASE_MS = 15_000;
/** The least time between two writes of one key, in milliseconds. KV allows one a second. */
const SPACING_MS = 5_000;
/** A listing younger than this is not asked for again, in milliseconds. */
const LISTING_FRESH_MS = 115_000;
/** How far into a day the day before is written at the soonest where writes are scarce, in milliseconds. */
const LATE_FROM_MS = 60_000;
/** What waits this long after a refusal before it is looked at again, in milliseconds. */
const REFUSED_MS = 6 * 3_600_000;
/**
 * When a late write that was refused is thought of again, or a roll-up that was not there yet; and the
 * longest pause between writes of nothing but skipped requests, in milliseconds.
 */
const AGAIN_MS = 30 * 60_000;
/**
 * Without a cache: when a hint is read again, and how old it may be, in milliseconds, and after how many
 * writes one is left.
 */
const HINT_AGAIN_MS = 15 * 60_000;
const HINT_WRITES = 16;
/** Below so many writes a day each of them is preceded by a look at both days. */
const WRITES_FEW = 250;
/** How often the day before is listed along with today, and after how long again, in milliseconds. */
const LOOK_BACK = 0.25;
const LOOK_BACK_MS = 3 * 3_600_000;

/** What a writer works with. */
export interface WriterContext extends KeeperContext {
  /** Days. */
  readonly calendar: Calendar;
  /** Writes a day for page views over the whole network. */
  readonly writesPerDay: number;
  /** The ledger. */
  readonly budget: Budget | undefined;
  /** Tells other purposes' writes of this data center today, and is told the network's. */
  readonly exchange: Exchange | undefined;
}

/** How the ledgers of data centers reach each other: along with the shards' metadata. */
export interface Exchange {
  /** This data center's writes today, by purpose. */
  local(day: string): Readonly<Record<string, number>>;
  /** The network's writes today, by purpose, as a listing showed them. */
  learn(
    day: string,
    network: Readonly<Record<string, number>>,
    writers: number,
    part: number,
  ): void;
}

/** One isolate's way to the cache and to KV. */
export class ShardWriter {
  /** The store; may be set anew with every request. */
  kv: Kv | undefined;
  /** Memory and tier two. */
  readonly keeper: DayKeeper;
  readonly #context: WriterContext;
  /** Writes of the network that the last hint told of, and when it was read. */
  #hinted = 0;
  #hintedAt = -Infinity;

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
    await this.keeper.forget(today.name);
    let next = Infinity;
    for (let age = DAYS_KEPT - 1; age >= 0; age--) {
      const day = addDays(today.name, -age);
      // An isolate takes over once what dead ones left behind yesterday and today.
      const isNew = !this.keeper.peek(day) && age < 2;
      if (!isNew && !this.keeper.hasNews(day)) continue;
      // deno-lint-ignore scrimp/no-await-in-loop -- today's metadata tells of yesterday's late writes
      const state = await this.keeper.sync(day);
      // deno-lint-ignore scrimp/no-await-in-loop -- as above
      next = Math.min(next, await this.#storeDay(state, today));
    }
    return next;
  }

  /** Leaves KV alone after a failure, for as long as that takes to mend. */
  #block(state: DayState, error: unknown): void {
    const { clock, random, onError } = this.#context;
    state.restUntil = clock.now() + delayAfter(error, state.refusals++, clock.now(), random);
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
    const { clock, budget } = this.#context;
    const now = clock.now();
    if (!this.kv) return Infinity;
    const kv = flushKv(this.kv, clock, budget);
    await this.#learn(today, kv);
    if (this.keeper.isVolatile) await this.#readHint(today, kv);
    const { due, look } = this.#dueAt(state, shard, today, now);
    const wait = Math.max(due, state.restUntil);
    if (wait > now) return wait;
    if (this.#isLeased(state)) return this.#soon();
    if (look) {
      await this.#look(state, kv, today);
      await this.#lookAside(state, kv, today);
      const then = this.#dueAt(state, shard, today, clock.now()).due;
      if (then > clock.now()) {
        const rest = (this.keeper.isVolatile ? HINT_AGAIN_MS : REFUSED_MS) *
          2 ** Math.min(6, state.refusals++);
        // What was refused today is asked for anew tomorrow, when it is a late write.
        state.restUntil = Math.min(then, clock.now() + rest, today.end);
        await this.keeper.push(state);
        return then;
      }
    }
    return await this.#put(state, shard, today, kv);
  }

  /** Reads once a day what the day before teaches. One read a data center and day. */
  async #learn(today: Day, kv: FlushKv): Promise<void> {
    const { clock } = this.#context;
    const state = this.keeper.stateOf(today.name);
    const { at, census } = state.lesson;
    if (census || clock.now() - at < AGAIN_MS) return;
    state.lesson = { at: clock.now(), census };
    state.lesson = {
      ...state.lesson,
      census: await readCensus(kv, addDays(today.name, -1), this.#context.colo),
    };
  }

  /** Without a cache, what others have learnt is read from KV. One read an isolate and quarter hour. */
  async #readHint(today: Day, kv: FlushKv): Promise<void> {
    const { clock, onError } = this.#context;
    if (clock.now() - this.#hintedAt < HINT_AGAIN_MS) return;
    this.#hintedAt = clock.now();
    const text = await kv.get(hintKey(today.name)).catch(onError);
    const hint = parseNetwork(parseJson(text || ""));
    const state = this.keeper.stateOf(today.name);
    if (hint && hint.at > (state.network?.at ?? 0)) state.network = hint;
    this.#hinted = hint?.used.writes ?? 0;
  }

  /** Now and then, one write of many tells the others what this isolate has listed. */
  async #writeHint(today: Day, kv: FlushKv): Promise<void> {
    const state = this.keeper.stateOf(today.name);
    const { network } = state;
    if (!network || network.used.writes - this.#hinted < HINT_WRITES) return;
    this.#hinted = network.used.writes;
    const options = { expirationTtl: SHARD_TTL_SECONDS };
    await kv.put(hintKey(today.name), JSON.stringify(network), options);
    this.#spend(state, today);
  }

  #known(state: DayState, shard: Shard, today: Day, now: number): PaceInput {
    const { calendar, writesPerDay } = this.#context;
    const yesterday = addDays(today.name, -1);
    const before = this.keeper.peek(yesterday);
    return {
      now,
      today,
      writesPerDay,
      network: this.keeper.peek(today.name)?.network,
      before: before?.network && { day: calendar.day(yesterday), network: before.network },
      census: this.keeper.peek(today.name)?.lesson.census ?? before?.lesson.census,
      total: viewsOf(state),
      totalBefore: before ? viewsOf(before) : 0,
      visits: state.visits,
      visitsBefore: before?.visits ?? 0,
      pending: waitingIn(shard, sumShard(shard)),
      countedAt: grownAt(shard),
      since: Math.max(shard.stored.at || shard.born, today.start),
      volatile: this.keeper.isVolatile,
    };
  }

  /** When a shard may be written, and whether its day must be listed before. */
  #dueAt(
    state: DayState,
    shard: Shard,
    today: Day,
    now: number,
  ): { due: number; look: boolean } {
    const sum = sumShard(shard);
    const { writes } = sum;
    const isFew = this.#context.writesPerDay < WRITES_FEW;
    const soonest = shard.stored.at && shard.stored.at + (isFew ? LISTING_FRESH_MS : SPACING_MS);
    const views = waitingIn(shard, sum);
    const input = this.#known(state, shard, today, now);
    const age = state.network ? now - state.network.at : Infinity;
    if (state.day !== today.name) {
      const { allowed, scarce } = paceFinal(input);
      const look = (isFew || (scarce && !input.census)) && age > LISTING_FRESH_MS;
      // Other isolates bring in their last views of the day within a minute.
      const due = views <= 0 || (sum.late >= LATE_WRITES_MAX && scarce && views < LATE_VIEWS)
        ? Infinity
        : !allowed && !look
        ? now + AGAIN_MS * 2 ** state.refusals
        : Math.max(soonest, scarce ? today.start + LATE_FROM_MS : now);
      return { due, look };
    }
    const { dueAt, mode, ...paced } = pace(input);
    let due = Math.max(soonest, dueAt);
    if (views <= 0) {
      // Requests that were not counted ride along; alone they may only use what abounds.
      const pause = Math.min(AGAIN_MS, SPACING_MS * 2 ** writes);
      due = mode > 0 ? Infinity : writes > 0 ? shard.stored.at + pause : now;
    } else if (!state.network && state.refusals > 0) {
      due = Math.max(soonest, fallbackDueAt(shard.stored.at || shard.born, views, writes));
    }
    const fresh = input.volatile ? HINT_AGAIN_MS : LISTING_FRESH_MS;
    return { due, look: (isFew || paced.look) && age > fresh };
  }

  /**
   * Late writes are on today's account: now and then the day before is listed along with today. Where
   * writes are few, today and the day before are both listed always.
   */
  async #lookAside(state: DayState, kv: FlushKv, today: Day): Promise<void> {
    const { clock, random, writesPerDay } = this.#context;
    const isFew = writesPerDay < WRITES_FEW;
    for (const day of [addDays(today.name, -1), today.name]) {
      const aside = this.keeper.stateOf(day);
      const isScarce = day < state.day && Number(aside.network?.total) > writesPerDay;
      if (day === state.day || !(isFew || (isScarce && random() <= LOOK_BACK))) continue;
      const age = clock.now() - (aside.network?.at ?? 0);
      // deno-lint-ignore scrimp/no-await-in-loop -- two days
      if (age > (isFew ? LISTING_FRESH_MS : LOOK_BACK_MS)) await this.#look(aside, kv, today);
    }
  }

  /** Lists the day's shards, to learn what the whole network has used. One list. */
  async #look(state: DayState, kv: FlushKv, today: Day): Promise<void> {
    const { clock, onError, exchange } = this.#context;
    try {
      const { shards } = await listShards(kv, state.day);
      const which = state.day === today.name ? "today" : "yesterday";
      const view = viewNetwork(shards, clock.now(), today.start, which);
      state.network = view;
      if (which === "today") {
        // At least one, so that a quiet site's only data center is all of the network, not none of it.
        const part = (viewsOf(state) || 1) / Math.max(1, view.total);
        exchange?.learn(state.day, view.other, view.writers, part);
      }
      for (const { writer, metadata } of shards) {
        const shard = state.shards.get(writer);
        // A write that a listing much later does not show was overwritten or lost: it is due again.
        const isOld = shard && clock.now() - shard.stored.at > 10 * LISTING_FRESH_MS;
        if (metadata && isOld && metadata.total < shard.stored.total) {
          const { total } = metadata;
          shard.stored = { ...shard.stored, total, events: total, at: clock.now() - SPACING_MS };
        }
      }
    } catch (error) {
      state.refusals++;
      onError(error);
    }
  }

  async #put(state: DayState, shard: Shard, today: Day, kv: FlushKv): Promise<number> {
    const { clock, exchange, keysMax } = this.#context;
    // While this isolate listed, another may have begun to write.
    await this.keeper.refresh(state.day);
    if (this.#isLeased(state)) return this.#soon();
    const tried = sumShard(shard).writes;
    const part = this.keeper.part(state, clock.now(), shard);
    part.writes++;
    // What this write knows of it cannot lower.
    if (tried <= shard.stored.writes) shard.stored = { ...shard.stored, writes: tried + 1 };
    if (state.day !== today.name) part.late++;
    state.leaseUntil = clock.now() + LEASE_MS;
    state.leaseBy = this.keeper.name;
    await this.keeper.push(state);
    const { tally, writes, late } = sumShard(shard);
    const events = eventsOf(tally);
    const input = this.#known(state, shard, today, clock.now());
    const { mode, price } = pace(input);
    const other = exchange?.local(today.name) ?? {};
    const metadata = {
      v: 1,
      total: tally.total,
      writes,
      late,
      at: Math.floor(clock.now() / 1000),
      mode,
      visits: state.visits,
      price: Math.round(100 * price),
      seen: this.#used(today),
      // Nothing, where it is empty: the metadata's shape is frozen.
      other: Object.keys(other)[0] && other,
    };
    try {
      const options = { expirationTtl: SHARD_TTL_SECONDS, metadata };
      await kv.put(shardKey(state.day, shard.id), encodeShard(tally, keysMax), options);
      shard.stored = { at: clock.now(), total: tally.total, events, writes };
      state.refusals = 0;
      this.#spend(state, today);
      if (this.keeper.isVolatile) await this.#writeHint(today, kv);
    } catch (error) {
      this.#block(state, error);
      this.keeper.stateOf(today.name).restUntil = state.restUntil;
    }
    await this.keeper.refresh(state.day);
    if (state.leaseBy === this.keeper.name) state.leaseUntil = clock.now();
    // Whether another isolate wrote at the same time shows a little later.
    await this.keeper.push(state, "unsure");
    if (this.keeper.isVolatile && !isShardDirty(shard)) return Infinity;
    return Math.max(this.#soon(), state.restUntil);
  }

  /** Whether another isolate is at storing. */
  #isLeased({ leaseBy, leaseUntil }: DayState): boolean {
    return leaseBy !== this.keeper.name && leaseUntil > this.#context.clock.now();
  }

  /** When to look again. Isolates that did something at the same time must not do so again. */
  #soon(): number {
    const { clock, random } = this.#context;
    return clock.now() + SPACING_MS * (1 + random());
  }

  /** Today's writes of the network, as far as known. */
  #used(today: Day): { writes: number; late: number } {
    const views = [today.name, addDays(today.name, -1)].map((day) => {
      const network = this.keeper.peek(day)?.network;
      return network && network.at >= today.start ? network.used : undefined;
    });
    const most = (of: "writes" | "late") => Math.max(...views.map((used) => used?.[of] ?? 0));
    return { writes: most("writes"), late: most("late") };
  }

  /** Adds a write of this isolate's to what the last listing showed. */
  #spend(state: DayState, today: Day): void {
    const { network } = state;
    if (!network || network.at < today.start) return;
    const { writes, late } = network.used;
    const used = state.day === today.name ? { writes: writes + 1 } : { late: late + 1 };
    state.network = { ...network, used: { ...network.used, ...used } };
  }
}
