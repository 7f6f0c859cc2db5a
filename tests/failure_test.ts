import { fail, messageOf, usage } from "../scripts/_failure.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { parseArgs } from "node:util";

/** What `fail` prints and returns. */
function failed(error: unknown): [number, string[]] {
  const lines: string[] = [];
  const { error: print } = console;
  console.error = (line: string) => void lines.push(line);
  try {
    return [fail(error), lines];
  } finally {
    console.error = print;
  }
}

Deno.test("fail() tells a command line that cannot be used from anything else", () => {
  assertEquals(failed(new TypeError("No network")), [1, ["No network"]]);
  const error = assertThrows(() => usage(() => parseArgs({ args: ["--x"], options: {} })));
  assertEquals(failed(error), [2, ["Unknown option '--x'", "See --help"]]);
  assertEquals(usage(() => 1), 1);
});

Deno.test("messageOf() leaves out advice that does not apply", () => {
  const options = { allowPositionals: true, options: {} };
  const error = assertThrows(() => parseArgs({ args: ["--x"], ...options }), TypeError);
  assertEquals(messageOf(error), "Unknown option '--x'");
  assertEquals(messageOf("text"), "text");
});
