/**
 * Asks the deployed Worker whether it works.
 *
 * @module
 */

/** How the check is done. */
export interface SmokeOptions {
  /** Makes the requests. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Waits. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Looks in all; a new name takes a while to be known. @default {12} */
  readonly looks?: number;
  /** Milliseconds between two looks. @default {5000} */
  readonly pauseMs?: number;
}

/** A self-declared bot: the check is no page view. */
const HEADERS = { "user-agent": "scrimp-smoke-check (bot)" };
const REQUEST_MS_MAX = 10_000;

/** What must answer, and how one can tell that it does. */
const CHECKS: readonly (readonly [path: string, ok: (response: Response) => Promise<boolean>])[] = [
  ["/", (response) => {
    const html = response.headers.get("content-type")?.includes("text/html") ?? false;
    return Promise.resolve(response.ok && html);
  }],
  ["/api/traffic", async (response) => {
    const body = await response.json().catch(() => undefined) as { total?: unknown } | undefined;
    return response.ok && typeof body?.total === "number";
  }],
];

/**
 * Looks at the site's first page and at today's report until both are right.
 *
 * @param origin The deployed address.
 * @param options How to ask and to wait.
 * @returns What is wrong at the end; `undefined` when all is well.
 */
export async function smokeCheck(
  origin: string,
  { fetch, sleep, looks = 12, pauseMs = 5_000 }: SmokeOptions,
): Promise<string | undefined> {
  let problem: string | undefined;
  for (let look = 0; look < looks; look++) {
    if (look > 0) await sleep(pauseMs);
    problem = undefined;
    for (const [path, ok] of CHECKS) {
      const url = new URL(path, origin).href;
      try {
        const response = await fetch(url, {
          headers: HEADERS,
          signal: AbortSignal.timeout(REQUEST_MS_MAX),
        });
        const right = await ok(response);
        if (!response.bodyUsed) await response.body?.cancel();
        if (!right) problem ??= `${url} answered ${response.status}, and not what was expected`;
      } catch (error) {
        problem ??= `${url} does not answer: ${error instanceof Error ? error.message : error}`;
      }
    }
    if (problem === undefined) return undefined;
  }
  return problem;
}
