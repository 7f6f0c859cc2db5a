/**
 * How scripts end when they cannot go on: one line of what is wrong, and an exit code.
 *
 * @module
 */

/** The command line cannot be used, or the script failed. */
const MISUSE = 2, FAILURE = 1;

/** A command line that cannot be used. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * What an error says, without the advice that `parseArgs` adds on arguments no script here takes.
 *
 * @param error What was thrown.
 * @returns A sentence.
 */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(
    /\. To specify a positional argument .*$|\. This command does not .*$/,
    "",
  );
}

/**
 * Reads a command line: whatever is thrown meanwhile is about the command line.
 *
 * @param read Reads it.
 * @returns What `read` returns.
 * @throws {UsageError} If `read` throws.
 */
export function usage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/**
 * Says what went wrong.
 *
 * @param error What was thrown.
 * @returns The exit code: 2 if the command line cannot be used, 1 for anything else.
 */
export function fail(error: unknown): number {
  console.error(messageOf(error));
  if (!(error instanceof UsageError)) return FAILURE;
  console.error("See --help");
  return MISUSE;
}
