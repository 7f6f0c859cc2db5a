import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const TYPESCRIPT = "typescript@5.9.3";

/** Runs a program; fails with what it printed when it fails. */
async function run(cwd: string | URL, [program = "", ...args]: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals(code, 0, `${program} ${args.join(" ")}: ${text}${new TextDecoder().decode(stderr)}`);
  return text;
}

/** All files that a package's exports name. */
function filesOf(exports: Record<string, Record<string, string>>): string[] {
  return Object.values(exports).flatMap((conditions) => Object.values(conditions));
}

Deno.test("the npm tarball works in a Node project, types and all", async () => {
  const folder = await Deno.makeTempDir({ prefix: "scrimp-npm-" });
  try {
    const tarball = `${folder}/scrimp-kv.tgz`;
    const pack = ["pack", "--allow-dirty", "--no-source-maps", "--output", tarball];
    await run(ROOT, [Deno.execPath(), ...pack]);
    for (const file of ["main.ts", "tsconfig.json"]) {
      await Deno.copyFile(new URL(`tests/consumers/node/${file}`, ROOT), `${folder}/${file}`);
    }
    await Deno.writeTextFile(`${folder}/package.json`, '{ "private": true, "type": "module" }');
    await run(folder, ["npm", "install", "--no-audit", "--no-fund", tarball, TYPESCRIPT]);

    const installed = `${folder}/node_modules/@scrimp/kv`;
    const { exports, dependencies } = JSON.parse(
      await Deno.readTextFile(`${installed}/package.json`),
    );
    assertEquals(Object.keys(dependencies), ["isbot"]);
    for (const file of filesOf(exports)) {
      assert((await Deno.stat(`${installed}/${file}`)).isFile, file);
    }

    await run(folder, ["npx", "tsc"]);
    assertEquals(JSON.parse(await run(folder, ["node", "built/main.js"])), {
      value: "1",
      other: "2",
      limited: [true, false],
      pageViews: "function",
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
