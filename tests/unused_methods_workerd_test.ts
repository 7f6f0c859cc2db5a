import { assert, assertEquals } from "@std/assert";
import ts from "typescript";
import { WORKER_ENTRY } from "../scripts/_bundle.ts";
import { ROOT } from "../scripts/_paths.ts";
import { findMethods, UNUSED_METHODS } from "../scripts/_unused_methods.ts";

/** The types of everything that the Worker is made of. */
function readWorker(): ts.LanguageService {
  return ts.createLanguageService({
    getCompilationSettings: () => ({
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      allowImportingTsExtensions: true,
      types: [],
    }),
    getScriptFileNames: () => [ROOT + WORKER_ENTRY],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path) => ts.ScriptSnapshot.fromString(Deno.readTextFileSync(path)),
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
  });
}

/** Where a method is mentioned, other than where it is declared. */
function mentions(service: ts.LanguageService, path: string, place: number): string[] {
  return (service.getReferencesAtPosition(ROOT + path, place) ?? [])
    .filter(({ fileName, textSpan }) => fileName !== ROOT + path || textSpan.start !== place)
    .map(({ fileName, textSpan }) => `${fileName.slice(ROOT.length)}:${textSpan.start}`);
}

function findMentions(service: ts.LanguageService, path: string, names: readonly string[]) {
  const source = ts.createSourceFile(
    path,
    Deno.readTextFileSync(ROOT + path),
    ts.ScriptTarget.Latest,
  );
  return findMethods(source, names)
    .flatMap(({ name }) => mentions(service, path, name.getStart(source)));
}

/** What interfaces ask for by that name: a call of such a method mentions no class. */
function findSignatures(service: ts.LanguageService, names: readonly string[]): string[] {
  const found: string[] = [];
  for (const source of service.getProgram()?.getSourceFiles() ?? []) {
    const visit = (node: ts.Node): void => {
      if (ts.isMethodSignature(node) && names.includes(node.name.getText(source))) {
        found.push(`${source.fileName}:${node.getStart(source)}`);
      }
      ts.forEachChild(node, visit);
    };
    if (source.fileName.startsWith(`${ROOT}lib/`)) visit(source);
  }
  return found;
}

Deno.test("UNUSED_METHODS are methods that nothing in the Worker mentions", () => {
  const service = readWorker();
  for (const [path, names] of Object.entries(UNUSED_METHODS)) {
    assertEquals(findMentions(service, path, names), [], path);
    assertEquals(findSignatures(service, names), [], path);
  }
  // What is called is found: the route of conversations appends, and limits are asked for by interface.
  const calls = findMentions(service, "lib/conversations.ts", ["append"]);
  assertEquals(calls.map((call) => call.replace(/:.*/, "")), ["lib/worker/routes/chat.ts"]);
  assert(findSignatures(service, ["limit"]).length > 0);
});
