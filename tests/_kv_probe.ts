// What a KV binding answers, observation by observation. Runs in Deno and, bundled, in workerd.
// deno-lint-ignore-file no-explicit-any

import { KEYS, METADATA, NUMBERS, TYPES, VALUES } from "./_kv_probe_inputs.ts";

/** An operation, and what came of it. */
export type Observation = readonly [operation: string, answer: string];

/** Runs all operations on a binding with an empty namespace. */
export async function probe(kv: any): Promise<Observation[]> {
  const seen: Observation[] = [];
  const see = async (operation: string, call: () => unknown): Promise<void> => {
    seen.push([operation, await answerOf(call)]);
  };
  await probeKeys(kv, see);
  await clear(kv);
  await probeValues(kv, see);
  await probeTypes(kv, see);
  await probeNumbers(kv, see);
  await probeMetadata(kv, see);
  await clear(kv);
  await probeBulk(kv, see);
  await clear(kv);
  await probeLists(kv, see);
  await clear(kv);
  await probeCalls(kv, see);
  return seen;
}

type See = (operation: string, call: () => unknown) => Promise<void>;

async function probeKeys(kv: any, see: See): Promise<void> {
  for (const key of KEYS) {
    const name = short(key);
    await see(`put(${name})`, () => kv.put(key, "v", { metadata: 1 }));
    await see(`get(${name})`, () => kv.get(key));
    await see(`getWithMetadata(${name})`, () => kv.getWithMetadata(key));
    await see(`list({prefix: ${name}})`, () => kv.list({ prefix: key, limit: 3 }));
    await see(`get([${name}])`, () => kv.get([key]));
    await see(`delete(${name})`, () => kv.delete(key));
    await see(`get(${name}) again`, () => kv.get(key));
  }
}

async function probeValues(kv: any, see: See): Promise<void> {
  for (const [name, make] of VALUES) {
    const key = `value:${name}`;
    await kv.put(key, "before", { metadata: "before" });
    await see(`put of ${name}`, () => kv.put(key, make()));
    // What a stream that cannot be read leaves behind is a race in Miniflare.
    if (name === "failing stream" || name === "locked stream") continue;
    await see(`text of ${name}`, () => kv.getWithMetadata(key));
    await see(`bytes of ${name}`, () => kv.get(key, "arrayBuffer"));
    await see(`json of ${name}`, () => kv.get(key, "json"));
  }
  const bytes = new Uint8Array([97, 98]);
  await see("put of bytes changed after the call", () => {
    const stored = kv.put("snapshot", bytes);
    bytes[0] = 99;
    return stored;
  });
  await see("bytes changed after the call", () => kv.get("snapshot"));
}

async function probeTypes(kv: any, see: See): Promise<void> {
  for (const value of ['{"a":1}', "null", "text", "", "\ufeff1"]) {
    await kv.put("typed", value);
    for (const [name, make] of TYPES) {
      await see(`get(${JSON.stringify(value)}, ${name})`, () => kv.get("typed", make()));
      if (value !== '{"a":1}') continue;
      await see(`getWithMetadata(typed, ${name})`, () => kv.getWithMetadata("typed", make()));
      await see(`get(missing, ${name})`, () => kv.get("missing", make()));
      await see(`get([typed, missing], ${name})`, () => kv.get(["typed", "missing"], make()));
    }
  }
}

async function probeNumbers(kv: any, see: See): Promise<void> {
  await kv.put("n:1", "1");
  await kv.put("n:2", "2");
  await kv.put("n:3", "3");
  for (const [name, make] of NUMBERS) {
    await see(`put with expirationTtl ${name}`, () => kv.put("ttl", "", { expirationTtl: make() }));
    await see(`put with expiration ${name}`, () => kv.put("at", "", { expiration: make() }));
    await see(`get with cacheTtl ${name}`, () => kv.get("n:1", { cacheTtl: make() }));
    await see(`bulk get with cacheTtl ${name}`, () => kv.get(["n:1"], { cacheTtl: make() }));
    await see(`list with limit ${name}`, () => kv.list({ prefix: "n:", limit: make() }));
  }
  await see("put with both", () => kv.put("both", "", { expirationTtl: 59, expiration: 2e9 }));
  await see("put far ahead", () => kv.put("far", "", { expiration: 2_000_000_000 }));
  await see("list far ahead", () => kv.list({ prefix: "far" }));
  await see("put again without", () => kv.put("far", ""));
  await see("list again without", () => kv.list({ prefix: "far" }));
}

