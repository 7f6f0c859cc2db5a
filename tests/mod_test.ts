import { assertEquals } from "@std/assert";
import * as mod from "@scrimp/kv";
import * as claims from "@scrimp/kv/claims";
import * as classify from "@scrimp/kv/classify";
import * as explain from "@scrimp/kv/explain";
import * as warning from "@scrimp/kv/warning";
import * as errors from "@scrimp/kv/errors";
import * as hashId from "@scrimp/kv/hash-id";
import * as ipKey from "@scrimp/kv/ip-key";
import * as keys from "@scrimp/kv/keys";
import * as kv from "@scrimp/kv/kv";
import * as limits from "@scrimp/kv/limits";
import * as kvWorld from "@scrimp/kv/kv-world";
import * as sim from "@scrimp/kv/sim";
import * as denoKv from "@scrimp/kv/deno-kv";
import * as kvServer from "@scrimp/kv/kv-server";
import * as memoryKv from "@scrimp/kv/memory-kv";
import * as conversations from "@scrimp/kv/conversations";
import * as pageViews from "@scrimp/kv/page-views";
import * as rateLimiter from "@scrimp/kv/rate-limiter";
import * as rateLimiterObject from "@scrimp/kv/rate-limiter-object";
import * as hono from "@scrimp/kv/hono";
import * as pages from "@scrimp/kv/pages";
import * as traffic from "@scrimp/kv/traffic";
import * as withPageViews from "@scrimp/kv/with-page-views";
import * as worker from "@scrimp/kv/worker";
import * as writeBudget from "@scrimp/kv/write-budget";
import * as keywordLog from "@scrimp/kv/keyword-log";
import * as feed from "@scrimp/kv/feed";

