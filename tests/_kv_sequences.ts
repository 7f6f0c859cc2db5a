// Generated sequences of operations, as data, so that they can be sent to a Worker in workerd.
// deno-lint-ignore-file no-explicit-any
import { answerOf } from "./_kv_probe.ts";

/** One generated operation: a method and its arguments. */
export interface GeneratedOperation {
  readonly method: "get" | "getWithMetadata" | "put" | "delete" | "list" | "next";
  readonly args: readonly unknown[];
}

/** Runs each sequence on an empty namespace; gives the answers of each. */
export async function runSequences(
  kv: any,
  sequences: readonly (readonly GeneratedOperation[])[],
): Promise<string[][]> {
  const answers: string[][] = [];
  for (const sequence of sequences) answers.push(await runSequence(kv, sequence));
  return answers;
}

async function runSequence(
  kv: any,
  sequence: readonly GeneratedOperation[],
): Promise<string[]> {
  const answers: string[] = [];
  const written = new Set<string>();
  // The last listing that was not complete: what "next" goes on with.
  let last: any;
  for (const { method, args } of sequence) {
    if (method === "put") written.add(String(args[0]));
    const answer = await answerOf(async () => {
      if (method !== "list" && method !== "next") return await kv[method](...args);
      const options = method === "list" ? args[0] : last;
      if (options === undefined) return "nothing to go on with";
      const page = await kv.list(options);
      last = page.list_complete ? undefined : { ...options, cursor: page.cursor };
      return page;
    });
    answers.push(answer);
  }
  await Promise.all([...written].map((key) => kv.delete(key).catch(() => {})));
  return answers;
}
