/**
 * The gates of `deno task test`, cheap first.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };
import { ROOT } from "./_paths.ts";
import { type Finished, run } from "./_process.ts";

/** What a gate found. */
export interface Verdict {
  /** Tests that passed; a gate without tests is one. */
  readonly passed: number;
  /** Tests that failed; a gate that fails for another reason is one. */
  readonly failed: number;
  /** What it printed. */
  readonly output: string;
  /** A line worth reading when all is well, for example the coverage. */
  readonly note?: string;
}

/** One check of the whole project. */
export interface Gate {
  /** What `--only` takes. */
  readonly name: string;
  /** What it holds the project to. */
  readonly about: string;
  /** Whether it measures or drives other programs, and so must not share the machine. */
  readonly alone?: boolean;
  /** Does it. */
  run(context: GateContext): Promise<Verdict>;
}

/** What the gates are told. */
export interface GateContext {
  /** Decides the order of the tests. */
  readonly seed: number;
  /** Kills what is running. */
  readonly signal: AbortSignal;
}

const COVERAGE_PERCENT_MIN = 90;
const NEEDS_MORE_THAN_MEMORY = /_(?:workerd|wrangler|browser|consumers)_test\.ts$/;

/** Test files of which `wanted` is true, sorted. */
async function testFiles(wanted: (path: string) => boolean, folder = "tests"): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isFile, isDirectory } of Deno.readDir(ROOT + folder)) {
    const path = `${folder}/${name}`;
    if (isFile && name.endsWith("_test.ts") && wanted(path)) found.push(path);
    if (isDirectory && name !== "consumers" && name !== "fixtures") {
      found.push(...await testFiles(wanted, path));
    }
  }
  return found.sort();
}

/** A gate that passes when its command does. */
function commandGate(name: string, about: string, command: readonly string[], note?: RegExp): Gate {
  return {
    name,
    about,
    async run({ signal }) {
      const { code, output } = await run(command, { signal });
      const [line] = (note && output.match(note)) ?? [];
      return {
        passed: code === 0 ? 1 : 0,
        failed: code === 0 ? 0 : 1,
        output,
        ...line === undefined ? {} : { note: line },
      };
    },
  };
}

/**
 * Reads the last line of `deno test`.
 *
 * @param finished What the command did.
 * @returns The counts; a run that fails without a failed test counts as one failure.
 */
export function countTests({ code, output }: Omit<Finished, "stdout">): Verdict {
  const summary = /^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed/gm;
  const [, passed = "0", failed = "0"] = [...output.matchAll(summary)].at(-1) ?? [];
  const failures = Number(failed);
  return {
    passed: Number(passed),
    failed: failures === 0 && code !== 0 ? 1 : failures,
    output,
  };
}

const unit: Gate = {
  name: "unit",
  about: `tests without any permission, shuffled; lib/ is covered to ${COVERAGE_PERCENT_MIN} %`,
  async run({ seed, signal }) {
    const folder = await Deno.makeTempDir({ prefix: "scrimp-coverage-" });
    try {
      const files = await testFiles((path) => !NEEDS_MORE_THAN_MEMORY.test(path));
      const tested = countTests(
        await run([
          "deno",
          "test",
          "--no-prompt",
          "--sanitize-ops",
          "--sanitize-resources",
          `--shuffle=${seed}`,
          `--coverage=${folder}`,
          "--coverage-raw-data-only",
          ...files,
        ], { signal }),
      );
      const covered = await run([
        "deno",
        "coverage",
        `--include=^${new URL("../lib/", import.meta.url).href}`,
        `--threshold=${COVERAGE_PERCENT_MIN}`,
        folder,
      ], { signal });
      const [all = "coverage: none"] = covered.output.match(/^\| All files.*$/m) ?? [];
      return {
        passed: tested.passed + (covered.code === 0 ? 1 : 0),
        failed: tested.failed + (covered.code === 0 ? 0 : 1),
        output: tested.output + (covered.code === 0 ? "" : covered.output),
        note: all,
      };
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
};

const docs: Gate = {
  name: "examples",
  about: "the code blocks of the README and of the doc comments run",
  async run({ signal }) {
    const files = ["README.md", "mod.ts", "lib"];
    return countTests(await run(["deno", "test", "--doc", "--no-prompt", ...files], { signal }));
  },
};

/** A gate for the tests that need more than memory: other programs, ports, files. */
function permissiveGate(kind: string, about: string, { alone = false } = {}): Gate {
  return {
    name: kind,
    about,
    alone,
    async run({ signal }) {
      const files = await testFiles((path) => path.endsWith(`_${kind}_test.ts`));
      if (files.length === 0) return { passed: 0, failed: 0, output: "", note: "no tests yet" };
      return countTests(await run(["deno", "test", "-A", ...files], { signal }));
    },
  };
}

/** All gates, in order. */
export const GATES: readonly Gate[] = [
  commandGate("fmt", "formatting", ["deno", "fmt", "--check"]),
  commandGate("lint", "lint, with the project's own rules", ["deno", "lint"]),
  commandGate("types", "types of everything", [
    "deno",
    "check",
    "mod.ts",
    "lib",
    "scripts",
    "tests",
  ]),
  commandGate("portable", "types of lib/ without Deno's", [
    "deno",
    "check",
    "--config",
    "scripts/portable.json",
    "mod.ts",
    "lib",
  ]),
  commandGate("docs", "every exported symbol is documented", [
    "deno",
    "doc",
    "--lint",
    ...Object.values(config.exports),
  ]),
  commandGate("exports", "every sub-path is there, explained and pinned", [
    "deno",
    "run",
    "--allow-read",
    "scripts/check_exports.ts",
  ]),
  unit,
  docs,
  commandGate("size", "bundle sizes", [
    "deno",
    "run",
    "--allow-read",
    "--allow-env",
    "--allow-run",
    "--allow-write",
    "scripts/sizes.ts",
  ], /^module[\s\S]*(?=\n)/m),
  commandGate("publish", "a dry run of publishing", [
    "deno",
    "publish",
    "--dry-run",
    "--allow-dirty",
  ]),
  permissiveGate("wrangler", "deploying with the real wrangler"),
  permissiveGate("consumers", "small apps of others that use the package"),
  permissiveGate("workerd", "the Worker on real workerd", { alone: true }),
  permissiveGate("browser", "pages in a real browser", { alone: true }),
];
