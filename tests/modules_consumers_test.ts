import { assertEquals } from "@std/assert";
import config from "../deno.json" with { type: "json" };
import { type Bundle, bundle, stop } from "../scripts/_bundle.ts";

type Name = keyof typeof config.exports;

const VIEWS: readonly Name[] = ["./classify", "./errors", "./page-views"];
const STORED: readonly Name[] = ["./errors", "./keys", "./limits"];

/** At most how many bytes of gzip a module is, and which others it may bring along. */
const MODULES: Readonly<Record<Exclude<Name, ".">, [gzipBytesMax: number, others: Name[]]>> = {
  "./claims": [1_700, []],
  "./classify": [5_500, []],
  "./conversations": [6_200, [...STORED]],
  "./deno-kv": [4_700, ["./errors", "./keys"]],
  "./errors": [1_000, ["./limits"]],
  "./explain": [5_900, ["./classify"]],
  "./feed": [5_800, [...STORED]],
  "./hash-id": [700, ["./errors", "./keys"]],
  "./hono": [15_000, [...VIEWS]],
  "./ip-key": [750, []],
  "./keys": [1_400, ["./errors"]],
  "./keyword-log": [5_800, [...STORED]],
  "./kv": [50, []],
  "./kv-server": [2_000, ["./errors", "./keys"]],
  "./kv-world": [9_600, ["./errors", "./keys"]],
  "./limits": [700, []],
  "./memory-kv": [4_900, ["./errors", "./keys"]],
  "./page-views": [14_500, ["./classify", "./errors"]],
  "./pages": [15_000, [...VIEWS]],
  "./rate-limiter": [6_100, [...STORED, "./hash-id", "./ip-key"]],
  "./rate-limiter-object": [6_200, [...STORED, "./hash-id", "./ip-key", "./rate-limiter"]],
  "./sim": [3_100, []],
  "./traffic": [5_000, ["./warning"]],
  "./warning": [650, []],
  "./with-page-views": [15_000, [...VIEWS]],
  "./worker": [50_000, [
    ...STORED,
    ...VIEWS,
    "./claims",
    "./conversations",
    "./feed",
    "./hash-id",
    "./ip-key",
    "./keyword-log",
    "./rate-limiter",
    "./rate-limiter-object",
    "./warning",
    "./write-budget",
  ]],
  "./write-budget": [2_000, []],
};
/** What an adapter may add to the counter, in bytes of gzip. */
const ADAPTER_BYTES_MAX = 600;

const NAMES = new Map(
  Object.entries(config.exports).map(([name, path]) => [path.slice(2), name as Name]),
);

/** The other modules of the package of which something is in a bundle. */
function othersIn({ inputs }: Bundle, own: Name): Name[] {
  return inputs.flatMap(({ path, bytes }) => {
    const name = NAMES.get(path);
    return bytes > 0 && name !== undefined && name !== own ? [name] : [];
  });
}

Deno.test.afterAll(() => stop());

Deno.test("every module is small and brings along only what it needs", async () => {
  for (const [name, [gzipBytesMax, allowed]] of Object.entries(MODULES)) {
    const made = await bundle(config.exports[name as Name]);
    const unwanted = othersIn(made, name as Name).filter((other) => !allowed.includes(other));
    assertEquals(unwanted, [], `${name} pulls in ${unwanted}`);
    assertEquals(made.gzipBytes <= gzipBytesMax, true, `${name} is ${made.gzipBytes} bytes`);
  }
  assertEquals([".", ...Object.keys(MODULES)].sort(), Object.keys(config.exports).sort());
});

Deno.test("an adapter adds little to the counter", async () => {
  const counter = await bundle(config.exports["./page-views"]);
  for (const name of ["./hono", "./pages", "./with-page-views"] as const) {
    const added = (await bundle(config.exports[name])).gzipBytes - counter.gzipBytes;
    assertEquals(added <= ADAPTER_BYTES_MAX, true, `${name} adds ${added} bytes`);
  }
});
