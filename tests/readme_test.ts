import { assertEquals } from "@std/assert";
import config from "../deno.json" with { type: "json" };
import envSource from "../lib/worker/env.ts" with { type: "text" };
import { routes } from "../lib/worker/routes.ts";
import readme from "../README.md" with { type: "text" };

/** What of a list the README does not name in back-ticks or in a command. */
function missing(names: readonly string[]): string[] {
  return names.filter((name) => !readme.includes(name));
}

Deno.test("the README names every sub-path", () => {
  const paths = Object.keys(config.exports).filter((path) => path !== ".");
  assertEquals(missing(paths.map((path) => `\`${config.name}${path.slice(1)}\``)), []);
});

Deno.test("the README names every setting and binding of the Worker", () => {
  const names = [...envSource.matchAll(/^ {2}readonly ([A-Z_]+)\?:/gm)].map(([, name]) =>
    `\`${name}\``
  );
  assertEquals(names.length >= 20, true);
  assertEquals(missing(names), []);
});

Deno.test("the README names every route", () => {
  assertEquals(missing(routes.map(({ path }) => `${path}\``)), []);
});

Deno.test("the README names every task", () => {
  assertEquals(missing(Object.keys(config.tasks).map((name) => `deno task ${name}`)), []);
});

Deno.test("the README's links lead to files of the repository, or to JSR", () => {
  const targets = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
  const known = /^(https:\/\/jsr\.io\/.*|LICENSE|CHANGELOG\.md|\.github\/CONTRIBUTING\.md)$/;
  assertEquals(targets.filter((target = "") => !known.test(target)), []);
});
