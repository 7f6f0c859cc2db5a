/**
 * `deno task explain URL`: says whether a request would be counted, as what, and why.
 *
 * @module
 */
import type { ClassifyOptions } from "../lib/views/classify.ts";
import { explain, type Explanation } from "../lib/views/explain.ts";
import { fail, usage } from "./_failure.ts";
import { BROWSER, readSiteRules } from "./_site_rules.ts";
import { parseArgs } from "node:util";

const TYPE = "text/html; charset=utf-8";

const HELP = `Say whether a request would be counted, as what, and why. Sends nothing.

Usage: deno task explain URL [options]

Options:
  --header "NAME: VALUE"  A header of the request, again for more; without a value it is left out.
                          Default: what a browser sends that navigates there
  --bare                  Send no header but those given
  --method METHOD         Default: GET
  --status N              The response's status. Default: 200
  --type TYPE             The response's Content-Type, "" for none. Default: ${TYPE}
  --json                  Print JSON
  --help                  Print this

The site's settings are read from the [vars] of wrangler.toml.
`;

const NAVIGATION = {
  "accept-language": "en",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
  "user-agent": BROWSER,
};

const OPTIONS = {
  header: { type: "string", multiple: true, default: [] as string[] },
  bare: { type: "boolean" },
  method: { type: "string", default: "GET" },
  status: { type: "string", default: "200" },
  type: { type: "string", default: TYPE },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/**
 * Explains what a command line describes.
 *
 * @param args The command line.
 * @param rules The site's rules.
 * @returns What to print: the help, JSON, or two lines.
 * @throws {TypeError} If the command line makes no request.
 */
export function explainCommand(args: readonly string[], rules: ClassifyOptions): string {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
  });
  if (values.help) return HELP;
  const [address, ...others] = positionals;
  if (address === undefined || others.length > 0) {
    throw new TypeError("Cannot explain that: expected one URL");
  }
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    throw new TypeError(
      `Cannot explain "${address}": expected an address such as https://site.example/about`,
    );
  }
  if (!/^[1-5]\d\d$/.test(values.status)) {
    throw new TypeError(`Cannot use status "${values.status}": expected 100 to 599`);
  }
  const headers = new Headers(values.bare ? {} : NAVIGATION);
  for (const header of values.header) setHeader(headers, header);
  const explanation = explain(
    { method: values.method.toUpperCase(), url: new URL(address).href, headers },
    {
      status: Number(values.status),
      headers: new Headers(values.type === "" ? {} : { "content-type": values.type }),
    },
    rules,
  );
  return values.json ? JSON.stringify(explanation, undefined, 2) : textOf(explanation);
}

function setHeader(headers: Headers, header: string): void {
  const [, name = "", value = ""] = /^([^:\s]+)\s*:\s*(.*)$/.exec(header) ?? [];
  if (name === "") {
    throw new TypeError(`Cannot use header "${header}": expected "NAME: VALUE"`);
  }
  if (value === "") headers.delete(name);
  else headers.set(name, value);
}

function textOf({ header, because }: Explanation): string {
  return `${header}\n${because}`;
}

/** Reads the command line and explains; gives the exit code. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const { rules } = await readSiteRules();
    console.log(usage(() => explainCommand(args, rules)));
    return 0;
  } catch (error) {
    return fail(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
