/**
 * Leaves out of the Worker what its classes can do and no route asks them to. A bundler drops functions
 * that nobody calls, but keeps every method of a class.
 *
 * @module
 */
import type { Plugin } from "esbuild";
import ts from "typescript";
import { ROOT } from "./_paths.ts";

/** Methods that nothing in the Worker calls, by file; a test looks for calls. */
export const UNUSED_METHODS: Readonly<Record<string, readonly string[]>> = {
  "lib/conversations.ts": ["touch", "clear"],
  "lib/feed.ts": ["remove"],
  "lib/page_views.ts": ["count"],
  "lib/rate_limiter.ts": ["peek"],
};

/** A plugin that loads those files without those methods. */
export const withoutUnusedMethods: Plugin = {
  name: "without-unused-methods",
  setup({ onLoad }) {
    for (const [path, names] of Object.entries(UNUSED_METHODS)) {
      const filter = new RegExp(`/${path.replaceAll(".", "\\.")}$`);
      onLoad({ filter }, async () => {
        const text = await Deno.readTextFile(ROOT + path);
        return { contents: withoutMethods(path, text, names), loader: "ts" };
      });
    }
  },
};

/** A module's text without some methods of its classes. */
function withoutMethods(path: string, text: string, names: readonly string[]): string {
  const methods = findMethods(ts.createSourceFile(path, text, ts.ScriptTarget.Latest), names);
  if (methods.length !== names.length) {
    throw new Error(`Cannot leave out of ${path}: ${names.join(", ")}: found ${methods.length}`);
  }
  // From the last to the first, so that places further up stay what they are.
  return methods.reduceRight((rest, { pos, end }) => rest.slice(0, pos) + rest.slice(end), text);
}

/**
 * Finds methods of classes by name.
 *
 * @param source The module.
 * @param names The methods' names.
 * @returns Their declarations, in order.
 */
export function findMethods(
  source: ts.SourceFile,
  names: readonly string[],
): ts.MethodDeclaration[] {
  return source.statements.filter(ts.isClassDeclaration).flatMap(({ members }) => [...members])
    .filter(ts.isMethodDeclaration)
    .filter(({ name }) => ts.isIdentifier(name) && names.includes(name.text));
}
