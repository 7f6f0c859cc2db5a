import { assertEquals, assertMatch } from "@std/assert";
import type { Browser, Page } from "playwright-core";
import { Miniflare } from "miniflare";
import { routes } from "../lib/worker/routes.ts";
import { bundleWorker, stop } from "../scripts/_bundle.ts";
import { readConfig } from "../scripts/_config.ts";
import { localWorker } from "../scripts/_local_worker.ts";
import { axeViolations, overflow, startBrowser, watchedPage } from "./_dashboard.ts";

const SECRET = "correct horse battery staple";
const PAGES = ["/", "/about", "/pricing", "/blog", "/search", "/chat", "/feed", "/nothing-here"];

/** The demo site as `deno task dev` serves it. */
async function startSite() {
  const { code } = await bundleWorker().finally(stop);
  const folder = await Deno.makeTempDir();
  const options = localWorker(await readConfig(), {
    code: new TextDecoder().decode(code),
    port: 0,
    stateFolder: folder,
    vars: { ADMIN_TOKEN: SECRET },
  });
  const miniflare = new Miniflare(options);
  const { origin } = await miniflare.ready;
  return {
    origin,
    async stop() {
      await miniflare.dispose();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

function textOf(page: Page, selector: string): Promise<string> {
  return page.locator(selector).textContent().then((text) => text?.trim() ?? "");
}

/** Submits a form and waits for what it says. */
async function submit(page: Page, form: string, fields: Record<string, string>): Promise<string> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`${form} #${name}`, value);
  const answered = page.waitForResponse(/\/api\//);
  await page.click(`${form} button`);
  await answered;
  await page.waitForFunction(
    (selector) => !document.querySelector<HTMLButtonElement>(selector)?.disabled,
    `${form} button`,
  );
  return await textOf(page, `${form} .status`);
}

async function everyPage(browser: Browser, origin: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, problems } = await watchedPage(browser, {
      colorScheme,
      viewport: { width: 360, height: 700 },
    });
    for (const path of PAGES) {
      await page.goto(origin + path, { waitUntil: "networkidle" });
      assertEquals(await axeViolations(page), [], `${path} ${colorScheme}`);
      assertEquals(await overflow(page), 0, path);
    }
    assertEquals(problems, []);
    await page.close();
  }
}

async function theWaitlist(browser: Browser, origin: string): Promise<void> {
  const { page, problems } = await watchedPage(browser);
  await page.goto(origin);
  const said = await submit(page, "#waitlist", { email: "someone@example.com" });
  assertEquals(said, "Thank you. You are on the list.");
  assertEquals(problems, []);
  await page.close();
  const plain = await browser.newPage({ javaScriptEnabled: false });
  await plain.goto(origin);
  await plain.fill("#email", "other@example.com");
  await plain.click("#waitlist button");
  assertEquals(await textOf(plain, "h1"), "You are on the list");
  await plain.close();
}

async function theSearch(browser: Browser, origin: string): Promise<void> {
  const { page, problems } = await watchedPage(browser);
  await page.goto(`${origin}/search`);
  await page.locator("#q").pressSequentially("writes", { delay: 30 });
  await page.waitForFunction(() =>
    /page/.test(document.querySelector(".status")?.textContent ?? "")
  );
  assertMatch(await textOf(page, "#search .status"), /^\d+ pages?$/);
  await page.click("#results a");
  await page.waitForSelector("h1");
  await page.goto(`${origin}/search`);
  await submit(page, "#search", { q: "someone@example.com" });
  assertMatch(await submit(page, "#terms", { token: "wrong" }), /TOKEN/);
  await submit(page, "#terms", { token: SECRET });
  await page.waitForSelector("table");
  assertEquals(await page.locator("tbody tr").allTextContents(), ["writes10"]);
  assertMatch(await textOf(page, "#terms .status"), /1 withheld/);
  assertEquals(problems, []);
  await page.close();
}

async function theChat(browser: Browser, origin: string): Promise<void> {
  const { page, problems } = await watchedPage(browser);
  await page.goto(`${origin}/chat`);
  const hostile = "<img src=x onerror=alert(1)>";
  await submit(page, "#chat", { content: "Hello" });
  await submit(page, "#chat", { content: hostile });
  const messages = page.locator("#messages li");
  const said = ["Hello", "Hello", hostile, hostile];
  assertEquals(await messages.allTextContents(), said);
  await page.reload({ waitUntil: "networkidle" });
  assertEquals(await messages.allTextContents(), said);
  await page.click("#again");
  assertEquals(await messages.count(), 0);
  assertEquals(problems, []);
  await page.close();
}

async function theFeed(browser: Browser, origin: string): Promise<void> {
  const { page, problems } = await watchedPage(browser);
  await page.goto(`${origin}/feed`, { waitUntil: "networkidle" });
  assertEquals(await textOf(page, "#status"), "Nothing has been posted yet.");
  assertMatch(await submit(page, "#post", { title: "x", token: "wrong" }), /TOKEN/);
  for (let i = 0; i < 8; i++) {
    await submit(page, "#post", { title: `Post ${i}`, text: "Text", token: SECRET });
  }
  await page.reload({ waitUntil: "networkidle" });
  const titles = page.locator("#items strong");
  assertEquals(await titles.count(), 6);
  await page.click("#more");
  await page.waitForFunction(() => document.querySelectorAll("#items > li").length === 8);
  const want = Array.from({ length: 8 }, (_, i) => `Post ${7 - i}`);
  assertEquals(await titles.allTextContents(), want);
  assertEquals(problems, []);
  await page.close();
}

Deno.test({
  name: "the demo site in a browser",
  ignore: !routes.some(({ path }) => path === "/api/feed"),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const site = await startSite();
    try {
      const browser = await startBrowser();
      try {
        const steps = { everyPage, theWaitlist, theSearch, theChat, theFeed };
        for (const [name, step] of Object.entries(steps)) {
          await t.step(name, () => step(browser, site.origin));
        }
      } finally {
        await browser.close();
      }
    } finally {
      await site.stop();
    }
  },
});
