/** Where a reader of a {@linkcode Feed} is: the list page in use, and the last key examined in it. */

import { isCount } from "./_common.ts";

/** A cursor that this feed has not given out, or that was changed on its way. */
export class InvalidCursorError extends Error {
  /** The error's name. */
  override readonly name = "InvalidCursorError";

  /** Makes an error that says so. */
  constructor(options: ErrorOptions = {}) {
    super("Cursor must be one that a page of the same feed has returned", options);
  }
}

/** A place in a feed. */
export interface FeedPosition {
  /** KV's cursor of the list page in use; empty for the first one. */
  readonly list: string;
  /** The last key examined, without the feed's prefix; empty at the start. */
  readonly after: string;
  /** When the list page was listed, in milliseconds: an older copy of it must not be used. */
  readonly listedMs: number;
}

const CURSOR_CHARS_MAX = 4_096;

/**
 * Writes a place as a cursor: URL-safe, bound to the feed, with a checksum.
 *
 * @param prefix The feed's key prefix.
 * @param position The place.
 * @returns The cursor.
 */
export function encodeFeedCursor(prefix: string, position: FeedPosition): string {
  const text = encodeURIComponent(
    JSON.stringify([position.list, position.after, position.listedMs]),
  );
  const body = btoa(text.replaceAll("~", "%7E")).replaceAll("=", "");
  return `${body}.${checksum(prefix, body)}`;
}

/**
 * Reads what {@linkcode encodeFeedCursor} wrote for the same feed.
 *
 * @param prefix The feed's key prefix.
 * @param cursor The cursor.
 * @returns The place.
 * @throws {InvalidCursorError} If it is anything else.
 */
export function decodeFeedCursor(prefix: string, cursor: string): FeedPosition {
  const [body = "", sum, rest] = typeof cursor === "string" && cursor.length <= CURSOR_CHARS_MAX
    ? cursor.split(".")
    : [];
  if (rest !== undefined || sum !== checksum(prefix, body)) throw new InvalidCursorError();
  try {
    const [list, after, listedMs] = JSON.parse(decodeURIComponent(atob(body)));
    if (typeof list === "string" && typeof after === "string" && isCount(listedMs)) {
      return { list, after, listedMs };
    }
  } catch (cause) {
    throw new InvalidCursorError({ cause });
  }
  throw new InvalidCursorError();
}

/** FNV-1a: tells a cursor of another feed, and one with a typing error. It is no signature. */
function checksum(prefix: string, body: string): string {
  let hash = 0x811c9dc5;
  for (const char of `${prefix}\n${body}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}
