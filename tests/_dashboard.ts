/** The built Worker on workerd, and a browser to look at it. */
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { Miniflare, Response } from "miniflare";
import { bundleWorker, stop } from "../scripts/_bundle.ts";
import type { Kv } from "../lib/kv/kv.ts";
import type { DayReport } from "../lib/views/types.ts";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where Debian's package puts the browser. */
const CHROMIUM = "/usr/bin/chromium";

/** A Worker that serves a site of one page. */
export interface Dashboard {
  /** Its address. */
  readonly url: string;
  /** Stores days, as the article's counter did. */
  store(days: readonly DayReport[]): Promise<void>;
  /** Stores any text under a key. */
  put(key: string, value: string): Promise<void>;
  /** Stops it. */
  stop(): Promise<void>;
}

/**
 * Starts the built Worker with an empty store.
 *
 * @param bindings Its variables.
 */
export async function startDashboard(bindings: Record<string, string> = {}): Promise<Dashboard> {
  const { code } = await bundleWorker().finally(stop);
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    modules: [{ type: "ESModule", path: "worker.js", contents: new TextDecoder().decode(code) }],
    compatibilityDate: "2026-07-01",
    bindings,
    kvNamespaces: ["KV"],
    serviceBindings: {
      ASSETS: () => new Response("<h1>Page</h1>", { headers: { "content-type": "text/html" } }),
    },
  });
  const url = (await miniflare.ready).origin;
  const kv = await miniflare.getKVNamespace("KV") as unknown as Kv;
  return {
    url,
    put: (key, value) => kv.put(key, value),
    store: async (days) => {
      for (const { date, total, paths, refs, kinds, skipped, dropped } of days) {
        const bucket = { date, total, paths, refs, kinds, skipped, dropped };
        await kv.put(`traffic:${date}`, JSON.stringify(bucket));
      }
    },
    stop: () => miniflare.dispose(),
  };
}

/** Starts a browser. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** A page that notes whatever should not happen on it. */
export interface WatchedPage {
  /** The page. */
  readonly page: Page;
  /** Errors, refusals of the policy, dialogs, requests to other hosts. */
  readonly problems: string[];
}

/**
 * Opens a page and watches it.
 *
 * @param browser The browser.
 * @param options What `newPage` takes.
 */
export async function watchedPage(
  browser: Browser,
  options: Parameters<Browser["newPage"]>[0] = {},
): Promise<WatchedPage> {
  const page = await browser.newPage(options);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", async (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) {
      problems.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") problems.push(`asks ${request.url()}`);
  });
  return { page, problems };
}

/**
 * Looks for violations of the accessibility rules.
 *
 * @param page The page.
 * @returns One line for each violation; none when all is well.
 */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any -- what the script above has put there
    const { violations } = await (globalThis as any).axe.run(document);
    return violations.map((each: { id: string; nodes: { html: string }[] }) =>
      `${each.id}: ${each.nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`
    );
  });
}

/** How far the page is wider than the window, in pixels. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}
