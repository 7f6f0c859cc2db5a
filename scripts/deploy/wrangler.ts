/**
 * Runs the pinned wrangler under Deno, with nothing secret in what comes back.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { type Finished, run } from "../_process.ts";
import { explain } from "./failures.ts";

/** A way to run wrangler. */
export interface Wrangler {
  /**
   * Runs a command; gives its standard output.
   *
   * @throws {DeployError} If wrangler fails.
   */
  run(doing: string, args: readonly string[]): Promise<string>;
  /** Runs a command that may fail. */
  attempt(args: readonly string[]): Promise<Finished>;
  /** What wrangler wrote for machines: one object a finished step. */
  results(): Promise<Record<string, unknown>[]>;
}

const SECRET_NAMES = /TOKEN|SECRET|PASSWORD|API_KEY|PRIVATE|CREDENTIAL/i;
/** A value shorter than this is no secret, and hiding it would garble the text. */
const SECRET_LENGTH_MIN = 6;

/**
 * Takes secrets out of a text.
 *
 * @param text The text.
 * @param environment Environment variables; those whose names sound secret are hidden.
 * @returns The text with `***` instead.
 */
export function redact(text: string, environment: Readonly<Record<string, string>>): string {
  const secrets = Object.entries(environment)
    .filter(([name, value]) => SECRET_NAMES.test(name) && value.length >= SECRET_LENGTH_MIN)
    .map(([, value]) => value)
    .sort((a, b) => b.length - a.length);
  const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
  return hidden.replaceAll(/\bBearer\s+[\w.~+/=-]+/g, "Bearer ***");
}

/**
 * Gets wrangler ready.
 *
 * @param folder A folder for its log and its results.
 * @param signal Stops it.
 * @returns The way to run it.
 */
export function openWrangler(folder: string, signal: AbortSignal): Wrangler {
  const results = `${folder}/results.ndjson`;
  const environment = Deno.env.toObject();
  async function attempt(args: readonly string[]): Promise<Finished> {
    const { code, output, stdout } = await run(
      ["deno", "run", "-A", "--quiet", project.imports.wrangler, ...args],
      {
        signal,
        env: {
          WRANGLER_HIDE_BANNER: "true",
          WRANGLER_LOG_PATH: `${folder}/wrangler.log`,
          WRANGLER_OUTPUT_FILE_PATH: results,
          WRANGLER_SEND_ERROR_REPORTS: "false",
          WRANGLER_SEND_METRICS: "false",
        },
      },
    );
    signal.throwIfAborted();
    return {
      code,
      output: redact(output, environment),
      stdout: redact(stdout, environment),
    };
  }
  return {
    attempt,
    async run(doing, args) {
      const { code, output, stdout } = await attempt(args);
      if (code !== 0) throw explain(doing, output);
      return stdout;
    },
    async results() {
      const text = await Deno.readTextFile(results).catch(() => "");
      return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    },
  };
}

/**
 * Reads the JSON that a command printed, whatever else it said before or after.
 *
 * @param text The standard output.
 * @returns The value, or `undefined` when there is none.
 */
export function jsonIn(text: string): unknown {
  const start = text.search(/^[[{]/m);
  for (let end = text.length; start >= 0 && end > start; end = text.lastIndexOf("\n", end - 1)) {
    try {
      return JSON.parse(text.slice(start, end));
    } catch {
      continue;
    }
  }
  return undefined;
}
