/**
 * The project's own lint rules. They keep `lib/` portable and small; files elsewhere are left alone.
 *
 * @module
 */

const ROOT = new URL("../", import.meta.url).pathname;
const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const PACKAGES_ALLOWED = ["isbot"];

type Node = Deno.lint.Node;
type Visitor = Deno.lint.LintVisitor;
type Context = Deno.lint.RuleContext;
type FunctionNode =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;

/** The file's path inside the repository, with forward slashes. */
function pathOf(context: Context): string {
  const name = context.filename.replaceAll("\\", "/");
  return name.startsWith(ROOT) ? name.slice(ROOT.length) : name;
}

/** A rule for the files in `lib/`, less the ones named in `except`. */
function libRule(
  visitor: (context: Context) => Visitor,
  except: readonly string[] = [],
): Deno.lint.Rule {
  return {
    create(context) {
      const path = pathOf(context);
      return path.startsWith("lib/") && !except.includes(path) ? visitor(context) : {};
    },
  };
}

/** `Date.now` for a plain member access on a name, `undefined` for anything else. */
function memberName(node: Node): string | undefined {
  if (node.type !== "MemberExpression" || node.object.type !== "Identifier") return undefined;
  if (node.property.type === "Identifier" && !node.computed) {
    return `${node.object.name}.${node.property.name}`;
  }
  if (node.property.type === "Literal") return `${node.object.name}.${node.property.value}`;
  return undefined;
}

/** Whether an identifier stands for a value of that name, rather than for a key or a member. */
function isReference(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  switch (parent.type) {
    case "MemberExpression":
      return parent.object === node || parent.computed;
    case "Property":
      return parent.value === node || parent.computed;
    case "PropertyDefinition":
      return parent.value === node;
    case "MethodDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
    case "TSQualifiedName":
    case "ImportSpecifier":
    case "ExportSpecifier":
      return false;
    default:
      return true;
  }
}

/** Reports uses of the members and of the global names given. */
function forbid(
  context: Context,
  members: readonly string[],
  globals: readonly string[],
  hint: string,
): Visitor {
  return {
    MemberExpression(node) {
      const name = memberName(node);
      if (name === undefined) return;
      const bare = name.replace(/^(?:globalThis|self)\./, "");
      if (members.includes(name) || (bare !== name && globals.includes(bare))) {
        context.report({ node, message: `\`${name}\` is ambient`, hint });
      }
    },
    Identifier(node) {
      if (globals.includes(node.name) && isReference(node)) {
        context.report({ node, message: `\`${node.name}\` is ambient`, hint });
      }
    },
  };
}

const noAmbientClock = libRule((context) => {
  const hint = "Take a `clock: Clock` and call `clock.now()` once";
  return {
    ...forbid(context, ["Date.now", "performance.now", "performance.timeOrigin"], [
      "Temporal",
    ], hint),
    NewExpression(node) {
      if (
        node.callee.type === "Identifier" && node.callee.name === "Date" &&
        node.arguments.length === 0
      ) {
        context.report({ node, message: "`new Date()` reads the ambient clock", hint });
      }
    },
    CallExpression(node) {
      if (node.callee.type === "Identifier" && node.callee.name === "Date") {
        context.report({ node, message: "`Date()` reads the ambient clock", hint });
      }
    },
  };
}, ["lib/clock.ts"]);

const noAmbientRandom = libRule((context) =>
  forbid(
    context,
    ["Math.random", "crypto.randomUUID", "crypto.getRandomValues"],
    [],
    "Take a `random: Random`",
  ), ["lib/clock.ts"]);

const noTimers = libRule((context) =>
  forbid(
    context,
    ["AbortSignal.timeout", "scheduler.wait"],
    ["setTimeout", "setInterval", "setImmediate"],
    "Take a `clock: Clock` and await `clock.sleep(ms)` inside `waitUntil`",
  ), ["lib/clock.ts"]);

const noRuntime = libRule((context) =>
  forbid(
    context,
    [],
    ["Deno", "Bun", "process", "Buffer", "localStorage", "sessionStorage"],
    "Use web-standard globals only; describe what a runtime passes in as a structural type",
  )
);

const noConsole = libRule((context) =>
  forbid(context, [], ["console"], "A library does not print; return or throw")
);

/** Whether a relative import names a `_private.ts` of another folder. */
function isForeignPrivate(source: string): boolean {
  return /\/_[^/]+$/.test(source) && !/^\.\/[^/]+$/.test(source);
}

const portableImports = libRule((context) => {
  const path = pathOf(context);
  function check(node: Node, source: string): void {
    if (PACKAGES_ALLOWED.includes(source)) return;
    const hint = "Import relative `.ts` files of `lib/` only";
    if (!/^\.\.?\//.test(source)) {
      context.report({ node, message: `\`${source}\` is not a relative import`, hint });
    } else if (!source.endsWith(".ts")) {
      context.report({ node, message: `\`${source}\` lacks the extension \`.ts\``, hint });
    } else if (!new URL(source, `file:///${path}`).pathname.startsWith("/lib/")) {
      context.report({ node, message: `\`${source}\` leaves \`lib/\``, hint });
    } else if (isForeignPrivate(source)) {
      context.report({ node, message: `\`${source}\` is private to another folder`, hint });
    }
  }
  return {
    ImportDeclaration: (node) => check(node, node.source.value),
    ExportAllDeclaration: (node) => check(node, node.source.value),
    ExportNamedDeclaration(node) {
      if (node.source) check(node, node.source.value);
    },
    ImportExpression(node) {
      const { source } = node;
      if (source.type === "Literal" && typeof source.value === "string") {
        check(node, source.value);
      } else {
        context.report({ node, message: "A computed import cannot be checked or bundled" });
      }
    },
  };
});

