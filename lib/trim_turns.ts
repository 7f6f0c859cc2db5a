/**
 * Cuts a chat history to size without splitting a turn: pure, no store.
 *
 * A turn starts at a message of role `user` and runs to the next one. What is kept begins with such a
 * message, after any `system` messages that open the history; a tool's result never stays without
 * its call.
 *
 * @example Usage
 * ```ts
 * import { trimTurns } from "@scrimp/kv/conversations";
 * import { assertEquals } from "@std/assert";
 *
 * const { kept } = trimTurns([
 *   { id: "1", role: "user", content: "One?" },
 *   { id: "2", role: "assistant", content: "One." },
 *   { id: "3", role: "user", content: "Two?" },
 * ], { turnsMax: 1 });
 * assertEquals(kept.map((message) => message.id), ["3"]);
 * ```
 *
 * @module
 */

import { asArray } from "./_common.ts";
import { utf8Length } from "./kv/keys.ts";

/** One message of a conversation. Further fields, such as `tool_calls`, are kept as they are. */
export interface Message {
  /** Names the message; the same id again is the same message. */
  readonly id: string;
  /** Who speaks: `user` opens a turn, `system` before the first turn is pinned, `tool` answers a call. */
  readonly role: string;
  /** A text, or the parts that a provider's format has. */
  readonly content: unknown;
  /** Set where the text was cut to fit. */
  readonly truncated?: boolean;
}

/** How much of a history may stay. What is left out does not limit. */
export interface TrimLimits<M extends Message = Message> {
  /** Turns. At least 1. */
  readonly turnsMax?: number;
  /** Messages, pinned ones included. At least 2. */
  readonly messagesMax?: number;
  /** UTF-8 bytes of the messages as JSON. At least 256. */
  readonly bytesMax?: number;
  /** Tokens, as `countTokens` counts them. At least 1. */
  readonly tokensMax?: number;
  /**
   * Counts the tokens of one message.
   *
   * @default a quarter of its bytes as JSON, rounded up
   */
  readonly countTokens?: (message: M) => number;
}

/** What {@linkcode trimTurns} made of a history. */
export interface TrimResult<M extends Message = Message> {
  /** What stays, in order. A message that was cut carries `truncated: true`. */
  readonly kept: M[];
  /** What goes, in order. */
  readonly dropped: M[];
}

/** What messages weigh against the limits: their number, bytes and tokens. */
type Size = [messages: number, bytes: number, tokens: number];

const OMITTED = "[omitted]";

/**
 * Cuts a history to size: the oldest turns go first, and the last turn always stays.
 *
 * When the last turn alone is too large, its oldest steps go (a call together with its results), then
 * texts in it are cut and flagged `truncated`.
 *
 * @param messages The history, oldest first. It is not changed.
 * @param limits What may stay.
 * @returns What stays and what goes.
 */
export function trimTurns<M extends Message>(
  messages: readonly M[],
  limits: TrimLimits<M>,
): TrimResult<M> {
  const { turnsMax = Infinity, countTokens = estimateTokens } = limits;
  const max: Size = [
    limits.messagesMax ?? Infinity,
    limits.bytesMax ?? Infinity,
    limits.tokensMax ?? Infinity,
  ];
  for (const limit of [turnsMax, ...max]) {
    if (!(limit >= 1)) throw new RangeError(`Cannot trim to ${limit}: a limit is at least 1`);
  }
  const sizeOf = (list: readonly M[]): Size =>
    list.reduce<Size>(
      ([count, bytes, tokens], m) => [count + 1, bytes + jsonBytes(m) + 1, tokens + countTokens(m)],
      [0, 0, 0],
    );
  const fitter = (...used: Size) => (list: readonly M[], share = 1): boolean =>
    sizeOf(list).every((size, index) => size + (used[index] ?? 0) <= (max[index] ?? 0) * share);

  const { pinned, turns } = splitTurns(messages);
  const fits = fitter(0, 0, 0);
  const pins = newest(pinned, [...pinned.keys()], (list) => fits(list, 0.5));
  const head = shrink(pins, (list) => fits(list, 0.5));
  const beside = fitter(...sizeOf(head));
  const steps = lastSteps(turns.pop() ?? [], beside);
  const last = shrink(steps, beside);
  const kept = [last];
  const used = sizeOf([...head, ...last]);
  const stay = [...pins.slice(0, head.length), ...steps.slice(0, last.length)];
  for (let count = 1; count < turnsMax && last === steps; count++) {
    const turn = turns.pop();
    if (!turn || !fitter(...used)(turn)) break;
    sizeOf(turn).forEach((size, index) => used[index] = (used[index] ?? 0) + size);
    kept.unshift(turn);
    stay.push(...turn);
  }
  const staying = new Set(stay);
  return { kept: [...head, ...kept.flat()], dropped: messages.filter((m) => !staying.has(m)) };
}

/**
 * The UTF-8 bytes of a value as JSON.
 *
 * @param value The value.
 * @returns Bytes; 0 for what JSON leaves out.
 */
export function jsonBytes(value: unknown): number {
  return utf8Length(JSON.stringify(value) ?? "");
}