async function probeMetadata(kv: any, see: See): Promise<void> {
  for (const [name, make] of METADATA) {
    await kv.delete("meta");
    await see(`put with metadata ${name}`, () => kv.put("meta", "v", { metadata: make() }));
    await see(`get of metadata ${name}`, () => kv.getWithMetadata("meta"));
    await see(`list of metadata ${name}`, () => kv.list({ prefix: "meta" }));
  }
}

async function probeBulk(kv: any, see: See): Promise<void> {
  await kv.put("b:json", '{"a":1}', { metadata: { m: 1 } });
  await kv.put("b:null", "null", { metadata: 2 });
  await kv.put("b:text", "plain");
  await kv.put("b:empty", "");
  const keys: readonly [string, unknown[]][] = [
    ["none", []],
    ["one", ["b:json"]],
    ["a missing one", ["b:json", "b:none"]],
    ["one twice", ["b:json", "b:json"]],
    ["another order", ["b:text", "b:none", "b:json"]],
    ["an empty value", ["b:empty"]],
    ["null", ["b:null"]],
    ["an empty key", ["b:json", ""]],
    ["a dot", ["."]],
    ["two dots", [".."]],
    ["a long key", ["x".repeat(513)]],
    ["a number", [5]],
    ["undefined", [undefined]],
    ["null as key", [null]],
    ["100", Array.from({ length: 100 }, (_, i) => `b:${i}`)],
    ["101", Array.from({ length: 101 }, (_, i) => `b:${i}`)],
    ["101 times one", Array(101).fill("b:json")],
    ["a lone surrogate", ["\ud800"]],
  ];
  for (const [name, list] of keys) {
    await see(`get of ${name}`, () => kv.get(list));
    await see(`get of ${name} as json`, () => kv.get(list, "json"));
    await see(`getWithMetadata of ${name}`, () => kv.getWithMetadata(list));
    await see(
      `getWithMetadata of ${name} as json`,
      () => kv.getWithMetadata(list, { type: "json" }),
    );
  }
}

async function probeLists(kv: any, see: See): Promise<void> {
  const names = ["a", "a\0", "a!", "aa", "b", "é", "\ud7ff", "\ue000", "\uffee", "😀", "z", "Z"];
  for (const name of names) await kv.put(`l:${name}`, name);
  await see("list()", () => kv.list());
  await see("list(undefined)", () => kv.list(undefined));
  await see("list(null)", () => kv.list(null));
  await see("list({})", () => kv.list({}));
  for (
    const prefix of ["l:", "l:a", "l:a\0", "l:é", "l:\ud83d", "m", "x".repeat(512), "x".repeat(513)]
  ) {
    await see(`list({prefix: ${short(prefix)}})`, () => kv.list({ prefix }));
  }
  for (const cursor of ["", undefined, null]) {
    await see(`list({cursor: ${short(cursor)}})`, () => kv.list({ cursor, limit: 2 }));
  }
  for (const limit of [1, 5, 11, 12, 13]) {
    let cursor: string | undefined;
    for (let page = 0; page < 13; page++) {
      let answer: any;
      await see(`page ${page} of ${limit}`, async () => {
        answer = await kv.list({ prefix: "l:", limit, cursor });
        return answer;
      });
      cursor = answer?.cursor;
      if (answer?.list_complete !== false) break;
      if (page === 0) await kv.delete(answer.keys.at(-1)?.name);
      if (page === 0) await kv.put(answer.keys.at(-1)?.name, "");
      if (page === 1) await kv.delete(answer.keys.at(-1)?.name);
    }
  }
  await see("list with another prefix and an old cursor", async () => {
    const first = await kv.list({ prefix: "l:", limit: 3 });
    return await kv.list({ prefix: "l:z", limit: 3, cursor: first.cursor });
  });
  await see("list with a cursor that is none", () => kv.list({ cursor: "!garbage!" }));
}