const noPrivate = libRule((context) => {
  function check(node: Node): void {
    const [word] = context.sourceCode.getText(node).match(/^(?:private|protected)\b/) ?? [];
    if (word === undefined) return;
    context.report({
      node,
      message: `\`${word}\` is not private at run time`,
      hint: "Use `#name`",
    });
  }
  return {
    PropertyDefinition: check,
    MethodDefinition: check,
    TSParameterProperty: check,
  };
});

const noBooleanArgument = libRule((context) => ({
  CallExpression(node) {
    if (node.arguments.some((arg) => arg.type === "Literal" && typeof arg.value === "boolean")) {
      context.report({
        node,
        message: "A bare boolean argument does not say what it decides",
        hint: "Name it, or take an options object",
      });
    }
  },
}));

const noTopLevelArrow = libRule((context) => ({
  VariableDeclarator(node) {
    const at = node.parent.parent;
    if (
      node.init?.type === "ArrowFunctionExpression" &&
      (at.type === "Program" || at.type === "ExportNamedDeclaration")
    ) {
      context.report({
        node,
        message: "A top-level function is declared with `function`",
        hint: "Arrows are for closures; `deno doc` cannot read their types",
      });
    }
  },
}));

const noProxy = libRule((context) => ({
  NewExpression(node) {
    if (node.callee.type === "Identifier" && node.callee.name === "Proxy") {
      context.report({ node, message: "`Proxy` hides what happens", hint: "Write it out" });
    }
  },
}));

/** What a module-level value may change through, or `undefined` when it cannot change. */
function mutability(init: Node | null | undefined): string | undefined {
  if (!init) return undefined;
  if (init.type === "ArrayExpression" && init.elements.length === 0) return "An empty array";
  if (init.type === "ObjectExpression" && init.properties.length === 0) return "An empty object";
  if (init.type === "NewExpression" && init.callee.type === "Identifier") {
    const { name } = init.callee;
    const empty = init.arguments.length === 0;
    if (/^Weak(?:Map|Set)$/.test(name) || (empty && /^(?:Map|Set|Array)$/.test(name))) {
      return `A new \`${name}\``;
    }
  }
  return undefined;
}

const noModuleState = libRule((context) => {
  const hint = "Keep state in an instance: one `createWorker()` is one isolate";
  return {
    Program(program) {
      for (const statement of program.body) {
        const node = statement.type === "ExportNamedDeclaration"
          ? statement.declaration
          : statement;
        if (node?.type === "ExpressionStatement") {
          context.report({ node, message: "A module does no work when it is loaded", hint });
        }
        if (node?.type !== "VariableDeclaration") continue;
        if (node.kind !== "const") {
          context.report({ node, message: `A module-level \`${node.kind}\` is state`, hint });
        }
        for (const { init } of node.declarations) {
          const what = mutability(init);
          if (what && node.kind === "const") {
            context.report({ node, message: `${what} at module level is state`, hint });
          }
          if (init?.type === "AwaitExpression") {
            context.report({ node, message: "A module does no work when it is loaded", hint });
          }
        }
      }
    },
  };
});

const LOOPS = /^(?:For|ForIn|ForOf|While|DoWhile)Statement$/;
const FUNCTIONS = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

const noAwaitInLoop = libRule((context) => ({
  AwaitExpression(node) {
    let child: Node = node;
    for (const parent of context.sourceCode.getAncestors(node).reverse()) {
      if (FUNCTIONS.test(parent.type)) return;
      if (LOOPS.test(parent.type)) {
        const head = parent.type === "ForOfStatement" && parent.right === child;
        if (!head && !(parent.type === "ForOfStatement" && parent.await)) {
          context.report({
            node,
            message: "An `await` in a loop runs one after the other",
            hint: "Use `Promise.all`, or ignore this rule by name where the order is meant",
          });
        }
        return;
      }
      child = parent;
    }
  },
}));

/** Lines that a node covers, its first and last included. */
function linesOf(context: Context, node: Node): number {
  return context.sourceCode.getText(node).split("\n").length;
}

const maxFunctionLines = libRule((context) => {
  function check(node: FunctionNode): void {
    const lines = linesOf(context, node);
    if (lines <= FUNCTION_LINES_MAX) return;
    context.report({
      node,
      message: `A function of ${lines} lines: at most ${FUNCTION_LINES_MAX} are wanted`,
      hint: "Name its parts",
    });
  }
  return {
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  };
});

const maxFileLines = libRule((context) => ({
  Program(node) {
    const lines = context.sourceCode.text.trimEnd().split("\n").length;
    if (lines <= FILE_LINES_MAX) return;
    context.report({
      node,
      message: `A file of ${lines} lines: at most ${FILE_LINES_MAX} are wanted`,
      hint: "Give each file one job",
    });
  },
}));

const plugin: Deno.lint.Plugin = {
  name: "scrimp",
  rules: {
    "no-ambient-clock": noAmbientClock,
    "no-ambient-random": noAmbientRandom,
    "no-timers": noTimers,
    "no-runtime": noRuntime,
    "no-console": noConsole,
    "portable-imports": portableImports,
    "no-private": noPrivate,
    "no-boolean-argument": noBooleanArgument,
    "no-top-level-arrow": noTopLevelArrow,
    "no-proxy": noProxy,
    "no-module-state": noModuleState,
    "no-await-in-loop": noAwaitInLoop,
    "max-function-lines": maxFunctionLines,
    "max-file-lines": maxFileLines,
  },
};
export default plugin;
