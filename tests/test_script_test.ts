import { assertEquals, assertThrows } from "@std/assert";
import { countTests, GATES } from "../scripts/_gates.ts";
import { parseArguments } from "../scripts/test.ts";

Deno.test("countTests() reads the last summary", () => {
  const output =
    "noise\nok | 1 passed | 0 failed (2ms)\nok | 12 passed (3 steps) | 0 failed (1s)\n";
  assertEquals(countTests({ code: 0, output }), { passed: 12, failed: 0, output });
});

Deno.test("countTests() counts failed tests", () => {
  const output = "FAILED | 12 passed | 2 failed (1s)\n";
  assertEquals(countTests({ code: 1, output }), { passed: 12, failed: 2, output });
});

Deno.test("countTests() counts a run that breaks as one failure", () => {
  assertEquals(countTests({ code: 1, output: "" }).failed, 1);
  assertEquals(countTests({ code: 1, output: "ok | 3 passed | 0 failed (1s)" }).failed, 1);
});

Deno.test("parseArguments() picks gates in their order", () => {
  const names = (args: string[]) => parseArguments(args, 1)?.gates.map(({ name }) => name);
  assertEquals(names([])?.length, GATES.length);
  assertEquals(names(["--only", "unit", "--only=fmt"]), ["fmt", "unit"]);
  assertEquals(parseArguments(["--seed", "7"], 1)?.seed, 7);
  assertEquals(parseArguments(["--help"], 1), undefined);
});

Deno.test("parseArguments() refuses what it does not know", () => {
  for (const args of [["--only", "nothing"], ["--only"], ["--seed", "x"], ["unit"], ["--x"]]) {
    assertThrows(() => parseArguments(args, 1), Error);
  }
});

Deno.test("GATES have names of their own", () => {
  assertEquals(new Set(GATES.map(({ name }) => name)).size, GATES.length);
});
