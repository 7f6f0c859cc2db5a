/**
 * Says what to do when wrangler or Cloudflare refuses.
 *
 * @module
 */

/** A deployment that cannot go on. The message says what happened, `advice` what to do next. */
export class DeployError extends Error {
  /** What to do next. */
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.name = "DeployError";
    this.advice = advice;
  }
}

const LOG_IN =
  'Set CLOUDFLARE_API_TOKEN (made from the template "Edit Cloudflare Workers"), or log in: deno task wrangler login';
const AGAIN = "Run the same command again: it goes on with what is there";

/** What wrangler prints, and what to do about it; the first that fits. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/non-interactive environment|not authenticated|not logged in/i, LOG_IN],
  [
    /more than one account/i,
    "Set CLOUDFLARE_ACCOUNT_ID to the account that the Worker belongs to",
  ],
  [
    /code: (?:10000|10001|9106|9109|6003|6111)\]|authentication error|invalid access token/i,
    'Check CLOUDFLARE_API_TOKEN: it must be valid for this account (CLOUDFLARE_ACCOUNT_ID) and allow to edit Workers scripts and Workers KV storage (template "Edit Cloudflare Workers")',
  ],
  [
    /code: 10063\]|workers\.dev subdomain/i,
    "Register a workers.dev subdomain once, in the dashboard under Workers & Pages, or set a route in wrangler.toml",
  ],
  [
    /code: 10021\]|uncaught|script startup/i,
    "The Worker does not start: try it with deno task dev",
  ],
  [/code: 10027\]|code: 10026\]|too large/i, "The Worker is too large: see deno task build"],
  [
    /\b429\b|rate.?limit|too many requests|code: 971\]/i,
    "Cloudflare asks to wait. In a few minutes, run the same command again",
  ],
  [
    /code: (?:10047|10049|7406)\]|quota|exceed|maximum|limit reached|too many/i,
    "The account's allowance is used up: delete what is not needed in the dashboard, then run the same command again",
  ],
  [/\b50\d\b|internal|fetch failed|ECONN|ENOTFOUND|timed? ?out/i, AGAIN],
];

/**
 * An error for what wrangler printed.
 *
 * @param doing What was being done, for example `upload the Worker`.
 * @param output What wrangler printed.
 * @returns The error.
 */
export function explain(doing: string, output: string): DeployError {
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(output)) ??
    ["", `Mend what is said above, then run the same command again`];
  return new DeployError(`Cannot ${doing}: ${essence(output)}`, advice);
}

/** The lines of wrangler's output that say what is wrong. */
function essence(output: string): string {
  const from = output.search(/✘|\[ERROR\]/);
  const lines = output.slice(Math.max(0, from)).split("\n")
    .map((line) => line.replace(/^\s*✘?\s*\[ERROR\]\s*/, "").trim())
    .filter((line) =>
      line !== "" &&
      !/^🪵|Logs were written|think this is a bug|^To learn more|--temporary/.test(line)
    );
  return lines.slice(0, 6).join(" ") || "wrangler gave no reason";
}
