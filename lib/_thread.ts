/** A conversation as it is stored: pure functions that read, merge, cut and write it. */

import { asArray, asRecord, isCount, parseRecord } from "./_common.ts";
import { utf8Length } from "./kv/keys.ts";
import {
  clipBytes,
  jsonBytes,
  type Message,
  type TrimLimits,
  trimTurns,
  truncateMessage,
} from "./trim_turns.ts";

/** Ids of dropped messages that are remembered, so that a late repeat is still known. */
const GONE_MAX = 64;

/** The most bytes of a conversation, and of one message as it is given. */
export const THREAD_BYTES_MAX = 1_048_576;

/** What one append brought. */
export interface Batch<M> {
  /** When, in milliseconds; grows within a conversation. */
  readonly at: number;
  readonly messages: readonly M[];
}

/** A conversation. */
export interface Thread<M> {
  /** When it is over, in milliseconds. */
  expiresMs: number;
  /** What is not younger than this was cleared. */
  clearedAt: number;
  /** Ids of messages that were dropped, oldest first. */
  gone: readonly string[];
  batches: readonly Batch<M>[];
  summary?: string | undefined;
}

/** A conversation without a message. */
export function emptyThread<M>(): Thread<M> {
  return { expiresMs: 0, clearedAt: 0, gone: [], batches: [] };
}

/** All messages, oldest first. */
export function messagesOf<M>(thread: Thread<M>): M[] {
  return thread.batches.flatMap((batch) => batch.messages);
}

/** The time of the next append: after everything that is there, whatever the clock says. */
export function nextAt<M>(thread: Thread<M>, nowMs: number): number {
  return Math.max(nowMs, thread.clearedAt + 1, (thread.batches.at(-1)?.at ?? 0) + 1);
}

/** Joins two states of one conversation: the union by message id, less what was cleared or dropped. */
export function mergeThreads<M extends Message>(a: Thread<M>, b: Thread<M>): Thread<M> {
  const clearedAt = Math.max(a.clearedAt, b.clearedAt);
  const gone = [...new Set([...a.gone, ...b.gone])].slice(-GONE_MAX);
  const seen = new Set(gone);
  const batches = [...a.batches, ...b.batches]
    .filter(({ at }) => at > clearedAt)
    .sort((x, y) => x.at - y.at || compare(x.messages[0]?.id ?? "", y.messages[0]?.id ?? ""))
    .map(({ at, messages }) => ({
      at,
      messages: messages.filter(({ id }) => !seen.has(id) && seen.add(id)),
    }))
    .filter(({ messages }) => messages.length > 0);
  const expiresMs = Math.max(a.expiresMs, b.expiresMs);
  return { expiresMs, clearedAt, gone, batches, summary: a.summary ?? b.summary };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Cuts a conversation until it fits, its envelope included. */
export function fitThread<M extends Message>(
  thread: Thread<M>,
  limits: TrimLimits<M> & { readonly bytesMax: number },
): { thread: Thread<M>; dropped: M[] } {
  const { bytesMax } = limits;
  const messages = messagesOf(thread);
  const at = new Map(
    thread.batches.flatMap((batch) => batch.messages.map((m) => [m.id, batch.at])),
  );
  let room = bytesMax;
  for (;;) {
    const { kept, dropped } = trimTurns(messages, { ...limits, bytesMax: room });
    const batches: { at: number; messages: M[] }[] = [];
    for (const message of kept) {
      const time = at.get(message.id) ?? 0;
      const last = batches.at(-1);
      if (last?.at === time) last.messages.push(message);
      else batches.push({ at: time, messages: [message] });
    }
    const gone = [...thread.gone, ...dropped.map(({ id }) => id)].slice(-GONE_MAX);
    while (jsonBytes(gone) > bytesMax / 8) gone.shift();
    const summary = clipBytes(thread.summary ?? "", bytesMax / 16) || undefined;
    const fitted = { ...thread, batches, gone, summary };
    const over = utf8Length(encodeThread(fitted)) - bytesMax;
    if (over <= 0 || room < 2) return { thread: fitted, dropped };
    room = Math.max(1, Math.min(room, jsonBytes(kept)) - over);
  }
}

/** Writes a conversation. */
export function encodeThread<M>(thread: Thread<M>): string {
  const { expiresMs, clearedAt, gone, batches, summary } = thread;
  const turns = batches.map(({ at, messages }) => [at, messages]);
  return JSON.stringify({ v: 1, expiresMs, clearedAt, gone, turns, summary });
}

/** Reads what {@linkcode encodeThread} wrote; `undefined` for anything else. */
export function parseThread<M extends Message>(text: string): Thread<M> | undefined {
  const { v, expiresMs, clearedAt, gone, turns, summary } = parseRecord(text) ?? {};
  if (
    v !== 1 || !isCount(expiresMs) || !isCount(clearedAt) || !Array.isArray(turns) ||
    !Array.isArray(gone) || !gone.every((id) => typeof id === "string")
  ) return undefined;
  const batches: Batch<M>[] = [];
  for (const turn of turns) {
    const [at, messages] = asArray(turn);
    if (!isCount(at) || !Array.isArray(messages) || !messages.every(isMessage)) return undefined;
    batches.push({ at, messages: messages as M[] });
  }
  const told = typeof summary === "string" ? summary : undefined;
  return { expiresMs, clearedAt, gone, batches, summary: told };
}

function isMessage(value: unknown): boolean {
  const { id, role, content } = asRecord(value) ?? {};
  return typeof id === "string" && typeof role === "string" && content !== undefined;
}

/** Checks messages from outside and makes plain copies, each cut to its bytes. */
export function acceptMessages<M extends Message>(
  messages: readonly M[],
  bytesMax: number,
  serialize: ((message: M) => M | undefined) | undefined,
): M[] {
  if (!Array.isArray(messages)) throw new TypeError("Messages must be an array");
  return messages.flatMap((message: M) => {
    const made = serialize ? serialize(message) : message;
    if (made === undefined && serialize) return [];
    for (const field of ["id", "role"] as const) {
      const value: unknown = asRecord(made)?.[field];
      if (typeof value !== "string" || value === "") {
        throw new TypeError(`Message needs a text "${field}" that is not empty`);
      }
      if (jsonBytes(value) > 130) {
        throw new RangeError(`Message "${field}" must be at most 128 bytes of JSON`);
      }
    }
    const bytes = jsonBytes(made);
    if (bytes > THREAD_BYTES_MAX) {
      throw new RangeError(`Message must be at most ${THREAD_BYTES_MAX} bytes: got ${bytes}`);
    }
    const plain: M = JSON.parse(JSON.stringify(made));
    if (plain.content === undefined) throw new TypeError('Message needs a "content"');
    return [truncateMessage(plain, bytesMax)];
  });
}
