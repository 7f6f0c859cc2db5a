import { assertEquals } from "@std/assert";
import { examples, moduleDoc, problemsOf } from "../scripts/check_exports.ts";

const GOOD = `/**
 * Does a thing.
 *
 * @example Usage
 * \`\`\`ts
 * import { f } from "@scrimp/kv/f";
 * import { assertEquals } from "@std/assert";
 * assertEquals(f(), 1);
 * \`\`\`
 *
 * @module
 */
export function f(): number {
  return 1;
}
`;

Deno.test("problemsOf() accepts a documented module", () => {
  assertEquals(problemsOf("@scrimp/kv/f", GOOD), []);
});

Deno.test("problemsOf() reports what a module lacks", () => {
  const cases: readonly (readonly [source: string, problem: string])[] = [
    ["export const a = 1;", "does not start with a comment that says `@module`"],
    [GOOD.replace("@module", "@see"), "does not start with a comment that says `@module`"],
    [GOOD.replace("```ts", "```ts ignore"), "has no `ts` example in its module comment"],
    [GOOD.replace("/kv/f", "/kv/g"), 'has no example that imports from "@scrimp/kv/f"'],
    [GOOD.replace("assertEquals(f(), 1)", "f()"), "has no example that asserts"],
  ];
  for (const [source, problem] of cases) {
    assertEquals(problemsOf("@scrimp/kv/f", source), [`@scrimp/kv/f ${problem}`]);
  }
});

Deno.test("moduleDoc() reads the first comment only", () => {
  assertEquals(moduleDoc(`export const a = 1;\n${GOOD}`), "");
});

Deno.test("examples() finds every runnable block", () => {
  assertEquals(examples("```ts\na\n```\n```sh\nb\n```\n```typescript\nc\n```\n"), ["a\n", "c\n"]);
});
