/**
 * Runs commands and keeps what they print.
 *
 * @module
 */
import { ROOT } from "./_paths.ts";

/** What a command did. */
export interface Finished {
  /** Its exit code. */
  readonly code: number;
  /** What it printed, both streams, without colors. */
  readonly output: string;
  /** What it printed on its standard output. */
  readonly stdout: string;
}

/** How a command is run. */
export interface RunOptions {
  /** The folder it runs in. @default {the repository} */
  readonly cwd?: string;
  /** Environment variables to add. */
  readonly env?: Readonly<Record<string, string>>;
  /** Kills it when aborted. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a command to its end.
 *
 * @param command The program and its arguments; `deno` is the one that runs this.
 * @param options Folder, environment, signal.
 * @returns The exit code and the output.
 */
export async function run(
  [program = "deno", ...args]: readonly string[],
  { cwd = ROOT, env = {}, signal }: RunOptions = {},
): Promise<Finished> {
  const child = new Deno.Command(program === "deno" ? Deno.execPath() : program, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...signal ? { signal } : {},
  }).spawn();
  const both: string[] = [];
  const [stdout] = await Promise.all([collect(child.stdout, both), collect(child.stderr, both)]);
  const { code } = await child.status;
  return { code, output: plain(both.join("")), stdout: plain(stdout) };
}

/** Reads a stream to its end; what comes is also added to `both`, so that streams stay in order. */
async function collect(stream: ReadableStream<BufferSource>, both: string[]): Promise<string> {
  const own: string[] = [];
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    own.push(text);
    both.push(text);
  }
  return own.join("");
}

/** A text without its colors. */
function plain(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replaceAll(/\x1b\[[\d;]*[A-Za-z]/g, "");
}
