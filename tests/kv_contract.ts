// What every KV of this package, and the real binding, must do. The cases run in Deno and, bundled, in
// workerd, so they need nothing but the binding.
// deno-lint-ignore-file no-explicit-any
import { answerOf } from "./_kv_probe.ts";

/** A KV to test, with an empty namespace. */
export interface ContractSubject {
  /** The binding. */
  readonly kv: any;
  /** Lets time go on, where the KV's clock can be moved. */
  readonly advance?: (ms: number) => void;
  /** Gives back what the KV holds on to. */
  readonly close?: () => void;
}

/** One thing that must hold. */
export interface ContractCase {
  /** What must hold. */
  readonly name: string;
  /** Throws when it does not. */
  readonly check: (subject: ContractSubject) => Promise<void>;
  /** Set where the case needs a clock that can be moved. */
  readonly clock?: "needed";
  /** Set where the case writes so much that it takes long on a store with a disk. */
  readonly size?: "large";
}

async function same(call: () => unknown, wanted: string): Promise<void> {
  const answer = await answerOf(call);
  if (answer !== wanted) throw new Error(`Answered ${answer} instead of ${wanted}`);
}

async function names(kv: any, options?: object): Promise<string> {
  const page = await kv.list(options);
  const last = page.list_complete === ("cursor" in page) ? " with a wrong cursor" : "";
  return page.keys.map((key: { name: string }) => key.name).join(" ") + last;
}

