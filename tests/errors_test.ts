import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import {
  classifyKvError,
  type KvErrorKind,
  KvLimitError,
  KvQuotaError,
  KvUnavailableError,
  toKvError,
} from "../lib/kv/errors.ts";

const KINDS: [KvErrorKind, unknown][] = [
  ["rate", new Error("KV PUT failed: 429 Too Many Requests")],
  ["rate", "KV GET failed: 429 Too Many Requests"],
  [
    "limit",
    new Error("KV GET failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512."),
  ],
  ["limit", new Error("KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400.")],
  ["limit", new Error("KV GET_BULK failed: 400 You can request a maximum of 100 keys")],
  ["limit", new TypeError("Key name cannot be empty.")],
  ["limit", new TypeError('".." is not allowed as a key name.')],
  [
    "limit",
    new TypeError(
      "KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.",
    ),
  ],
  [
    "limit",
    new TypeError("Value out of range. Must be between -2147483648 and 2147483647 (inclusive)."),
  ],
  ["limit", new KvLimitError("x")],
  ["quota", new Error("KV get() limit exceeded for the day.")],
  ["quota", new Error("KV put() limit exceeded for the day.")],
  ["quota", new Error("KV list() limit exceeded for the day.")],
  ["quota", new Error("KV delete() limit exceeded for the day.")],
  ["quota", new KvQuotaError("x", { operation: "read", retryAfterMs: 1 })],
  [
    "invocation",
    new Error(
      "Too many API requests by single Worker invocation. To configure this limit, refer to …",
    ),
  ],
  ["invocation", new Error("Too many subrequests by single worker invocation.")],
  ["transient", new Error("KV GET failed: 500 Internal Server Error")],
  ["transient", new Error("KV GET failed: 503 Service Temporarily Unavailable")],
  ["transient", new Error("KV GET failed: 401 Unauthorized")],
  ["transient", new Error("KV PUT failed: 503")],
  ["transient", new Error("Network connection lost.")],
  ["transient", new Error("internal error; reference = abc")],
  ["transient", new KvUnavailableError("x")],
  ["unknown", new Error("a KV PUT failed: 429")],
  ["unknown", new SyntaxError("Unexpected end of JSON input")],
  ["unknown", undefined],
  ["unknown", null],
  ["unknown", 429],
  ["unknown", { message: "KV PUT failed: 429 Too Many Requests" }],
];

Deno.test("classifyKvError() tells the kinds apart", () => {
  for (const [kind, error] of KINDS) assertEquals(classifyKvError(error), kind, String(error));
});

Deno.test("toKvError() gives named classes that keep the cause", () => {
  const noon = Date.UTC(2026, 0, 1, 12);
  const convert = (message: string) => toKvError(new Error(message), "write", noon);
  const limit = convert("KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024.");
  assert(limit instanceof KvLimitError);
  assertEquals([limit.limit, limit.actual], [1024, 1025]);
  const key = convert(
    "KV PUT failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512.",
  );
  assert(key instanceof KvLimitError);
  assertEquals([key.limit, key.actual], [512, 513]);
  const rate = convert("KV PUT failed: 429 Too Many Requests");
  assert(rate instanceof KvQuotaError);
  assertEquals([rate.operation, rate.retryAfterMs], ["write", 1000]);
  const quota = convert("KV put() limit exceeded for the day.");
  assert(quota instanceof KvQuotaError);
  assertEquals(quota.retryAfterMs, 12 * 3_600_000);
  const lost = convert("Network connection lost.");
  assert(lost instanceof KvUnavailableError && lost.cause instanceof Error);
  const foreign = new RangeError("x");
  assertStrictEquals(toKvError(foreign, "read", noon), foreign);
  assertStrictEquals(toKvError(quota, "read", noon), quota);
  assertEquals(toKvError("oops", "read", noon).cause, "oops");
});
