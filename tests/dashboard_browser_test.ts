import { assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import type { Browser, Page } from "playwright-core";
import type { RangeReport } from "../lib/views/types.ts";
import {
  axeViolations,
  type Dashboard,
  overflow,
  startBrowser,
  startDashboard,
  watchedPage,
} from "./_dashboard.ts";
import { fullDay, spread } from "./_report_fixtures.ts";

const DAY_MS = 86_400_000;
const SECRET = "correct horse battery staple";
/** Names that have broken pages. */
const HOSTILE = [
  "/<script>alert(1)</script>",
  '/"><img src=x onerror=alert(1)>',
  "/'onmouseover='alert(1)",
  "javascript:alert(1)",
  "/</style><script>alert(1)</script>",
  "/</title><svg onload=alert(1)>",
  "/&lt;b&gt;&#0;",
  "/${alert(1)}`",
  "/\u202egnp.exe",
  "/\u0000\u001b[31m\r\n",
  `/${"a".repeat(3000)}`,
  "/\u{1f600}".repeat(50),
  "__proto__",
  "constructor",
  "/%00%3Cscript%3E",
  "//evil.example/x",
];

/** The real last days: the Worker has a real clock. */
function lastDates(count: number): string[] {
  return Array.from(
    { length: count },
    (_, i) => new Date(Date.now() - (count - 1 - i) * DAY_MS).toISOString().slice(0, 10),
  );
}

function daysOf(count: number) {
  return lastDates(count).map((date, i) =>
    fullDay(date, 40 + (i * 37) % 90, { partial: i === count - 1 })
  );
}

/** Runs with a Worker and a browser, and stops both whatever happens. */
function browserTest(
  name: string,
  bindings: Record<string, string>,
  run: (t: Deno.TestContext, dashboard: Dashboard, browser: Browser) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(t) {
      const dashboard = await startDashboard(bindings);
      try {
        const browser = await startBrowser();
        try {
          await run(t, dashboard, browser);
        } finally {
          await browser.close();
        }
      } finally {
        await dashboard.stop();
      }
    },
  });
}

/** The numbers of a list on the page, by name. */
function listOf(page: Page, title: string): Promise<[string, number][]> {
  return page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) })
    .locator("li").evaluateAll((items) =>
      items.map((item): [string, number] => [
        item.querySelector("span")?.textContent ?? "",
        Number(item.querySelector("b")?.firstChild?.textContent?.replaceAll(",", "")),
      ])
    );
}

async function apiOf(dashboard: Dashboard, days: number): Promise<RangeReport> {
  const answer = await fetch(`${dashboard.url}/api/traffic?days=${days}`);
  return await answer.json() as RangeReport;
}

browserTest("an empty traffic page", {}, async (t, dashboard, browser) => {
  await t.step("has words for it", async () => {
    const { page, problems } = await watchedPage(browser);
    await page.goto(`${dashboard.url}/traffic`);
    assertStringIncludes(await page.textContent("main") ?? "", "No views. Open a page");
    assertEquals(await axeViolations(page), []);
    assertEquals(problems, []);
    await page.close();
  });
});

browserTest("the traffic page", {}, async (t, dashboard, browser) => {
  await dashboard.store(daysOf(90));

  await t.step("shows the API's numbers", async () => {
    const { page, problems } = await watchedPage(browser);
    for (const count of [7, 90]) {
      await page.goto(`${dashboard.url}/traffic?days=${count}`);
      const { days, total } = await apiOf(dashboard, count);
      const number = async (selector: string) =>
        Number((await page.textContent(selector))?.replaceAll(",", ""));
      assertEquals(await number("strong"), total);
      await page.click("summary");
      const rows = await page.locator("tbody tr").evaluateAll((all) =>
        all.map((row) => [
          row.querySelector("a")?.getAttribute("href")?.slice(6),
          Number(row.querySelector("td")?.textContent?.replaceAll(",", "")),
        ])
      );
      assertEquals(rows, days.map((day) => [day.date, day.total]).reverse());
      for (const [title, pick] of [["Pages", "paths"], ["Sources", "refs"]] as const) {
        const sum = days.flatMap((day) => Object.values(day[pick])).reduce((a, b) => a + b, 0);
        const list = await listOf(page, title);
        assertEquals(list.reduce((all, [, views]) => all + views, 0), sum);
      }
      const pricing = days.reduce((all, day) => all + (day.paths["/pricing"] ?? 0), 0);
      assertEquals(new Map(await listOf(page, "Pages")).get("/pricing"), pricing);
    }
    assertEquals(problems, []);
    await page.close();
  });

  await t.step("is complete without script, and its links lead on", async () => {
    const { page } = await watchedPage(browser, { javaScriptEnabled: false });
    await page.goto(`${dashboard.url}/traffic`);
    const { total } = await apiOf(dashboard, 7);
    assertEquals(await page.textContent("strong"), total.toLocaleString("en-US"));
    await page.getByRole("link", { name: "/pricing" }).click();
    assertStringIncludes(await page.textContent("h1") ?? "", "/pricing");
    await page.getByRole("link", { name: "Show everything" }).click();
    await page.getByRole("link", { name: "30 days" }).click();
    assertEquals(new URL(page.url()).search, "?days=30");
    await page.locator("summary").click();
    await page.locator("tbody a").nth(3).click();
    assertEquals(new URL(page.url()).search, `?date=${lastDates(4)[0]}`);
    await page.getByRole("link", { name: /^\w+ \d/ }).first().click();
    assertEquals(new URL(page.url()).search, `?date=${lastDates(5)[0]}`);
    await page.close();
  });

  await t.step("works with the keyboard", async () => {
    const { page } = await watchedPage(browser);
    await page.goto(`${dashboard.url}/traffic`);
    const visited: string[] = [];
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press("Tab");
      visited.push(await page.evaluate(() => document.activeElement?.textContent ?? ""));
    }
    assertEquals(visited.slice(1), ["Today", "7 days", "30 days", "90 days", "Every day"]);
    await page.keyboard.press("Enter");
    assertEquals(await page.locator("tbody tr").first().isVisible(), true);
    await page.close();
  });

  await t.step("has no violation of accessibility rules and fits a phone", async () => {
    for (const [colorScheme, width] of [["light", 1200], ["dark", 320]] as const) {
      const viewport = { width, height: 800 };
      const { page, problems } = await watchedPage(browser, { colorScheme, viewport });
      const yesterday = lastDates(2)[0];
      for (const query of ["", "?days=90", `?date=${yesterday}`, "?ref=google", "?days=0"]) {
        await page.goto(`${dashboard.url}/traffic${query}`);
        const details = page.locator("summary");
        if (await details.count() > 0) await details.click();
        assertEquals([query, await axeViolations(page)], [query, []]);
        assertEquals([query, await overflow(page)], [query, 0]);
      }
      assertEquals(problems, []);
      await page.close();
    }
  });

  await t.step("refreshes what is live by itself", async () => {
    const { page, problems } = await watchedPage(browser);
    await page.clock.install();
    await page.goto(`${dashboard.url}/traffic`);
    await page.evaluate(() => document.querySelector("main")?.setAttribute("data-old", ""));
    await page.clock.fastForward(61_000);
    await page.waitForFunction(() => !document.querySelector("main[data-old]"));
    assertEquals(problems, []);
    await page.close();
  });

  await t.step("of 90 days weighs at most 60 KB", async () => {
    const answer = await fetch(`${dashboard.url}/traffic?days=90`);
    const { byteLength } = await answer.arrayBuffer();
    assertLess(byteLength, 60_000);
  });
});

