/**
 * Short conversations, one key each: bounded when written, idempotent by message id, one write a turn.
 *
 * **Cost.** `load` is one read; `append` one read and at most one write, and no write for messages
 * that are known already; `touch` one read and, once half of the lifetime is gone, one write; `clear`
 * one write.
 *
 * **Consistency.** The last write wins. Within an isolate nothing is lost: what was appended is kept
 * in memory for ten minutes and joined, by message id, with whatever KV says, so stale reads and
 * cached misses do no harm. Between isolates, an append that cannot see another one (KV may take a
 * minute or more) overwrites it. Where both must survive, use a Durable Object.
 *
 * **Bounds.** At most `turnsMax` turns, `messagesMax` messages and `bytesMax` bytes are stored; see
 * {@linkcode trimTurns}. Without a granted write the messages stay in memory, are loaded from there,
 * and go out with the next append; they are lost if the isolate ends before. The result says so.
 *
 * @example Usage
 * ```ts
 * import { Conversations } from "@scrimp/kv/conversations";
 * import { MemoryKv } from "@scrimp/kv/memory-kv";
 * import { assertEquals } from "@std/assert";
 *
 * const kv = new MemoryKv({ now: () => 0 });
 * const chats = new Conversations(kv, { clock: { now: () => 0 } });
 * const turn = [
 *   { id: "1", role: "user", content: "Is it raining?" },
 *   { id: "2", role: "assistant", content: "No." },
 * ];
 * await chats.append(["telegram", "42"], turn);
 * assertEquals((await chats.append(["telegram", "42"], turn)).reason, "known");
 * assertEquals((await chats.load(["telegram", "42"])).messages, turn);
 * assertEquals(kv.operations.write, 1);
 * ```
 *
 * @module
 */

import { type Clock, systemClock } from "./clock.ts";
import type {
  AppendOptions,
  AppendReason,
  AppendResult,
  Conversation,
  ConversationsOptions,
} from "./_conversation_types.ts";
import { ask, bound, checkOptions, partsOf, reporter } from "./_common.ts";
import {
  acceptMessages,
  emptyThread,
  encodeThread,
  fitThread,
  mergeThreads,
  messagesOf,
  nextAt,
  parseThread,
  type Thread,
  THREAD_BYTES_MAX,
} from "./_thread.ts";
import { buildKey } from "./kv/keys.ts";
import type { Kv } from "./kv/kv.ts";
import { classifyKvError, type KvErrorKind } from "./kv/errors.ts";
import { ttlSecondsFor } from "./kv/limits.ts";
import { type Message, type TrimLimits, trimTurns } from "./trim_turns.ts";
import type { WaitUntil } from "./wait_until.ts";

export type {
  AppendOptions,
  AppendReason,
  AppendResult,
  Conversation,
  ConversationsOptions,
} from "./_conversation_types.ts";
export { type Message, type TrimLimits, type TrimResult, trimTurns } from "./trim_turns.ts";

/** What the ledger calls the operations of conversations. */
const PURPOSE = "chat";
/** How long an isolate joins its own copy with KV's. */
const MEMORY_MS = 600_000;
/** How long after a read a write may go out although reads fail, and how long a tombstone stays. */
const BASE_MS = 120_000;
/** After this, a write that has not come back counts as lost with its invocation. */
const BUSY_MS = 30_000;
const WRITE_INTERVAL_MS = 1_000;

/** What an isolate remembers of a conversation. Plain data only: requests share no promise. */
interface Entry<M> {
  thread: Thread<M>;
  /** Grows with every change; what was last put. */
  version: number;
  stored: number;
  untilMs: number;
  putAtMs: number;
  busyUntilMs: number;
  /** Until when it stands for what KV has, so that a write loses nothing. */
  basedUntilMs: number;
}

/** How a read went. */
interface Found<M> {
  readonly thread: Thread<M>;
  readonly degraded: boolean;
  readonly damaged: boolean;
}

/** What came of trying to store an entry. */
type Saved = Pick<AppendResult, "written" | "reason" | "retryAfterMs" | "pending">;

