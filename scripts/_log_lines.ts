/**
 * Reads one line of an access log: the combined format, and Cloudflare's JSON lines.
 *
 * @module
 */
import type { HeadersLike, RequestLike, ResponseLike } from "../lib/views/classify.ts";

/** One request of a log. */
export interface LogEntry {
  /** When, in milliseconds since the Unix epoch. */
  readonly ms: number;
  /** The request, as far as it was logged. */
  readonly request: RequestLike;
  /** The response, as far as it was logged. */
  readonly response: ResponseLike;
}

/** `host ident user [time] "method target protocol" status bytes "referrer" "agent"`. */
const COMBINED =
  /^\S+ \S+ .*?\[(\d\d)\/(\w{3})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] "((?:[^"\\]|\\.)*)" (\d{3}) \S+(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")?/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** Extensions of what is no HTML, for logs that do not say. */
const NO_PAGE = /\.(?:atom|csv|json|md|rss|txt|vtt|xml|ya?ml)$/i;

/**
 * Reads one line. A log in the combined format does not tell types: what has no extension of data is
 * taken for a page.
 *
 * @param line The line.
 * @param host The site's host, for logs that do not tell it.
 * @returns The request, or `undefined` where the line is none.
 */
export function parseLogLine(line: string, host: string): LogEntry | undefined {
  return line.startsWith("{") ? parseJsonLine(line, host) : parseCombinedLine(line, host);
}

function parseCombinedLine(line: string, host: string): LogEntry | undefined {
  const found = COMBINED.exec(line);
  if (found === null) return undefined;
  const [, day, month = "", year, hour, minute, second, sign, zoneHours, zoneMinutes] = found;
  const [, , , , , , , , , , asked = "", status = "", referrer = "-", agent = "-"] = found;
  const local = Date.UTC(
    Number(year),
    MONTHS.indexOf(month),
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? -60_000 : 60_000);
  const [method = "", target = "/"] = unescape(asked).split(" ");
  const url = /^https?:\/\//i.test(target) ? target : `https://${host}${target}`;
  return {
    ms: local - offset,
    request: { method, url, headers: headersOf({ referer: referrer, "user-agent": agent }) },
    response: { status: Number(status), headers: headersOf({ "content-type": guess(target) }) },
  };
}

/** Undoes the escapes of Apache (`\"`) and nginx (`\x22`). */
function unescape(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:x([\da-f]{2})|(.))/gi,
    (_, hex?: string, plain = "") =>
      hex === undefined ? plain : String.fromCharCode(parseInt(hex, 16)),
  );
}

/** The type that is taken for a page's, or for what is none. */
function guess(target: string): string {
  const path = target.split(/[?#]/, 1)[0] ?? "";
  return NO_PAGE.test(path) ? "application/octet-stream" : "text/html";
}

/** Headers of which empty ones and `-` are not there. */
function headersOf(given: Readonly<Record<string, unknown>>): HeadersLike {
  const get = (name: string): string | null => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    return typeof value !== "string" || value === "" || value === "-" ? null : unescape(value);
  };
  return { get, has: (name) => get(name) !== null };
}

// deno-lint-ignore no-explicit-any -- foreign data; every field is checked where it is used
type Json = any;

/** Logpush's `http_requests`, or what `wrangler tail --format json` and Workers Logs give. */
function parseJsonLine(line: string, host: string): LogEntry | undefined {
  let value: Json;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return value?.event?.request ? fromTail(value) : fromLogpush(value, host);
}

function fromTail({ event, eventTimestamp }: Json): LogEntry | undefined {
  const { method, url, headers } = event.request;
  const status = event.response?.status;
  if (typeof method !== "string" || typeof url !== "string" || !Number.isInteger(status)) {
    return undefined;
  }
  if (!URL.canParse(url)) return undefined;
  const type = event.response.headers?.["content-type"] ?? guess(new URL(url).pathname);
  return entryOf(eventTimestamp, method, url, Object(headers), status, type);
}

function fromLogpush(value: Json, host: string): LogEntry | undefined {
  const { ClientRequestMethod: method, ClientRequestURI: target, EdgeResponseStatus: status } =
    value;
  if (typeof method !== "string" || typeof target !== "string" || !Number.isInteger(status)) {
    return undefined;
  }
  const scheme = value.ClientRequestScheme ?? "https";
  const url = `${scheme}://${value.ClientRequestHost ?? host}${target}`;
  const type = value.EdgeResponseContentType || guess(target);
  const given = Object.fromEntries(
    Object.entries(Object(value.RequestHeaders)).map(([name, text]) => [name.toLowerCase(), text]),
  );
  const headers = {
    ...given,
    "referer": value.ClientRequestReferer,
    "user-agent": value.ClientRequestUserAgent,
  };
  return entryOf(value.EdgeStartTimestamp, method, url, headers, status, type);
}

function entryOf(
  time: unknown,
  method: string,
  url: string,
  headers: Record<string, unknown>,
  status: number,
  type: string,
): LogEntry | undefined {
  const ms = timeOf(time);
  if (ms === undefined) return undefined;
  return {
    ms,
    request: { method, url, headers: headersOf(headers) },
    response: { status, headers: headersOf({ "content-type": type }) },
  };
}

/** RFC 3339, or seconds, milliseconds or nanoseconds since the Unix epoch. */
function timeOf(time: unknown): number | undefined {
  if (typeof time === "string") {
    const ms = Date.parse(time);
    return Number.isNaN(ms) ? undefined : ms;
  }
  if (typeof time !== "number" || !(time > 0)) return undefined;
  return time < 1e11 ? time * 1e3 : time < 1e14 ? time : time / 1e6;
}