browserTest("a traffic page of hostile values", {}, async (t, dashboard, browser) => {
  const counts = spread(500, HOSTILE);
  for (const [i, date] of lastDates(12).entries()) {
    const day = { date, total: 500, paths: counts, refs: counts, kinds: counts, skipped: counts };
    const texts = [
      JSON.stringify(day),
      JSON.stringify({ ...day, total: "<script>alert(1)</script>" }),
      JSON.stringify({ ...day, note: HOSTILE[0], timeZone: HOSTILE[1], warning: HOSTILE }),
      "<script>alert(1)</script>",
      JSON.stringify({ ...day, total: -5 }),
      JSON.stringify({ ...day, paths: { a: { text: "<script>" } } }),
    ];
    await dashboard.put(`traffic:${date}`, texts[i % texts.length] ?? "");
  }

  await t.step("runs nothing and keeps its layout", async () => {
    for (const [query, width] of [["?days=30", 320], ["", 1200]] as const) {
      const viewport = { width, height: 800 };
      const { page, problems } = await watchedPage(browser, { viewport });
      await page.goto(`${dashboard.url}/traffic${query}`);
      await page.locator("svg a rect").last().hover({ force: true });
      assertEquals(await overflow(page), 0);
      assertEquals(await page.locator("main script, main img, main style").count(), 0);
      assertEquals(await axeViolations(page), []);
      assertEquals(problems, []);
      await page.close();
    }
  });

  await t.step("says what could not be read", async () => {
    const { page } = await watchedPage(browser);
    await page.goto(`${dashboard.url}/traffic?days=30`);
    assertStringIncludes(await page.textContent("main") ?? "", "stored values could not be read");
    await page.close();
  });

  await t.step("narrows itself to any name", async () => {
    const { page, problems } = await watchedPage(browser);
    for (const name of HOSTILE) {
      await page.goto(`${dashboard.url}/traffic?days=30&ref=${encodeURIComponent(name)}`);
      assertEquals(await page.locator("h1").count(), 1);
      assertEquals(await page.locator("main script, main img").count(), 0);
    }
    assertEquals(problems, []);
    await page.close();
  });
});

browserTest(
  "a private traffic page",
  { TRAFFIC_PRIVATE: "1", ADMIN_TOKEN: SECRET },
  async (t, dashboard, browser) => {
    for (const colorScheme of ["light", "dark"] as const) {
      await t.step(`lets in whoever knows the secret, ${colorScheme}`, async () => {
        const { page, problems } = await watchedPage(browser, { colorScheme });
        await page.goto(`${dashboard.url}/traffic`);
        assertEquals(await axeViolations(page), []);
        await page.getByLabel("Admin token").fill("wrong");
        await page.getByRole("button", { name: "Log in" }).click();
        assertStringIncludes(await page.textContent("[role=alert]") ?? "", "Wrong token");
        assertEquals(await axeViolations(page), []);
        await page.getByLabel("Admin token").fill(SECRET);
        await page.getByRole("button", { name: "Log in" }).click();
        await page.waitForURL(`${dashboard.url}/traffic`);
        assertEquals(await page.locator("strong").count(), 1);
        assertEquals(await page.evaluate(() => document.cookie), "");
        assertEquals(await axeViolations(page), []);
        await page.getByRole("button", { name: "Log out" }).click();
        await page.getByLabel("Admin token").waitFor();
        await page.goBack();
        await page.reload();
        assertEquals(await page.locator("strong").count(), 0);
        assertEquals(problems, []);
        await page.close();
      });
    }
  },
);
