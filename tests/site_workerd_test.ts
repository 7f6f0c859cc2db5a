import { assert, assertEquals } from "@std/assert";
import { indexSite } from "../scripts/site_index.ts";

const SITE = new URL("../scripts/site/", import.meta.url);
/** Pages that the Worker makes itself. */
const DYNAMIC = ["/traffic"];

async function filesOf(folder = ""): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder || ".", SITE))) {
    if (isDirectory) files.push(...await filesOf(`${folder}${name}/`));
    else files.push(folder + name);
  }
  return files;
}

const files = await filesOf();
const pages = files.filter((name) => name.endsWith(".html"));

for (const name of pages) {
  Deno.test(`site: ${name} is whole, links to what exists, and asks nobody else`, async () => {
    const html = await Deno.readTextFile(new URL(name, SITE));
    assert(/<html lang="en">/.test(html) && /<title>[^<]+<\/title>/.test(html));
    assertEquals([...html.matchAll(/<h1/g)].length, 1);
    assert(/<meta\s+http-equiv="Content-Security-Policy"\s+content="default-src 'none'/.test(html));
    assertEquals(/<style|style="|<script(?![^>]*src=)|\son\w+="|javascript:/i.test(html), false);
    for (const [, address = ""] of html.matchAll(/(?:href|src|action)="([^"]*)"/g)) {
      const [path = ""] = address.split(/[?#]/);
      if (path === "") continue;
      const known = DYNAMIC.includes(path) || path.startsWith("/api/") || path === "/" ||
        files.includes(path.slice(1)) || files.includes(`${path.slice(1)}.html`);
      assert(known, `${name} links to ${address}`);
    }
    for (const [image] of html.matchAll(/<img[^>]*>/g)) {
      assert(/alt="/.test(image) && /width="\d+"/.test(image) && /height="\d+"/.test(image), image);
    }
    for (const [, id] of html.matchAll(/<label for="(\w+)"/g)) assert(html.includes(`id="${id}"`));
  });
}

Deno.test("site: search.json holds the pages as they are", async () => {
  const text = await Deno.readTextFile(new URL("search.json", SITE));
  assertEquals(JSON.parse(text), { pages: await indexSite() });
});