/** What each sub-path exports at run time. A name that goes is a breaking change. */
const SURFACE: readonly (readonly [path: string, module: object, names: readonly string[]])[] = [
  [".", mod, [
    "BULK_KEYS_MAX",
    "CACHE_TTL_SECONDS_DEFAULT",
    "CACHE_TTL_SECONDS_MIN",
    "Calendar",
    "Claims",
    "Conversations",
    "DAY_MS",
    "DEFAULT_SHARES",
    "DELETES_PER_DAY",
    "DenoKv",
    "EXPIRATION_TTL_SECONDS_MIN",
    "EdgeCacheFake",
    "Feed",
    "HARMLESS_WORLD",
    "INVOCATION_OPERATIONS_MAX",
    "INVOCATION_SUBREQUESTS_MAX",
    "InvalidCursorError",
    "Isolate",
    "IsolatePool",
    "KEY_BYTES_MAX",
    "KEY_SEPARATOR",
    "KeywordLog",
    "KvBinding",
    "KvFailure",
    "KvLimitError",
    "KvQuotaError",
    "KvUnavailableError",
    "KvWorld",
    "LISTS_PER_DAY",
    "LIST_KEYS_MAX",
    "METADATA_BYTES_MAX",
    "MemoryKv",
    "OPTION_MAX",
    "PageViews",
    "READS_PER_DAY",
    "RateLimiter",
    "RateLimiterObject",
    "SAME_KEY_WRITE_INTERVAL_MS",
    "Simulation",
    "StrictRateLimiter",
    "Trace",
    "VALUE_BYTES_MAX",
    "WRITES_PER_DAY",
    "WriteBudget",
    "applyTemplates",
    "buildKey",
    "buildPrefix",
    "checkExpiration",
    "classifyKvError",
    "createClassifier",
    "createPathKey",
    "createPathTemplates",
    "createReferrerKey",
    "createWorker",
    "debugHeader",
    "decodeFeedCursor",
    "encodeFeedCursor",
    "escapePart",
    "explain",
    "hashId",
    "hashKey",
    "honoPageViews",
    "invertedTime",
    "ipKey",
    "isAssetPath",
    "joinKey",
    "joinPrefix",
    "limitRequest",
    "msUntilReset",
    "normalizeQuery",
    "pagesPageViews",
    "putPlainSearch",
    "rateLimitHeaders",
    "readPlainSearches",
    "redactQuery",
    "reportDay",
    "reportDays",
    "rollUpDays",
    "seededRandom",
    "serveKv",
    "splitKey",
    "systemClock",
    "systemRandom",
    "timeOfInverted",
    "toKvError",
    "trafficWarning",
    "trimTurns",
    "ttlSecondsFor",
    "unescapePart",
    "utf8Length",
    "withPageViews",
  ]],
  ["./claims", claims, ["Claims"]],
  ["./hash-id", hashId, ["hashId", "hashKey"]],
  ["./ip-key", ipKey, ["ipKey"]],
  ["./rate-limiter", rateLimiter, ["RateLimiter", "limitRequest", "rateLimitHeaders"]],
  ["./rate-limiter-object", rateLimiterObject, ["RateLimiterObject", "StrictRateLimiter"]],
  ["./classify", classify, [
    "applyTemplates",
    "createClassifier",
    "createPathKey",
    "createPathTemplates",
    "createReferrerKey",
    "debugHeader",
    "isAssetPath",
  ]],
  ["./explain", explain, ["explain"]],
  ["./warning", warning, ["trafficWarning"]],
  ["./errors", errors, [
    "KvLimitError",
    "KvQuotaError",
    "KvUnavailableError",
    "classifyKvError",
    "toKvError",
  ]],
  ["./keys", keys, [
    "KEY_SEPARATOR",
    "buildKey",
    "buildPrefix",
    "escapePart",
    "invertedTime",
    "joinKey",
    "joinPrefix",
    "splitKey",
    "timeOfInverted",
    "unescapePart",
    "utf8Length",
  ]],
  ["./limits", limits, [
    "BULK_KEYS_MAX",
    "CACHE_TTL_SECONDS_DEFAULT",
    "CACHE_TTL_SECONDS_MIN",
    "DAY_MS",
    "DELETES_PER_DAY",
    "EXPIRATION_TTL_SECONDS_MIN",
    "INVOCATION_OPERATIONS_MAX",
    "INVOCATION_SUBREQUESTS_MAX",
    "KEY_BYTES_MAX",
    "LISTS_PER_DAY",
    "LIST_KEYS_MAX",
    "METADATA_BYTES_MAX",
    "OPTION_MAX",
    "READS_PER_DAY",
    "SAME_KEY_WRITE_INTERVAL_MS",
    "VALUE_BYTES_MAX",
    "WRITES_PER_DAY",
    "checkExpiration",
    "msUntilReset",
    "ttlSecondsFor",
  ]],
  ["./memory-kv", memoryKv, ["KvBinding", "KvFailure", "MemoryKv"]],
  ["./conversations", conversations, ["Conversations", "trimTurns"]],
  ["./kv-world", kvWorld, ["HARMLESS_WORLD", "KvBinding", "KvFailure", "KvWorld"]],
  ["./sim", sim, [
    "EdgeCacheFake",
    "Isolate",
    "IsolatePool",
    "Simulation",
    "Trace",
    "seededRandom",
  ]],
  ["./keyword-log", keywordLog, [
    "KeywordLog",
    "normalizeQuery",
    "putPlainSearch",
    "readPlainSearches",
    "redactQuery",
  ]],
  ["./feed", feed, ["Feed", "InvalidCursorError", "decodeFeedCursor", "encodeFeedCursor"]],
  ["./deno-kv", denoKv, ["DenoKv", "KvBinding", "KvFailure"]],
  ["./kv-server", kvServer, ["KvFailure", "serveKv"]],
  ["./kv", kv, []],
  ["./page-views", pageViews, ["PageViews"]],
  ["./hono", hono, ["honoPageViews"]],
  ["./pages", pages, ["pagesPageViews"]],
  ["./traffic", traffic, ["Calendar", "reportDay", "reportDays", "rollUpDays"]],
  ["./with-page-views", withPageViews, ["withPageViews"]],
  ["./worker", worker, ["createWorker"]],
  ["./write-budget", writeBudget, ["DEFAULT_SHARES", "WriteBudget"]],
];

for (const [path, module, names] of SURFACE) {
  Deno.test(`${path} exports these ${names.length} names`, () => {
    assertEquals(Object.keys(module).sort(), [...names].sort());
  });
}

Deno.test(". exports what the sub-paths export, and nothing else but the clock", () => {
  const names = new Set(["systemClock", "systemRandom", ...SURFACE.flatMap(([, , all]) => all)]);
  assertEquals(Object.keys(mod).sort(), [...names].sort());
});