function estimateTokens(message: Message): number {
  return Math.ceil(jsonBytes(message) / 4);
}

/**
 * Cuts a text to a number of UTF-8 bytes, never inside a character.
 *
 * @param text The text.
 * @param bytes How many bytes may stay.
 * @returns The text, or its beginning.
 */
export function clipBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(
    text,
    new Uint8Array(Math.max(0, Math.floor(bytes))),
  );
  return text.slice(0, read);
}

/**
 * Cuts one message to a number of bytes and flags it.
 *
 * Texts are cut at their end; parts that are not text become a placeholder.
 *
 * @param message The message.
 * @param bytes How many bytes it may have as JSON.
 * @returns The message itself when it fits; otherwise a smaller one.
 */
export function truncateMessage<M extends Message>(message: M, bytes: number): M {
  if (jsonBytes(message) <= bytes) return message;
  const parts = Array.isArray(message.content) ? message.content as unknown[] : undefined;
  const cut = (share: number): M => {
    const content = typeof message.content === "string"
      ? clipBytes(message.content, share)
      : parts?.map((part) => cutPart(part, share / parts.length)) ?? OMITTED;
    return { ...message, content, truncated: true };
  };
  const room = bytes - jsonBytes(cut(0));
  let share = room;
  while (share > 0) {
    const shorter = cut(share);
    const over = jsonBytes(shorter) - bytes;
    if (over <= 0) return shorter;
    share = Math.min(share - over / 8, share * room / (room + over)) - 1;
  }
  if (room >= 0) return cut(0);
  const { id, role } = message;
  return { id, role, content: OMITTED, truncated: true } as unknown as M;
}

function cutPart(part: unknown, share: number): unknown {
  const record = part as Record<string, unknown> | null;
  if (typeof part === "string") return clipBytes(part, share);
  if (typeof record !== "object" || record === null) return part;
  if (resultParts([part]) + callParts([part]) > 0) {
    return "content" in record ? { ...record, content: OMITTED } : part;
  }
  return typeof record.text === "string"
    ? { ...record, text: clipBytes(record.text, share) }
    : { type: "text", text: OMITTED };
}

/** Pinned messages first, then whole turns; what precedes the first turn otherwise is left out. */
function splitTurns<M extends Message>(messages: readonly M[]): { pinned: M[]; turns: M[][] } {
  const pinned: M[] = [];
  const turns: M[][] = [];
  for (const message of messages) {
    const turn = turns.at(-1);
    if (message.role === "user" && results(message) === 0) turns.push([message]);
    else if (turn) turn.push(message);
    else if (message.role === "system" || message.role === "developer") pinned.push(message);
  }
  return { pinned, turns };
}

/** The opening message of a turn and as many of its newest steps as fit. */
function lastSteps<M extends Message>(turn: M[], fits: (list: M[]) => boolean): M[] {
  if (turn.length === 0 || fits(turn)) return turn;
  const first = turn.slice(0, 1);
  const starts: number[] = [];
  let open = 0;
  turn.forEach((message, index) => {
    const answers = results(message);
    if (index > 0 && open === 0 && answers === 0) starts.push(index);
    open = Math.max(0, open + callParts(message) - answers);
  });
  return [...first, ...newest(turn, starts, (list) => fits([...first, ...list]))];
}

/** The longest end of a list that fits and begins at one of `starts`; else the shortest one. */
function newest<M>(list: M[], starts: readonly number[], fits: (list: M[]) => boolean): M[] {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(list.slice(starts[middle]))) high = middle;
    else low = middle + 1;
  }
  return list.slice(starts[low] ?? list.length);
}

/** Cuts the largest messages until the list fits; leaves only the first where that is not enough. */
function shrink<M extends Message>(list: M[], fits: (list: M[]) => boolean): M[] {
  if (fits(list)) return list;
  const cut = (bytes: number): M[] => list.map((message) => truncateMessage(message, bytes));
  let low = 0;
  let high = Math.max(...list.map(jsonBytes));
  for (let round = 0; round < 8; round++) {
    const middle = (low + high) >> 1;
    if (fits(cut(middle))) low = middle;
    else high = middle;
  }
  const out = cut(low);
  return list.length > 1 && !fits(out) ? shrink(list.slice(0, 1), fits) : out;
}

/** How many tool results a message carries. */
function results(message: Message): number {
  const parts = resultParts(message.content);
  return message.role === "tool" || message.role === "function" ? Math.max(1, parts) : parts;
}

function resultParts(content: unknown): number {
  return countParts(content, /^(tool[_-]result|function_call_output)$/, "functionResponse");
}

/** How many tool calls a message makes. */
function callParts(message: unknown): number {
  if (Array.isArray(message)) {
    return countParts(message, /^(tool[_-](use|call)|function_call)$/, "functionCall");
  }
  const { tool_calls: calls, content } = message as Message & { readonly tool_calls?: unknown };
  return asArray(calls).length + callParts(asArray(content));
}

function countParts(content: unknown, type: RegExp, field: string): number {
  return asArray(content).filter((part) => {
    const record = Object(part);
    return Object.hasOwn(record, field) || type.test(String(record.type));
  }).length;
}
