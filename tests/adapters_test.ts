import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { honoPageViews } from "@scrimp/kv/hono";
import { pagesPageViews } from "@scrimp/kv/pages";
import { MemoryKv } from "@scrimp/kv/memory-kv";
import { type AdapterOptions, withPageViews } from "@scrimp/kv/with-page-views";
import type { DayReport } from "../lib/views/types.ts";
import { Calendar } from "../lib/views/day.ts";
import { reportDay } from "../lib/views/report.ts";

const NOON = Date.UTC(2026, 10, 30, 12);
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const HTML = { headers: { "content-type": "text/html" } };

interface Env {
  readonly KV?: MemoryKv;
}

interface Site {
  readonly env: Required<Env>;
  readonly ctx: { waitUntil(promise: Promise<unknown>): void };
  readonly errors: unknown[];
  readonly options: AdapterOptions<Env>;
  /** What has been stored, once all promises of `waitUntil` have settled. */
  report(): Promise<DayReport>;
}

function openSite(): Site {
  const visited = Promise.withResolvers<void>();
  let now = NOON;
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      await visited.promise;
      now += ms;
    },
  };
  const kv = new MemoryKv({ now: clock.now });
  const promises: Promise<unknown>[] = [];
  const errors: unknown[] = [];
  const ctx = {
    promises,
    waitUntil(promise: Promise<unknown>) {
      this.promises.push(promise);
    },
  };
  return {
    env: { KV: kv },
    ctx,
    errors,
    options: { clock, onError: (error) => errors.push(error) },
    async report() {
      visited.resolve();
      // Without a context nobody holds the promises.
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      await Promise.all(promises);
      return await reportDay({ kv, now, calendar: new Calendar() }, "2026-11-30");
    },
  };
}

function visit(path: string, colo?: string): Request {
  const request = new Request(`https://site.example${path}`, {
    headers: { "user-agent": FIREFOX },
  });
  return colo === undefined ? request : Object.assign(request, { cf: { colo } });
}

/** Each adapter as a function of request and environment. */
function adapters(
  answer: (request: Request) => Response,
  { options, ctx }: Site,
): [name: string, fetch: (request: Request, env: Env) => Promise<Response>][] {
  const wrapped = withPageViews((request, _env: Env, _ctx: unknown) => answer(request), options);
  const hono = honoPageViews<Env>(options);
  const pages = pagesPageViews<Env>(options);
  return [
    ["withPageViews", (request, env) => wrapped(request, env, ctx)],
    ["honoPageViews", async (raw, env) => {
      const context = { req: { raw }, res: new Response(), env, executionCtx: ctx };
      await hono(context, () => {
        context.res = answer(raw);
        return Promise.resolve();
      });
      return context.res;
    }],
    ["pagesPageViews", (request, env) => {
      const next = () => Promise.resolve().then(() => answer(request));
      return pages({ request, env, next, waitUntil: (promise) => ctx.waitUntil(promise) });
    }],
  ];
}

for (const index of [0, 1, 2]) {
  const page = (request: Request) => new Response(request.url, HTML);
  const open = (answer = page) => {
    const site = openSite();
    const adapter = adapters(answer, site)[index];
    if (!adapter) throw new Error("There is no such adapter");
    return { site, name: adapter[0], fetch: adapter[1] };
  };
  const { name } = open();

  Deno.test(`${name} counts pages and leaves assets and APIs alone`, async () => {
    const { site, fetch } = open();
    for (const path of ["/", "/about", "/about?x=1", "/style.css", "/api/time"]) {
      const response = await fetch(visit(path, "LHR"), site.env);
      assertEquals(await response.text(), `https://site.example${path}`);
    }
    const { total, paths, skipped, freshness } = await site.report();
    assertEquals({ total, paths, skipped }, {
      total: 3,
      paths: { "/": 1, "/about": 2 },
      skipped: {},
    });
    assertEquals(freshness.shards, 1);
    const { keys } = await site.env.KV.list({ prefix: "views:2026-11-30:LHR-" });
    assertEquals(keys.length, 1);
    assertEquals(site.errors, []);
  });

  Deno.test(`${name} tells why a page was not counted`, async () => {
    const { site, fetch } = open(({ url }) =>
      url.endsWith("/missing") ? new Response("", { status: 404 }) : Response.json({})
    );
    await fetch(visit("/missing"), site.env);
    await fetch(visit("/data"), site.env);
    assertEquals((await site.report()).skipped, { notFound: 1, notHtml: 1 });
  });

  Deno.test(`${name} passes on what the app throws, and does not count it`, async () => {
    const { site, fetch } = open(() => {
      throw new Error("out of order");
    });
    await assertRejects(() => fetch(visit("/"), site.env), Error, "out of order");
    assertEquals((await site.report()).total, 0);
  });

  Deno.test(`${name} answers the same without a store, and stores later`, async () => {
    const { site, fetch } = open();
    assertEquals((await fetch(visit("/"), {})).status, 200);
    assertEquals((await site.report()).total, 0);
    assertEquals((await fetch(visit("/"), site.env)).status, 200);
    assertEquals((await site.report()).total, 2);
    assertEquals(site.errors, []);
  });

  Deno.test(`${name} answers the same when the context refuses`, async () => {
    const { site, fetch } = open();
    site.ctx.waitUntil = () => {
      throw new Error("The request has ended");
    };
    assertEquals((await fetch(visit("/"), site.env)).status, 200);
    assertEquals(site.errors.map(String), ["Error: The request has ended"]);
  });
}

Deno.test("withPageViews takes the request alone, as Deno.serve calls it", async () => {
  const { env, options, report } = openSite();
  const handler: Deno.ServeHandler = withPageViews(
    () => new Response("", HTML),
    { ...options, kv: () => env.KV },
  );
  const info = { remoteAddr: {}, completed: Promise.resolve() } as Deno.ServeHandlerInfo;
  await handler(visit("/"), info);
  assertEquals((await report()).total, 1);
});

Deno.test("honoPageViews does without an execution context, which throws when read", async () => {
  const { env, options, errors, report } = openSite();
  const context = {
    req: { raw: visit("/") },
    res: new Response("", HTML),
    env,
    get executionCtx(): never {
      throw new Error("This context has no ExecutionContext");
    },
  };
  await honoPageViews(options)(context, () => Promise.resolve());
  assertEquals((await report()).total, 1);
  assertEquals(errors, []);
});

Deno.test("adapters tell misuse where the app starts", () => {
  const handler = () => new Response();
  for (const make of [honoPageViews, pagesPageViews]) {
    assertThrows(() => make({ writesPerDay: 0 }), RangeError, "Cannot use writesPerDay 0");
  }
  assertThrows(
    () => withPageViews(handler, { lingerMs: -1 }),
    RangeError,
    "Cannot use lingerMs -1",
  );
  const app = { fetch: handler } as unknown as typeof handler;
  assertThrows(() => withPageViews(app), TypeError, "Cannot wrap object: expected a function");
});

Deno.test("adapters draw no chance before the first request", async () => {
  const { env, ctx, options } = openSite();
  let draws = 0;
  const random = () => {
    draws++;
    return 0;
  };
  const fetch = withPageViews((_request, _env: Env, _ctx: unknown) => new Response("", HTML), {
    ...options,
    random,
  });
  assertEquals(draws, 0);
  await fetch(visit("/"), env, ctx);
  assertEquals(draws > 0, true);
});
