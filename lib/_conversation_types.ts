/** What {@linkcode Conversations} takes and gives. */

import type { Budget } from "./budget.ts";
import type { Clock } from "./clock.ts";
import type { Message, TrimLimits } from "./trim_turns.ts";
import type { WaitUntil } from "./wait_until.ts";

/** Options of {@linkcode Conversations}. */
export interface ConversationsOptions<M extends Message = Message> extends TrimLimits<M> {
  /**
   * How long a conversation lives after its last append, in seconds. More than 0; KV keeps it for at
   * least 60, but what is over is not loaded.
   *
   * @default {2_592_000}
   */
  readonly ttlSeconds?: number;
  /**
   * Turns that are kept.
   *
   * @default {50}
   */
  readonly turnsMax?: number;
  /**
   * Messages that are kept. At least 2.
   *
   * @default {200}
   */
  readonly messagesMax?: number;
  /**
   * Bytes of the stored value, its envelope included. From 1,024 to 1,048,576.
   *
   * @default {131_072}
   */
  readonly bytesMax?: number;
  /**
   * Bytes of one message as JSON; a longer one is cut and flagged. At least 128.
   *
   * @default a quarter of `bytesMax`
   */
  readonly messageBytesMax?: number;
  /**
   * Changes a message before it is measured and stored, for example to take pictures out.
   * `undefined` leaves it out.
   */
  readonly serialize?: (message: M) => M | undefined;
  /** Makes a summary of what is dropped, and of the summary before. Stored beside the messages. */
  readonly summarize?: (
    dropped: readonly M[],
    before: string | undefined,
  ) => string | Promise<string>;
  /** The ledger; writes are asked for as `chat`. */
  readonly budget?: Budget;
  /**
   * First part of every key.
   *
   * @default {"chat"}
   */
  readonly prefix?: string;
  /**
   * Conversations that an isolate remembers.
   *
   * @default {64}
   */
  readonly threadsMax?: number;
  /**
   * Time. `sleep` is only used within `waitUntil`.
   *
   * @default {systemClock}
   */
  readonly clock?: Pick<Clock, "now"> & Partial<Clock>;
  /** Told what went wrong with the store or with a stored value. */
  readonly onError?: (error: unknown) => void;
}

/** A conversation as loaded. */
export interface Conversation<M extends Message = Message> {
  /** The messages, oldest first; begins with a `user` message, after pinned ones. */
  readonly messages: M[];
  /** What `summarize` made of dropped messages. */
  readonly summary?: string;
  /** When the conversation ends, in milliseconds since the Unix epoch; 0 where there is none. */
  readonly expiresAtMs: number;
  /** Whether KV failed, so that this is only what the isolate remembers. */
  readonly degraded: boolean;
  /** Whether the stored value could not be read. It is left as it is until `clear`. */
  readonly damaged: boolean;
}

/**
 * Why an append made no write of its own.
 *
 * - `known`: all messages were stored before
 * - `orphan`: no turn to belong to; a conversation begins with a `user` message
 * - `coalesced`: within a second of another write of this isolate; goes out with it or in `pending`
 * - `budget`: no write was granted; kept in memory
 * - `store`: KV failed; kept in memory
 * - `damaged`: the stored value could not be read and was left alone; kept in memory
 */
export type AppendReason = "known" | "orphan" | "coalesced" | "budget" | "store" | "damaged";

/** What an append did. */
export interface AppendResult<M extends Message = Message> {
  /** Messages that were new. */
  readonly added: number;
  /** Messages that had to go, oldest first. */
  readonly dropped: M[];
  /** The conversation after it, oldest first. */
  readonly messages: M[];
  /** Whether this call stored the conversation. */
  readonly written: boolean;
  /** Why not, when it did not. */
  readonly reason?: AppendReason;
  /** Milliseconds after which a refused write may be granted; else 0. */
  readonly retryAfterMs: number;
  /** Settles when a write put off to `waitUntil` is done. Never rejects. */
  readonly pending: Promise<void>;
}

/** Options of {@linkcode Conversations.append}. */
export interface AppendOptions {
  /** Lets a write that comes too soon after another be made a second later. */
  readonly ctx?: WaitUntil;
}
