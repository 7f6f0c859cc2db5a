/**
 * Writes `scripts/site/search.json`: what `/api/search` finds. Run it after changing a page.
 *
 * @module
 */
const SITE = new URL("./site/", import.meta.url);

/** A page as the search knows it. */
export interface IndexedPage {
  /** Its address. */
  readonly path: string;
  /** Its title. */
  readonly title: string;
  /** Its text, without the navigation. */
  readonly text: string;
}

/**
 * Reads one page.
 *
 * @param name The file, from the site's folder.
 * @param html Its content.
 * @returns The page.
 */
export function indexPage(name: string, html: string): IndexedPage {
  const path = `/${name.replace(/(^index)?\.html$/, "")}`;
  const [, title = ""] = /<h1>([\s\S]*?)<\/h1>/.exec(html) ?? [];
  const [, main = ""] = /<main[^>]*>([\s\S]*?)<\/main>/.exec(html) ?? [];
  return { path, title: textOf(title), text: textOf(main.replace(/<h1>[\s\S]*?<\/h1>/, "")) };
}

function textOf(html: string): string {
  return html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").replace(/ ([.,:;?])/g, "$1").trim();
}

/**
 * Reads all pages of the site.
 *
 * @returns The pages by address.
 */
export async function indexSite(): Promise<IndexedPage[]> {
  const pages: IndexedPage[] = [];
  for (const folder of ["", "blog/"]) {
    for await (const { name, isFile } of Deno.readDir(new URL(folder || ".", SITE))) {
      if (!isFile || !name.endsWith(".html") || name === "404.html") continue;
      const html = await Deno.readTextFile(new URL(folder + name, SITE));
      pages.push(indexPage(folder + name, html));
    }
  }
  return pages.sort((a, b) => a.path < b.path ? -1 : 1);
}

if (import.meta.main) {
  const text = JSON.stringify({ pages: await indexSite() }, null, 2);
  await Deno.writeTextFile(new URL("search.json", SITE), `${text}\n`);
}
