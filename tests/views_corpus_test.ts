import { assertEquals } from "@std/assert";
import { type ClassifyOptions, createClassifier } from "../lib/views/classify.ts";
import { createPathKey, type PathOptions } from "../lib/views/paths.ts";
import { createReferrerKey, type ReferrerOptions } from "../lib/views/referrers.ts";
import type { DayCounts } from "../lib/views/types.ts";
import { trafficWarning } from "../lib/views/warning.ts";
import corpus from "./corpus/views.json" with { type: "json" };

interface RequestCase {
  name: string;
  method?: string;
  url: string;
  headers: Record<string, string>;
  status?: number;
  type?: string;
  options?: ClassifyOptions;
  counted?: Record<string, string>;
  skipped?: string;
}

interface KeyCase<Options> {
  input: string | null;
  key: string;
  url?: string;
  options?: Options;
}

interface WarningCase {
  name: string;
  day: DayCounts;
  warns: boolean;
}

const requests = corpus.requests as unknown as RequestCase[];
const paths = corpus.paths as unknown as KeyCase<PathOptions>[];
const referrers = corpus.referrers as unknown as KeyCase<ReferrerOptions>[];
const warnings = corpus.warnings as unknown as WarningCase[];

function classified(entry: RequestCase): Record<string, unknown> {
  const request = new Request(entry.url, { method: entry.method ?? "GET", headers: entry.headers });
  const headers = new Headers(entry.type === undefined ? {} : { "content-type": entry.type });
  const verdict = createClassifier(entry.options)(request, {
    status: entry.status ?? 200,
    headers,
  });
  if (!verdict.counted) return { skipped: verdict.reason };
  const wanted = Object.keys(entry.counted ?? { path: "" });
  return {
    counted: Object.fromEntries(
      Object.entries(verdict).filter(([name]) => wanted.includes(name)),
    ),
  };
}

for (const entry of requests) {
  Deno.test(`createClassifier() holds for ${entry.name}`, () => {
    const { counted, skipped } = entry;
    assertEquals(classified(entry), counted === undefined ? { skipped } : { counted });
  });
}

for (const { input, key, options } of paths) {
  Deno.test(`createPathKey() makes ${key} of ${input?.slice(0, 60)} with ${JSON.stringify(options)}`, () => {
    const pathKey = createPathKey(options);
    assertEquals(pathKey(input ?? ""), key);
    assertEquals(pathKey(key === "other" ? "/%" : key), key);
  });
}

for (const { input, key, url = "https://site.example/about", options } of referrers) {
  Deno.test(`createReferrerKey() makes ${key} of ${input?.slice(0, 60)} at ${url} with ${JSON.stringify(options)}`, () => {
    const referrerKey = createReferrerKey(options);
    assertEquals(referrerKey(input, url), key);
    assertEquals(referrerKey(input, url), key);
  });
}

for (const { name, day, warns } of warnings) {
  Deno.test(`trafficWarning() is ${warns ? "given" : "silent"} for ${name}`, () => {
    assertEquals(trafficWarning(day) !== null, warns);
  });
}

Deno.test("the corpus has every kind of entry", () => {
  assertEquals(corpus.v, 1);
  const all = [...requests, ...paths, ...referrers, ...warnings];
  const cases = all.filter((entry) => "case" in entry);
  assertEquals(all.length - cases.length >= 150 && cases.length >= 80, true);
});
