/**
 * `POST /api/waitlist`: the site's own data, which nothing else may keep from being stored.
 *
 * @module
 */

import { type D1Like, nameOwner, runOnce } from "../../claim_table.ts";
import { classifyKvError } from "../../kv/errors.ts";
import { buildKey } from "../../kv/keys.ts";
import type { Kv } from "../../kv/kv.ts";
import { isForm, readBody } from "./_body.ts";
import { answerJson, errorResponse, type Route, type RouteContext } from "../route.ts";

/** Characters of an address at most, as mail servers have it. */
const EMAIL_CHARACTERS_MAX = 254;
/** KV takes one write a second for a key; what was refused for that is tried again after this. */
const AGAIN_MS = 1_100;

/** A signup is claimed for good; a claim whose isolate died while it stored lapses after a minute. */
const CLAIMS = { table: "waitlist_claims", ttlSeconds: Infinity, leaseSeconds: 60 } as const;

/**
 * One read, and one write for a new address; with a D1 binding `DB`, two queries before it. Where KV does
 * not answer in time (503), the address may have been stored all the same: sending it again does no harm.
 */
export const waitlistRoutes: readonly Route[] = [{
  method: "POST",
  path: "/api/waitlist",
  handle: join,
}];

async function join(context: RouteContext): Promise<Response> {
  const { request, kv, budget } = context;
  const email = await readEmail(request);
  if (email === undefined) {
    return errorResponse(
      400,
      "badEmail",
      "Cannot use this as an e-mail address: expected name@host",
    );
  }
  if (!kv) return errorResponse(503, "unavailable", "The waitlist is closed: no store is bound");
  const key = await buildKey(["waitlist", email], { partBytesMax: 400 });
  budget.note("waitlist", "read");
  // A read that fails must not keep the signup from being stored: the key is the same either way.
  const known = await Promise.resolve().then(() => kv.get(key)).catch(() => null);
  if (known === null) await storeOnce(context, key, () => store(context, kv, key, email));
  return accepted(request, isD1(context.env.DB) ? "exactly once" : "at least once");
}

/** Stores what nobody else is storing, as far as D1 can be asked; no signup is lost to its trouble. */
async function storeOnce(
  { env: { DB }, clock, random, report }: RouteContext,
  key: string,
  write: () => Promise<void>,
): Promise<void> {
  const progress = { begun: false, done: false };
  if (isD1(DB)) {
    try {
      const claims = { ...CLAIMS, db: DB, clock };
      await runOnce(claims, key, nameOwner(random), async () => {
        progress.begun = true;
        await write();
        progress.done = true;
      });
      return;
    } catch (error) {
      if (progress.begun && !progress.done) throw error;
      report(error);
    }
  }
  if (!progress.done) await write();
}

function isD1(value: unknown): value is D1Like {
  return typeof value === "object" && value !== null && "prepare" in value;
}

async function store(context: RouteContext, kv: Kv, key: string, email: string): Promise<void> {
  const { budget, clock, ctx, report } = context;
  const value = JSON.stringify({ v: 1, email, at: new Date(clock.now()).toISOString() });
  budget.note("waitlist", "write");
  try {
    await kv.put(key, value);
  } catch (error) {
    if (classifyKvError(error) !== "rate") throw error;
    // Somebody has just written the same address: a second click. It is written once more, later.
    budget.note("waitlist", "write");
    ctx.waitUntil(clock.sleep(AGAIN_MS).then(() => kv.put(key, value)).catch(report));
  }
}

/** The address, in lower case; `undefined` where there is none. */
async function readEmail(request: Request): Promise<string | undefined> {
  const body = await readBody(request);
  const email = body instanceof Response ? undefined : body.email;
  const address = typeof email === "string" ? email.trim().toLowerCase() : "";
  const isAddress =
    /^[^\s\p{C}@<>"(),:;\\]{1,64}@[^\s\p{C}@<>"(),:;\\.]+(\.[^\s\p{C}@<>"(),:;\\.]+)+$/u.test(
      address,
    );
  return isAddress && address.length <= EMAIL_CHARACTERS_MAX ? address : undefined;
}

/** The same answer for a new address and for one that is already there. */
function accepted(request: Request, guarantee: string): Response {
  if (!isForm(request) || !/text\/html/.test(request.headers.get("accept") ?? "")) {
    return answerJson({ ok: true, guarantee }, 202);
  }
  const page = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/style.css"><title>You are on the list</title>
<main><h1>You are on the list</h1><p><a href="/">Back to the site</a></p></main></html>`;
  return new Response(page, {
    status: 202,
    headers: { "cache-control": "no-store", "content-type": "text/html; charset=utf-8" },
  });
}
