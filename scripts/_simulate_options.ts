/**
 * The options of `deno task simulate`.
 *
 * @module
 */
import { article, type Design, perView, scrimp } from "../tests/sim/designs.ts";
import type { NetworkOptions } from "../tests/sim/network.ts";

/** What is asked for. */
export interface SimulateOptions {
  /** What to do. */
  readonly mode: "one" | "loads" | "sensitivity" | "patterns" | "world" | "worlds" | "help";
  /** The network, without its design. */
  readonly network: Omit<NetworkOptions, "design">;
  /** The designs to compare. */
  readonly designs: readonly Design[];
  /** A world's seed, or how many worlds there are. */
  readonly number: number;
  /** Whether to print JSON. */
  readonly json: boolean;
}

export const HELP = `Simulates a network of data centers that counts page views on one KV namespace.

  deno task simulate                    one network, three designs side by side
  deno task simulate --loads            24 to 100,000 views a day, 5 to 250 data centers
  deno task simulate --sensitivity      how the result moves with what is not known for certain
  deno task simulate --patterns         a day with page views and all other patterns on one budget
  deno task simulate --worlds 1000      that many hostile worlds, each checked for all invariants
  deno task simulate --world SEED       one of them again, with its options

  --views N          views a day (5000)
  --data-centers N   data centers; the n-th gets 1/n of the first one's traffic (50)
  --days N           days that are reported; one more is simulated (2)
  --design NAME      all, scrimp, article or per-view (all)
  --seed N           what all chance comes from (1)
  --isolates N       isolates of a data center at a time, at most (3)
  --idle-minutes N   how long an isolate idles before it is evicted (15)
  --kill-rate P      the chance, at each request, that the isolate was just killed (0.002)
  --cache-loss P     the chance, at each read, that a cache entry is gone (0.001)
  --no-cache         no data center has a cache
  --staleness N      how inconsistent KV is: 1 is 60 s as documented, 0 is not at all (1)
  --faults P         the chance that a KV operation fails (0)
  --spike N@HOUR     N times the traffic for an hour (none)
  --writes N         Scrimp's KV writes a day for page views (400)
  --signups N        signups a day (1 % of the sessions, at least 3)
  --json             print JSON instead of text
  --help             print this
`;

/** Each option, and whether a value follows. */
const VALUES = [
  "views",
  "data-centers",
  "days",
  "design",
  "seed",
  "isolates",
  "idle-minutes",
  "kill-rate",
  "cache-loss",
  "staleness",
  "faults",
  "spike",
  "writes",
  "signups",
  "world",
  "worlds",
];
const FLAGS = ["loads", "sensitivity", "patterns", "no-cache", "json", "help"];

function read(args: readonly string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [, name = "", inline] = args[at]?.match(/^--([a-z-]+)(?:=(.*))?$/) ?? [];
    if (FLAGS.includes(name)) given.set(name, "");
    else if (VALUES.includes(name)) given.set(name, inline ?? args[++at] ?? "");
    else throw new RangeError(`Option "${args[at]}" is not known`);
  }
  return given;
}

/**
 * Reads the command line.
 *
 * @param args The arguments.
 * @returns What is asked for.
 * @throws {RangeError} If an option is not known or out of range.
 */
export function parseSimulate(args: readonly string[]): SimulateOptions {
  const given = read(args);
  const number = (name: string, otherwise: number, least = 0, most = Infinity) => {
    const value = Number(given.get(name) ?? otherwise);
    if (given.get(name) !== "" && value >= least && value <= most) return value;
    throw new RangeError(
      `Option "--${name}" must be a number from ${least} to ${most}: got "${given.get(name)}"`,
    );
  };
  const whole = (name: string, otherwise: number, most: number) =>
    Math.floor(number(name, otherwise, 1, most));
  const faults = number("faults", 0, 0, 1);
  const modes = (["help", "loads", "sensitivity", "patterns", "world", "worlds"] as const)
    .filter((name) => given.has(name));
  const [mode = "one", other] = modes;
  if (mode !== "help" && other) {
    throw new RangeError(`Options "--${mode}" and "--${other}" cannot be combined`);
  }
  return {
    mode,
    json: given.has("json"),
    number: mode === "world" ? number("world", 1) : number("worlds", 1_000, 1),
    designs: designsOf(given.get("design") ?? "all", whole("writes", 400, 1_000)),
    network: {
      seed: number("seed", 1),
      viewsPerDay: whole("views", 5_000, 1_000_000),
      dataCenters: whole("data-centers", 50, 330),
      days: whole("days", 2, 30) + 1,
      isolatesMax: whole("isolates", 3, 100),
      idleMs: number("idle-minutes", 15) * 60_000,
      killRate: number("kill-rate", 0.002, 0, 1),
      cacheLossRate: number("cache-loss", 0.001, 0, 1),
      edgeCache: given.has("no-cache") ? "none" : "cache",
      kv: { staleness: number("staleness", 1, 0, 1_000), faults: { rate: faults } },
      ...(given.has("spike") ? { spike: spikeOf(given.get("spike") ?? "") } : {}),
      ...(given.has("signups") ? { signupsPerDay: number("signups", 0) } : {}),
    },
  };
}

function designsOf(name: string, writes: number): readonly Design[] {
  const all = new Map([["per-view", perView], ["article", article], ["scrimp", scrimp(writes)]]);
  if (name === "all") return [...all.values()];
  const design = all.get(name);
  if (design) return [design];
  throw new RangeError(
    `Option "--design" must be all, ${[...all.keys()].join(", ")}: got "${name}"`,
  );
}

function spikeOf(text: string): { hour: number; hours: number; factor: number } {
  const [, factor, hour] = text.match(/^(\d+)@(\d+)$/) ?? [];
  if (factor && hour) return { hour: Number(hour), hours: 1, factor: Number(factor) };
  throw new RangeError(`Option "--spike" must look like 50@20: got "${text}"`);
}
