/**
 * Reads what a request carries, and nothing more than it may.
 *
 * @module
 */

import { parseJson } from "../../views/tally.ts";
import { writerName } from "../../writer_name.ts";
import { errorResponse, type RouteContext } from "../route.ts";

/** Bytes of a body at most. */
const BODY_BYTES_MAX = 16_384;

/**
 * Reads a body: a JSON object or a form's fields.
 *
 * @param request The request.
 * @returns The fields, or the answer to give: 413 when there is too much, 400 when it is neither.
 */
export async function readBody(request: Request): Promise<Record<string, unknown> | Response> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > BODY_BYTES_MAX) {
      return errorResponse(413, "tooLarge", `Body must be at most ${BODY_BYTES_MAX} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  if (isForm(request)) return Object.fromEntries(new URLSearchParams(text));
  const value = parseJson(text);
  return value instanceof Object && !Array.isArray(value)
    ? value as Record<string, unknown>
    : errorResponse(400, "badJson", "Body must be a JSON object");
}

/**
 * Whether a request carries a form.
 *
 * @param request The request.
 * @returns Whether its media type is that of a plain form.
 */
export function isForm(request: Request): boolean {
  return /^application\/x-www-form-urlencoded/i.test(request.headers.get("content-type") ?? "");
}

/**
 * Checks a field's text.
 *
 * @param value The field.
 * @param lengthMax Its characters at most.
 * @returns Whether it is a text that is neither blank nor too long.
 */
export function isText(value: unknown, lengthMax: number): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= lengthMax;
}

/**
 * Refuses a field that is no text, or blank, or too long.
 *
 * @param name The field's name with a capital letter.
 * @param value The field.
 * @param lengthMax Its characters at most.
 * @returns The answer to give, or `undefined` where the text can be used.
 */
export function refuseText(name: string, value: unknown, lengthMax: number): Response | undefined {
  if (isText(value, lengthMax)) return undefined;
  return errorResponse(400, `bad${name}`, `${name} must be a text of 1 to ${lengthMax} characters`);
}

/**
 * Names what came without a name. Names of one isolate differ whatever its source of chance.
 *
 * @param context The request.
 * @returns Seven characters or more.
 */
export function newId({ random, clock, once }: RouteContext): string {
  const names = once("names", () => ({ made: 0 }));
  return `${writerName(random, clock.now())}${(names.made++).toString(36)}`;
}

/**
 * Turns what a module refuses into an answer.
 *
 * @param code The error's code.
 * @param work What may be refused.
 * @returns The answer of `work`, or 400 when it threw a `TypeError`, a `RangeError` or an
 * `InvalidCursorError`.
 */
export async function orBadRequest(
  code: string,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    const { name, message } = error as Error;
    if (!/^(Type|Range|InvalidCursor)Error$/.test(name)) throw error;
    return errorResponse(400, name === "InvalidCursorError" ? "badCursor" : code, message);
  }
}