/** All cases. */
export const KV_CONTRACT: readonly ContractCase[] = [
  {
    name: "a missing key is null, in every form",
    check: async ({ kv }) => {
      await same(() => kv.get("a"), "null");
      await same(() => kv.get("a", "json"), "null");
      await same(() => kv.get(["a"]), 'Map {"a" => null}');
      await same(() => kv.getWithMetadata("a"), "{cacheStatus: null, metadata: null, value: null}");
      await same(() => kv.list(), "{cacheStatus: null, keys: [], list_complete: true}");
    },
  },
  {
    name: "a put overwrites value, metadata and expiry",
    check: async ({ kv }) => {
      await kv.put("a", "1", { metadata: { m: 1 }, expiration: 2_000_000_000 });
      await same(
        () => kv.list(),
        '{cacheStatus: null, keys: [{expiration: 2000000000, metadata: {m: 1}, name: "a"}], list_complete: true}',
      );
      await kv.put("a", "2");
      await same(
        () => kv.getWithMetadata("a"),
        '{cacheStatus: null, metadata: null, value: "2"}',
      );
      await same(
        () => kv.list(),
        '{cacheStatus: null, keys: [{name: "a"}], list_complete: true}',
      );
    },
  },
  {
    name: "a delete removes, and removing again is no error",
    check: async ({ kv }) => {
      await kv.put("a", "1");
      await same(() => kv.delete("a"), "undefined");
      await same(() => kv.delete("a"), "undefined");
      await same(() => kv.get("a"), "null");
      await same(() => names(kv), '""');
    },
  },
  {
    name: "values of every type, the empty one included, come back as they were",
    check: async ({ kv }) => {
      await kv.put("empty", "");
      await same(() => kv.get("empty"), '""');
      await kv.put("bytes", new Uint8Array([0, 104, 255, 1]).subarray(1, 3));
      await same(() => kv.get("bytes", "arrayBuffer"), "ArrayBuffer [104,255]");
      await same(() => kv.get("bytes", "stream"), "ReadableStream [104,255]");
      await same(() => kv.get("bytes"), '"h\ufffd"');
      await kv.put("json", '{"a":[1]}');
      await same(() => kv.get("json", { type: "json" }), "{a: [1]}");
      await kv.put("stream", new Response("streamed").body);
      await same(() => kv.get("stream"), '"streamed"');
    },
  },
  {
    name: "listings are in the order of UTF-8 bytes",
    check: async ({ kv }) => {
      for (const key of ["😀", "\uffee", "é", "z", "Z", "a!", "a", "aa"]) await kv.put(key, "");
      await same(() => names(kv), JSON.stringify("Z a a! aa z é \uffee 😀"));
    },
  },
  {
    name: "a prefix is neither more nor less than a prefix",
    check: async ({ kv }) => {
      for (const key of ["u:1", "u:10", "u:1:a", "u", "v", "t:1"]) await kv.put(key, "");
      await same(() => names(kv, { prefix: "u:1" }), '"u:1 u:10 u:1:a"');
      await same(() => names(kv, { prefix: "u:1:" }), '"u:1:a"');
      await same(() => names(kv, { prefix: "w" }), '""');
      await same(() => names(kv, { prefix: "" }), '"t:1 u u:1 u:10 u:1:a v"');
    },
  },
  {
    name: "pages follow each other, also after the last key of a page is gone",
    check: async ({ kv }) => {
      for (const key of ["p:a", "p:b", "p:c", "p:d", "q:a"]) await kv.put(key, "");
      const first = await kv.list({ prefix: "p:", limit: 2 });
      await same(() => first.keys.length, "2");
      await kv.delete("p:b");
      const options = { prefix: "p:", limit: 2, cursor: first.cursor };
      await same(() => names(kv, options), '"p:c p:d"');
      await same(() => names(kv, { prefix: "p:", limit: 3 }), '"p:a p:c p:d"');
    },
  },
  {
    name: "a page has at most 1,000 keys",
    size: "large",
    check: async ({ kv }) => {
      for (let i = 0; i < 1001; i += 91) {
        const some = Array.from({ length: 91 }, (_, k) => `n${String(i + k).padStart(4, "0")}`);
        await Promise.all(some.map((key) => kv.put(key, "")));
      }
      const first = await kv.list();
      await same(() => [first.keys.length, first.list_complete], "[1000, false]");
      await same(() => names(kv, { cursor: first.cursor }), '"n1000"');
      await same(
        () => kv.list({ limit: 1001 }),
        "rejects with Error: KV GET failed: 400 Invalid key_count_limit of 1001. Please specify an integer less than 1000.",
      );
    },
  },
  {
    name: "keys have 1 to 512 bytes",
    check: async ({ kv }) => {
      const longest = "é".repeat(256);
      await kv.put(longest, "1");
      await same(() => kv.get(longest), '"1"');
      for (const method of ["get", "put", "delete"]) {
        const operation = method.toUpperCase();
        await same(
          () => kv[method](longest + "x", "v"),
          `rejects with Error: KV ${operation} failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512.`,
        );
        await same(
          () => kv[method]("", "v"),
          "rejects with TypeError: Key name cannot be empty.",
        );
        await same(
          () => kv[method]("..", "v"),
          'rejects with TypeError: ".." is not allowed as a key name.',
        );
      }
      await same(
        () => kv.getWithMetadata(""),
        "throws at once TypeError: Key name cannot be empty.",
      );
    },
  },
  {
    name: "lifetimes have at least 60 seconds",
    check: async ({ kv }) => {
      await same(() => kv.put("a", "", { expirationTtl: 60 }), "undefined");
      await same(
        () => kv.put("a", "", { expirationTtl: 59 }),
        "rejects with Error: KV PUT failed: 400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60.",
      );
      await same(
        () => kv.put("a", "", { expiration: 1 }),
        "rejects with Error: KV PUT failed: 400 Invalid expiration of 1. Please specify integer greater than the current number of seconds since the UNIX epoch.",
      );
      await same(
        () => kv.get("a", { cacheTtl: 29 }),
        "rejects with Error: KV GET failed: 400 Invalid cache_ttl of 29. Cache TTL must be at least 30.",
      );
      await same(() => kv.get("a", { cacheTtl: 30 }), '""');
    },
  },
  {
    name: "metadata has at most 1,024 bytes of JSON",
    check: async ({ kv }) => {
      const most = "é".repeat(511);
      await kv.put("a", "v", { metadata: most });
      await same(
        () => kv.put("a", "v", { metadata: most + "x" }),
        "rejects with Error: KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024.",
      );
      await same(
        async () => (await kv.getWithMetadata("a")).metadata === most,
        "true",
      );
      for (const metadata of [0, false, ""]) {
        await kv.put("falsy", "v", { metadata });
        await same(
          async () => (await kv.getWithMetadata("falsy")).metadata,
          JSON.stringify(metadata),
        );
      }
    },
  },
  {
    name: "what was put or got cannot be changed from outside",
    check: async ({ kv }) => {
      const metadata = { list: [1] };
      const bytes = new Uint8Array([97]);
      await kv.put("a", bytes, { metadata });
      bytes[0] = 98;
      metadata.list.push(2);
      new Uint8Array(await kv.get("a", "arrayBuffer"))[0] = 99;
      (await kv.getWithMetadata("a")).metadata.list.push(3);
      (await kv.list()).keys[0].metadata.list.push(4);
      await same(
        () => kv.getWithMetadata("a"),
        '{cacheStatus: null, metadata: {list: [1]}, value: "a"}',
      );
    },
  },
  {
    name: "bulk reads give a Map without array-index keys, and null for what is missing",
    check: async ({ kv }) => {
      for (const key of ["1", "01", "a"]) await kv.put(key, `"${key}"`, { metadata: key });
      await same(
        () => kv.get(["01", "1", "b", "a"]),
        [
          'Map {"01" => "\\"01\\"", "b" => null, "a" => "\\"a\\""}',
        ].join(),
      );
      await same(() => kv.get(["a"], "json"), 'Map {"a" => "a"}');
      await same(
        () => kv.getWithMetadata(["a", "b"]),
        'Map {"a" => {metadata: "a", value: "\\"a\\""}, "b" => null}',
      );
      const many = Array.from({ length: 101 }, (_, i) => `k${i}`);
      await same(
        () => kv.get(many),
        "rejects with Error: KV GET_BULK failed: 400 You can request a maximum of 100 keys",
      );
    },
  },
  {
    name: "names of the prototype are keys like any other",
    check: async ({ kv }) => {
      for (const key of ["__proto__", "constructor", "toString"]) await kv.put(key, key);
      await same(() => kv.get("__proto__"), '"__proto__"');
      await same(() => kv.get("hasOwnProperty"), "null");
      await same(() => names(kv), '"__proto__ constructor toString"');
    },
  },
  {
    name: "an expired key is gone, from reads and listings",
    clock: "needed",
    check: async ({ kv, advance }) => {
      await kv.put("a", "1", { expirationTtl: 60 });
      await kv.put("b", "1", { expirationTtl: 61 });
      advance?.(59_999);
      await same(() => kv.get("a"), '"1"');
      advance?.(1);
      await same(() => kv.get("a"), "null");
      await same(() => kv.get(["a", "b"]), 'Map {"a" => null, "b" => "1"}');
      await same(() => names(kv), '"b"');
      advance?.(1000);
      await same(() => names(kv), '""');
    },
  },
];

/** Runs every case on a fresh KV, large ones on request; gives what went wrong, by case. */
export async function runContract(
  open: () => ContractSubject | Promise<ContractSubject>,
  sizes: "all" | "small",
): Promise<{ name: string; problem: string }[]> {
  const problems: { name: string; problem: string }[] = [];
  for (const { name, check, clock, size } of KV_CONTRACT) {
    if (size === "large" && sizes === "small") continue;
    const subject = await open();
    if (clock === "needed" && subject.advance === undefined) continue;
    try {
      await check(subject);
    } catch (error) {
      problems.push({ name, problem: String(error) });
    }
  }
  return problems;
}

/** Registers the suite as a test. */
export function testKv(name: string, open: () => ContractSubject | Promise<ContractSubject>): void {
  for (const { name: what, check, clock } of KV_CONTRACT) {
    Deno.test(`${name}: ${what}`, async () => {
      const subject = await open();
      try {
        if (clock !== "needed" || subject.advance !== undefined) await check(subject);
      } finally {
        subject.close?.();
      }
    });
  }
}
