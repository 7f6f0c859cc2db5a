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
  const chunks: string[] = [];
  await Promise.all([collect(child.stdout, chunks), collect(child.stderr, chunks)]);
  const { code } = await child.status;
  // deno-lint-ignore no-control-regex
  return { code, output: chunks.join("").replaceAll(/\x1b\[[\d;]*[A-Za-z]/g, "") };
}

/** Appends a stream's text to `chunks` as it comes, so that two streams stay in order. */
async function collect(stream: ReadableStream<BufferSource>, chunks: string[]): Promise<void> {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) chunks.push(text);
}
