/**
 * Three ways to count page views: one write a view, the article's buffer, and ours.
 *
 * @module
 */

import { PageViews } from "../../lib/page_views.ts";
import { Calendar } from "../../lib/views/day.ts";
import { rollUpDays } from "../../lib/views/roll_up.ts";
import type { Kv } from "../../lib/kv/kv.ts";
import type { Random } from "../../lib/clock.ts";
import type { Isolate } from "../../lib/sim/mod.ts";

/** What counts in one isolate. */
export interface Counter {
  /** Counts a view; what takes time goes to the isolate's `waitUntil`. */
  view(page: number): void;
}

/** A way to count. */
export interface Design {
  /** Its name. */
  readonly name: string;
  /** Starts it in an isolate. */
  start(isolate: Isolate, colo: string, random: Random, onError: (error: unknown) => void): Counter;
  /** What a cron trigger does once a day, where there is one. */
  daily?(kv: Kv, today: string): Promise<void>;
}

const TTL = { expirationTtl: 90 * 86_400 };

interface Bucket {
  total: number;
  paths: Record<string, number>;
}

async function addTo(kv: Kv, day: string, add: Bucket): Promise<void> {
  const key = `traffic:${day}`;
  const stored: Bucket = JSON.parse(await kv.get(key) ?? '{"total":0,"paths":{}}');
  stored.total += add.total;
  for (const [path, count] of Object.entries(add.paths)) {
    stored.paths[path] = (stored.paths[path] ?? 0) + count;
  }
  await kv.put(key, JSON.stringify(stored), TTL);
}

/** Reads, adds one and writes back, for every view. */
export const perView: Design = {
  name: "write per view",
  start(isolate, _colo, _random, onError) {
    const calendar = new Calendar();
    return {
      view(page) {
        const { name } = calendar.dayAt(isolate.clock.now());
        const add = { total: 1, paths: { [`/${page}`]: 1 } };
        isolate.ctx.waitUntil(addTo(isolate.kv, name, add).catch(onError));
      },
    };
  },
};

/** Buffers in the isolate, flushes 250 views or every 30 minutes, at most 48 times a day. */
export const article: Design = {
  name: "article",
  start(isolate, _colo, _random, onError) {
    const calendar = new Calendar();
    let day = "";
    let buffer: Bucket = { total: 0, paths: {} };
    let flushedAt = -Infinity;
    let writes = 0;
    const flush = async () => {
      const add = buffer;
      buffer = { total: 0, paths: {} };
      if (writes >= 48) return;
      writes++;
      flushedAt = isolate.clock.now();
      await addTo(isolate.kv, day, add);
    };
    return {
      view(page) {
        const now = isolate.clock.now();
        const { name } = calendar.dayAt(now);
        if (name !== day) {
          day = name;
          buffer = { total: 0, paths: {} };
          writes = 0;
        }
        buffer.total++;
        buffer.paths[`/${page}`] = (buffer.paths[`/${page}`] ?? 0) + 1;
        if (buffer.total < 250 && now - flushedAt < 30 * 60_000) return;
        isolate.ctx.waitUntil(flush().catch(onError));
      },
    };
  },
};

const HEADERS = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};
const PAGE = new Response("", { headers: { "content-type": "text/html" } });

/**
 * Ours.
 *
 * @param writesPerDay The budget.
 * @returns The design.
 */
export function scrimp(writesPerDay = 400): Design {
  const requests: Request[] = [];
  const requestOf = (page: number) =>
    requests[page] ??= new Request(`https://site.example/${page}`, { headers: HEADERS });
  return {
    name: "scrimp",
    start(isolate, colo, random, onError) {
      const { clock, edgeCache, kv, ctx } = isolate;
      const views = new PageViews(kv, { clock, random, edgeCache, colo, writesPerDay, onError });
      return { view: (page) => void views.count(requestOf(page), PAGE, ctx) };
    },
    async daily(kv, today) {
      await rollUpDays(kv, today, { writesPerDay });
    },
  };
}