/** Conversations in KV. One instance an isolate. */
export class Conversations<M extends Message = Message> {
  readonly #kv: Kv;
  readonly #options: ConversationsOptions<M>;
  readonly #limits: TrimLimits<M> & { readonly bytesMax: number };
  readonly #ttlMs: number;
  readonly #messageBytesMax: number;
  readonly #clock: Pick<Clock, "now"> & Partial<Clock>;
  readonly #report: (error: unknown) => void;
  readonly #memory = new Map<string, Entry<M>>();

  /**
   * Makes a store of conversations. Costs nothing.
   *
   * @param kv The namespace.
   * @param options See {@linkcode ConversationsOptions}.
   * @throws {RangeError} If a number among the options is out of bounds.
   */
  constructor(kv: Kv, options: ConversationsOptions<M> = {}) {
    const { ttlSeconds = 2_592_000, bytesMax = 131_072, threadsMax = 64, tokensMax } = options;
    const { turnsMax = 50, messagesMax = 200, messageBytesMax = bytesMax >> 2 } = options;
    checkOptions({
      ttlSeconds: [ttlSeconds, 0.001, 1e9],
      turnsMax: [turnsMax, 1],
      messagesMax: [messagesMax, 2],
      bytesMax: [bytesMax, 1_024, THREAD_BYTES_MAX],
      messageBytesMax: [messageBytesMax, 128],
      threadsMax: [threadsMax, 1],
      tokensMax: [tokensMax ?? 64, 64],
    });
    this.#kv = kv;
    this.#options = options;
    this.#limits = { ...options, turnsMax, messagesMax, bytesMax };
    this.#ttlMs = ttlSeconds * 1_000;
    this.#messageBytesMax = messageBytesMax;
    this.#clock = options.clock ?? systemClock;
    this.#report = reporter(options.onError);
  }

