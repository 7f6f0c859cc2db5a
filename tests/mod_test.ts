import { assertEquals } from "@std/assert";
import * as mod from "@scrimp/kv";
import * as kv from "@scrimp/kv/kv";

/** What each sub-path exports at run time. A name that goes is a breaking change. */
const SURFACE: readonly (readonly [path: string, module: object, names: readonly string[]])[] = [
  [".", mod, ["systemClock", "systemRandom"]],
  ["./kv", kv, []],
];

for (const [path, module, names] of SURFACE) {
  Deno.test(`${path} exports these ${names.length} names`, () => {
    assertEquals(Object.keys(module).sort(), [...names].sort());
  });
}