async function probeCalls(kv: any, see: See): Promise<void> {
  await kv.put("[object Object]", "o");
  const { get, put, list, getWithMetadata } = kv;
  const remove = kv.delete;
  await see("get()", () => kv.get());
  await see("put()", () => kv.put());
  await see("put(a)", () => kv.put("a"));
  await see("delete()", () => kv.delete());
  await see("getWithMetadata()", () => kv.getWithMetadata());
  await see("get without this", () => get("a"));
  await see("put without this", () => put("a", "b"));
  await see("delete without this", () => remove("a"));
  await see("list without this", () => list());
  await see("getWithMetadata without this", () => getWithMetadata("a"));
  await see("get with a symbol", () => kv.get(Symbol("s")));
  await see("put with a symbol", () => kv.put(Symbol("s"), ""));
  await see("delete of an array", () => kv.delete(["a", "b"]));
  for (const options of [null, undefined, 5, "text", true, []]) {
    await see(`put(a, b, ${short(options)})`, () => kv.put("a", "b", options));
    await see(`list(${short(options)})`, () => kv.list(options));
    await see(`getWithMetadata(a, ${short(options)})`, () => kv.getWithMetadata("a", options));
  }
  await see("put of a bad value with a bad key", () => kv.put("", {}));
  await see("put of a bad value with a bad lifetime", () => kv.put("a", {}, { expirationTtl: 1 }));
  await see(
    "put with bad lifetime and metadata",
    () => kv.put("a", "b", { expirationTtl: 1, metadata: "m".repeat(2000) }),
  );
  await see("put with cyclic metadata and a bad value", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    return kv.put("a", {}, { metadata: cycle });
  });
  await see(
    "put with a huge option and a bad key",
    () => kv.put("", "", { expirationTtl: 2 ** 40 }),
  );
  await see("get with a huge option and a bad key", () => kv.get("", { cacheTtl: 2 ** 40 }));
  await see(
    "get with a bad type and a bad cacheTtl",
    () => kv.get("a", { type: "x", cacheTtl: 1 }),
  );
  for (const name of ["get", "put", "delete", "list", "getWithMetadata"]) {
    await see(`typeof ${name}`, () => typeof kv[name]);
  }
}

/** Deletes a page of keys; tells how many. */
export async function clear(kv: any): Promise<number> {
  const { keys } = await kv.list();
  await Promise.all(keys.map((key: { name: string }) => kv.delete(key.name)));
  return keys.length;
}

/** What came of a call, as text. */
export async function answerOf(call: () => unknown): Promise<string> {
  let promise: unknown;
  try {
    promise = call();
  } catch (error) {
    return `throws at once ${errorText(error)}`;
  }
  // Something that is never answered must not hold up the rest.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("never answers"), 2000);
  });
  const answer = (async () => {
    try {
      return await describe(await promise);
    } catch (error) {
      return `rejects with ${errorText(error)}`;
    }
  })();
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `a non-error ${error}`;
}

async function describe(value: unknown): Promise<string> {
  if (value instanceof ArrayBuffer) return `ArrayBuffer [${new Uint8Array(value)}]`;
  if (value instanceof ReadableStream) {
    return `ReadableStream [${new Uint8Array(await new Response(value).arrayBuffer())}]`;
  }
  if (value instanceof Map) {
    const entries = await Promise.all(
      [...value].map(async ([key, item]) => `${short(key)} => ${await describe(item)}`),
    );
    return `Map {${entries.join(", ")}}`;
  }
  if (Array.isArray(value)) return `[${(await Promise.all(value.map(describe))).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value).sort();
    const members = await Promise.all(names.map(async (name) => {
      const member = (value as Record<string, unknown>)[name];
      return `${name}: ${name === "cursor" ? "<cursor>" : await describe(member)}`;
    }));
    return `{${members.join(", ")}}`;
  }
  return value === undefined ? "undefined" : short(value);
}

function short(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 20)}…(${text.length})` : text;
}
