/**
 * What runs in the isolates of a hostile world: the counter alone, or the whole Worker.
 *
 * @module
 */

import type { Random } from "../../lib/clock.ts";
import { PageViews } from "../../lib/page_views.ts";
import type { Isolate } from "../../lib/sim/mod.ts";
import { createWorker } from "../../lib/worker/create_worker.ts";

/** The code of one isolate. */
export interface Program {
  /** The page that its visitors ask for: like no other isolate's. */
  readonly page: string;
  /** A visitor comes; the page must be the same whatever happens. */
  view(problem: (text: string) => void): void;
  /** Views of a day that are not stored, as the program itself says; the Worker tells of today only. */
  pending(day: string): Promise<number | undefined>;
  /** A visitor signs up, where the program does that. */
  signup?(email: string): Promise<"stored" | "refused">;
}

/** What a program is told. */
export interface ProgramOptions {
  readonly page: string;
  readonly colo: string;
  readonly random: Random;
  readonly writesPerDay: number;
  readonly timeZone: string;
  readonly store: "bound" | "none";
  readonly spoil?: "double";
}

const HEADERS = {
  "user-agent": "Mozilla/5.0 (X11; Linux; SECRET1) Gecko/20100101 Firefox/140.0",
  "accept-language": "en;SECRET2",
  "cookie": "session=SECRET3",
  "authorization": "Bearer SECRET4",
  "referer": "https://user:SECRET5@news.example/SECRET6?q=SECRET7#SECRET8",
  "cf-connecting-ip": "203.0.113.9",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};
const HTML = { "content-type": "text/html; charset=utf-8" };

function visit({ page, colo }: ProgramOptions): Request {
  const url = `https://site.example${page}?utm_campaign=SECRET9&q=SECRET10#SECRET11`;
  return Object.assign(new Request(url, { headers: HEADERS }), { cf: { colo } });
}

/** Starts the counter alone. Errors that it tells of are expected. */
export function startCounter(isolate: Isolate, options: ProgramOptions): Program {
  const { page, colo, random, writesPerDay, timeZone } = options;
  const { clock, edgeCache, kv, ctx } = isolate;
  const views = new PageViews(kv, {
    clock,
    random,
    edgeCache,
    colo,
    writesPerDay,
    timeZone,
    keysMax: 10_000,
  });
  const request = visit(options);
  const response = new Response("", { headers: HTML });
  return {
    page,
    view() {
      views.count(request, response, ctx);
      if (options.spoil) views.count(request, response, ctx);
    },
    pending: (day) => views.pending(day),
  };
}

/** Starts the whole Worker. */
export function startWorker(isolate: Isolate, options: ProgramOptions): Program {
  const { page, colo, random, writesPerDay, timeZone, store } = options;
  const { clock, edgeCache, kv, ctx } = isolate;
  const worker = createWorker({ clock, random, edgeCache });
  const response = new Response("<h1>Page</h1>", { headers: HTML });
  const env = {
    ...(store === "bound" ? { KV: kv } : {}),
    ASSETS: { fetch: () => Promise.resolve(response) },
    VIEWS_WRITES_PER_DAY: String(writesPerDay),
    TIME_ZONE: timeZone,
  };
  const request = visit(options);
  return {
    page,
    view(problem) {
      isolate.run((async () => {
        const answer = await worker.fetch(request, env, ctx);
        if (answer !== response) problem(`${page} is answered otherwise: ${answer.status}`);
      })());
    },
    async pending(day) {
      const answer = await worker.fetch(new Request("https://site.example/api/health"), env, ctx);
      const { views } = await answer.json() as { views: { day: string; pending: number } };
      return views.day === day ? views.pending : undefined;
    },
    async signup(email) {
      const request = new Request("https://site.example/api/waitlist", {
        method: "POST",
        headers: { ...HEADERS, "content-type": "application/json", "cf-connecting-ip": email },
        body: JSON.stringify({ email }),
      });
      const answer = await worker.fetch(Object.assign(request, { cf: { colo } }), env, ctx);
      return answer.status === 202 ? "stored" : "refused";
    },
  };
}