  /**
   * Loads a conversation. One read; never rejects for trouble with the store.
   *
   * @param thread Its name: a text, or several that are kept apart, such as a chat's and a user's id.
   * @param options `last`: at most so many messages, in whole turns.
   * @returns The conversation; without messages where there is none.
   * @throws {TypeError} If the name is empty.
   * @throws {RangeError} If `last` is less than 1.
   */
  async load(
    thread: string | readonly string[],
    options: { readonly last?: number } = {},
  ): Promise<Conversation<M>> {
    const { last } = options;
    const key = await this.#key(thread);
    const found = await this.#read(key);
    const { summary, expiresMs, ...rest } = this.#merged(key, found.thread);
    const limits = { ...this.#limits, ...(last === undefined ? {} : { messagesMax: last }) };
    return {
      messages: structuredClone(trimTurns(messagesOf({ expiresMs, ...rest }), limits).kept),
      ...(summary === undefined ? {} : { summary }),
      expiresAtMs: rest.batches.length > 0 ? expiresMs : 0,
      degraded: found.degraded,
      damaged: found.damaged,
    };
  }

  /**
   * Appends messages, best a whole turn at once. One read, at most one write; never rejects for
   * trouble with the store.
   *
   * @param thread The conversation's name, as in `load`.
   * @param messages What was said, oldest first. Known ids are left out.
   * @param options See {@linkcode AppendOptions}.
   * @returns What became of it.
   * @throws {TypeError} If the name is empty, or a message is none: each needs `id`, `role`, `content`.
   * @throws {RangeError} If a message is over 1 MiB as JSON, or its id or role over 128 bytes.
   */
  async append(
    thread: string | readonly string[],
    messages: readonly M[],
    options: AppendOptions = {},
  ): Promise<AppendResult<M>> {
    const given = acceptMessages(messages, this.#messageBytesMax, this.#options.serialize);
    const key = await this.#key(thread);
    const found = await this.#read(key);
    const now = this.#clock.now();
    const before = this.#merged(key, found.thread);
    const entry = this.#entry(key, before, now, found);
    const known = new Set([...before.gone, ...messagesOf(before).map(({ id }) => id)]);
    const fresh = given.filter(({ id }) => !known.has(id) && known.add(id));
    let dropped: M[] = [];
    let added = 0;
    if (fresh.length > 0) {
      const batches = [...before.batches, { at: nextAt(before, now), messages: fresh }];
      const fitted = fitThread({ ...before, batches }, this.#limits);
      dropped = fitted.dropped;
      const lost = new Set(dropped.map(({ id }) => id));
      added = fresh.filter(({ id }) => !lost.has(id)).length;
      if (added > 0) {
        this.#change(entry, fitted.thread, now);
        await this.#summarize(entry, dropped.filter((message) => !fresh.includes(message)));
      }
    }
    // What two isolates have is more than either may keep.
    if (added === 0 && entry.version > entry.stored) {
      entry.thread = fitThread(entry.thread, this.#limits).thread;
    }
    const idle = added > 0 ? "coalesced" : fresh.length > 0 ? "orphan" : "known";
    return {
      ...await this.#save(key, entry, found, idle, options.ctx),
      added,
      dropped,
      messages: structuredClone(messagesOf(entry.thread)),
    };
  }

  /**
   * Extends a conversation's life, once half of it is gone. One read, at most one write.
   *
   * @param thread The conversation's name, as in `load`.
   * @returns Whether it was extended.
   * @throws {TypeError} If the name is empty.
   */
  async touch(thread: string | readonly string[]): Promise<boolean> {
    const key = await this.#key(thread);
    const found = await this.#read(key);
    const now = this.#clock.now();
    const merged = this.#merged(key, found.thread);
    if (merged.batches.length === 0 || merged.expiresMs - now > this.#ttlMs / 2) return false;
    const entry = this.#entry(key, merged, now, found);
    this.#change(entry, fitThread(merged, this.#limits).thread, now);
    return (await this.#save(key, entry, found, "known")).written;
  }

  /**
   * Forgets a conversation: leaves a tombstone, so that a location that still sees the old messages
   * does not bring them back. One write, which is not asked for but noted.
   *
   * @param thread The conversation's name, as in `load`.
   * @returns Whether the tombstone is stored; if not, it goes out with the next append.
   * @throws {TypeError} If the name is empty.
   */
  async clear(thread: string | readonly string[]): Promise<boolean> {
    const key = await this.#key(thread);
    const now = this.#clock.now();
    const old = this.#merged(key, emptyThread());
    const entry = this.#entry(key, old, now, { degraded: false, damaged: false });
    const gone = [...old.gone, ...messagesOf(old).map(({ id }) => id)].slice(-32);
    const cleared = { ...emptyThread<M>(), clearedAt: nextAt(old, now), gone };
    this.#change(entry, cleared, now);
    this.#options.budget?.note(PURPOSE, "write");
    return await this.#put(key, entry) === undefined;
  }

  #key(thread: string | readonly string[]): Promise<string> {
    const parts = partsOf("Thread", thread);
    return buildKey([this.#options.prefix ?? PURPOSE, ...parts]);
  }

  async #read(key: string): Promise<Found<M>> {
    this.#options.budget?.note(PURPOSE, "read");
    try {
      const text = await this.#kv.get(key);
      const thread = text === null ? emptyThread<M>() : parseThread<M>(text);
      if (thread) return { thread, degraded: false, damaged: false };
      this.#report(new TypeError("Stored conversation cannot be read"));
      return { thread: emptyThread(), degraded: false, damaged: true };
    } catch (error) {
      this.#report(error);
      return { thread: emptyThread(), degraded: true, damaged: false };
    }
  }

  /** What KV says joined with what is remembered, each as far as it is not over. */
  #merged(key: string, stored: Thread<M>): Thread<M> {
    const now = this.#clock.now();
    const entry = this.#memory.get(key);
    const live = (thread: Thread<M> | undefined): Thread<M> =>
      thread && thread.expiresMs > now ? thread : emptyThread();
    const trusted = entry && (entry.untilMs > now || entry.version > entry.stored);
    return mergeThreads(live(trusted ? entry.thread : undefined), live(stored));
  }

  #entry(
    key: string,
    thread: Thread<M>,
    now: number,
    { degraded, damaged }: Omit<Found<M>, "thread">,
  ): Entry<M> {
    let entry = this.#memory.get(key);
    if (!entry) {
      const never = { untilMs: 0, putAtMs: -Infinity, busyUntilMs: 0, basedUntilMs: 0 };
      entry = { thread, version: 0, stored: 0, ...never };
      this.#memory.set(key, entry);
      bound(this.#memory, this.#options.threadsMax ?? 64);
    }
    entry.thread = thread;
    entry.untilMs = now + MEMORY_MS;
    if (!degraded && !damaged) entry.basedUntilMs = now + BASE_MS;
    return entry;
  }

  #change(entry: Entry<M>, thread: Thread<M>, now: number): void {
    entry.thread = { ...thread, expiresMs: Math.ceil(now + this.#ttlMs) };
    entry.version++;
  }

  async #summarize(entry: Entry<M>, dropped: readonly M[]): Promise<void> {
    const { summarize } = this.#options;
    if (!summarize || dropped.length === 0) return;
    try {
      const summary = await summarize(dropped, entry.thread.summary);
      entry.thread = fitThread({ ...entry.thread, summary }, this.#limits).thread;
    } catch (error) {
      this.#report(error);
    }
  }

  /** Stores what is not stored yet; `idle` says why there may be nothing to store. */
  async #save(
    key: string,
    entry: Entry<M>,
    found: Found<M>,
    idle: AppendReason,
    ctx?: WaitUntil,
  ): Promise<Saved> {
    const now = this.#clock.now();
    const not = (
      reason: AppendReason,
      retryAfterMs = 0,
      pending: Promise<void> = Promise.resolve(),
    ): Saved => ({ written: false, reason, retryAfterMs, pending });
    if (entry.version === entry.stored) return not(idle);
    if (found.damaged) return not("damaged");
    if (entry.basedUntilMs <= now) return not("store");
    if (entry.busyUntilMs > now) return not("coalesced");
    const wait = entry.putAtMs + WRITE_INTERVAL_MS - now;
    if (wait > 0 && ctx && this.#clock.sleep) {
      return not("coalesced", wait, this.#later(key, entry, wait, ctx));
    }
    const { granted, retryAfterMs } = ask(this.#options.budget, PURPOSE);
    if (!granted) return not("budget", retryAfterMs);
    const trouble = await this.#put(key, entry);
    if (!trouble) return { written: true, retryAfterMs: 0, pending: Promise.resolve() };
    const soon = ctx && this.#clock.sleep && /rate|transient/.test(trouble);
    const again = soon ? this.#later(key, entry, WRITE_INTERVAL_MS, ctx) : undefined;
    return not("store", WRITE_INTERVAL_MS, again);
  }

  /** Puts the newest state, and once more when an append came in meanwhile. Returns what failed. */
  async #put(key: string, entry: Entry<M>, again = 1): Promise<KvErrorKind | undefined> {
    const now = this.#clock.now();
    const { version, thread } = entry;
    entry.busyUntilMs = now + BUSY_MS;
    entry.putAtMs = now;
    const lifeMs = Math.max(thread.batches.length > 0 ? 0 : BASE_MS, thread.expiresMs - now);
    try {
      const expirationTtl = ttlSecondsFor(lifeMs);
      await this.#kv.put(key, encodeThread(thread), { expirationTtl });
      entry.stored = Math.max(entry.stored, version);
    } catch (error) {
      this.#report(error);
      return classifyKvError(error);
    } finally {
      entry.busyUntilMs = 0;
    }
    if (entry.version > entry.stored && again > 0 && ask(this.#options.budget, PURPOSE).granted) {
      await this.#put(key, entry, again - 1);
    }
    return undefined;
  }

  #later(key: string, entry: Entry<M>, waitMs: number, ctx: WaitUntil): Promise<void> {
    entry.busyUntilMs = this.#clock.now() + waitMs;
    const work = (async () => {
      await this.#clock.sleep?.(waitMs);
      if (entry.version > entry.stored && ask(this.#options.budget, PURPOSE).granted) {
        await this.#put(key, entry);
      }
    })().catch(this.#report);
    ctx.waitUntil(work);
    return work;
  }
}
