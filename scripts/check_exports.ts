/**
 * The exports gate: every sub-path of `deno.json` is there, documented with a runnable example that
 * asserts, and pinned by the surface test.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };
import portable from "./portable.json" with { type: "json" };
import { ROOT } from "./_paths.ts";

const SURFACE_TEST = "tests/mod_test.ts";

/** The text of the comment that a module starts with; empty where there is none. */
export function moduleDoc(source: string): string {
  const [doc = ""] = source.match(/^\s*\/\*\*[\s\S]*?\*\//) ?? [];
  return /^\s*\*\s*@module\b/m.test(doc) ? doc.replaceAll(/^[ \t]*\* ?/gm, "") : "";
}

/** The runnable examples of a comment. */
export function examples(doc: string): string[] {
  return [...doc.matchAll(/^```(?:ts|typescript)[ \t]*\n([\s\S]*?)^```/gm)]
    .map(([, code = ""]) => code);
}

/**
 * What is wrong with an entry module's text.
 *
 * @param specifier What a reader imports, for example `@scrimp/kv/page-views`.
 * @param source The module's text.
 * @returns One sentence a problem.
 */
export function problemsOf(specifier: string, source: string): string[] {
  const doc = moduleDoc(source);
  if (doc === "") return [`${specifier} does not start with a comment that says \`@module\``];
  const code = examples(doc);
  if (code.length === 0) return [`${specifier} has no \`ts\` example in its module comment`];
  const problems: string[] = [];
  if (!code.some((text) => text.includes(`from "${specifier}"`))) {
    problems.push(`${specifier} has no example that imports from "${specifier}"`);
  }
  if (!code.some((text) => /\bassert\w*\(/.test(text))) {
    problems.push(`${specifier} has no example that asserts`);
  }
  return problems;
}

/** Checks the whole package; gives one sentence a problem. */
async function checkExports(): Promise<string[]> {
  const surface = await Deno.readTextFile(ROOT + SURFACE_TEST).catch(() => "");
  const problems: string[] = [];
  if (portable.imports.isbot !== config.imports.isbot) {
    problems.push(`scripts/portable.json and deno.json pin different versions of isbot`);
  }
  for (const [name, path] of Object.entries(config.exports)) {
    const specifier = config.name + name.slice(1);
    const source = await Deno.readTextFile(ROOT + path).catch(() => undefined);
    if (source === undefined) {
      problems.push(`${specifier}: there is no ${path}`);
      continue;
    }
    problems.push(...problemsOf(specifier, source));
    if (!surface.includes(`"${name}"`)) {
      problems.push(`${specifier} is not pinned in ${SURFACE_TEST}: add "${name}" and its names`);
    }
  }
  return problems;
}

if (import.meta.main) {
  const problems = await checkExports();
  for (const problem of problems) console.error(problem);
  console.log(`${Object.keys(config.exports).length} exports, ${problems.length} problems`);
  Deno.exit(problems.length > 0 ? 1 : 0);
}
