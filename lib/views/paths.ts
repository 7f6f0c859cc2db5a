/**
 * One key per page: `/About/`, `/about.html` and `/about?fbclid=A` are all `/about`. Characters that
 * cannot be seen and spaces at the end make no other page.
 *
 * @example
 * ```ts
 * import { createPathKey } from "@scrimp/kv/classify";
 * import { assertEquals } from "@std/assert";
 *
 * const pathKey = createPathKey({ pathTemplates: ["/post/:id"] });
 * assertEquals(pathKey("/About/index.html?utm_source=n"), "/about");
 * assertEquals(pathKey("/post/4711"), "/post/:id");
 * ```
 *
 * @module
 */

import { KEY_CHARACTERS_MAX, OTHER } from "./tally.ts";
import type { Counts } from "./types.ts";

/** Longer paths are not even looked at. */
const PATH_CHARACTERS_MAX = 1024;

/** A path that is its own key, unless it ends in `index`. */
const PLAIN = /^(?:\/[a-z\d_-]+)+$/;
/** What no page's address has: controls, bidi marks, what is no character, markup, towers of accents. */
const ODD = /[\p{C}\ufffd<>"\\`]|\p{M}{6}/u;
/** What tells no pages apart: joiners, soft hyphens, fillers and others that are not seen; a session. */
const UNSEEN = /(?!\p{Bidi_C}|\ufeff)\p{DI}|;jsessionid=[^/]*/giu;
/** What may be left out of a path's end. */
const TAIL = /(?:\/(?:index(?:\.html?)?)?|(?<=[^/])\.html?)$/i;
/** Escapes that stay, because the plain character would mean something else: `#`, `%`, `/`, `?`. */
const KEPT_ESCAPE = /%(2[35f]|3f)/gi;

/** How paths become keys. */
export interface PathOptions {
  /**
   * Query parameters that make a page of their own, as in `/?page=home`. Their values are stored.
   *
   * @default {[]}
   */
  readonly queryParams?: readonly string[];
  /**
   * Paths to be counted as one, for example `/post/:id` or `/docs/*`. `:name` stands for one segment,
   * a `*` at the end for any rest; the first match wins. A template is its own key, so it is at most
   * 48 characters long.
   *
   * @default {[]}
   */
  readonly pathTemplates?: readonly string[];
  /**
   * Whether `/About` and `/about` are two pages.
   *
   * @default {false}
   */
  readonly keepCase?: boolean;
  /**
   * Whether composed and decomposed forms of a letter (NFC and NFD) make two pages.
   *
   * @default {false}
   */
  readonly keepUnicode?: boolean;
}

/** Turns a path with its query (`/about?x=1`, an address without its origin) into a key. */
export type PathKey = (target: string) => string;

/** Turns a path's key into its template, or leaves it as it is. */
export type PathTemplates = (key: string) => string;

/**
 * Prepares the rules for paths. The function it returns is pure, never throws, and is idempotent: a
 * key's key is itself. It costs no KV operation.
 *
 * @param options Which pages are one.
 * @returns The rules.
 * @throws {RangeError} If a template does not start with a slash, has a `*` that is not at its end, or is
 *   longer than 48 characters.
 */
export function createPathKey(options: PathOptions = {}): PathKey {
  const { queryParams = [], pathTemplates = [], keepCase, keepUnicode } = options;
  const template = createPathTemplates(pathTemplates, options);
  const cased = (text: string) => keepCase ? text : text.toLowerCase();

  /** Brings a text into the site's form; throws, as decoding does, for what no page's address has. */
  function formed(text: string): string {
    const seen = cased(text.replace(UNSEEN, ""));
    const form = keepUnicode ? seen : seen.normalize("NFC");
    if (ODD.test(form)) throw new URIError();
    return form.replace(/\s+/g, " ");
  }

  return (target) => {
    try {
      const path = pathOf(target);
      let key = cased(path);
      if (!PLAIN.test(key) || key.endsWith("/index")) key = normalize(path, formed);
      key = template(key);
      if (queryParams.length > 0) key += queryKey(target, queryParams, formed);
      return key.length > KEY_CHARACTERS_MAX ? OTHER : key;
    } catch {
      return OTHER;
    }
  };
}

/**
 * Prepares templates such as `/post/:id`.
 *
 * @param pathTemplates The templates; the first match wins.
 * @param options `keepCase`: whether their letters are matched as they are.
 * @returns A pure function from key to key.
 * @throws {RangeError} If a template does not start with a slash, has a `*` that is not at its end, or is
 *   longer than 48 characters.
 */
export function createPathTemplates(
  pathTemplates: readonly string[],
  options: { readonly keepCase?: boolean } = {},
): PathTemplates {
  const compiled = pathTemplates.map((template) => compile(template, options.keepCase === true));
  return (key) => compiled.find(({ pattern }) => pattern.test(key))?.name ?? key;
}

/**
 * Applies templates to counts that were stored before the templates were there. The sum stays.
 *
 * @param paths Views by path.
 * @param templates What {@linkcode createPathTemplates} returned.
 * @returns Views by path or template.
 */
export function applyTemplates(paths: Counts, templates: PathTemplates): Counts {
  const merged = new Map<string, number>();
  for (const [path, views] of Object.entries(paths)) {
    const cut = path.indexOf("?");
    const key = cut < 0 ? templates(path) : templates(path.slice(0, cut)) + path.slice(cut);
    merged.set(key, (merged.get(key) ?? 0) + views);
  }
  return Object.fromEntries(merged);
}

/**
 * What of a target is its path.
 *
 * @param target An address without its origin.
 * @returns The target without query and fragment.
 */
export function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}

function normalize(path: string, formed: (text: string) => string): string {
  if (path.length > PATH_CHARACTERS_MAX) throw new URIError();
  const kept = path.replace(KEPT_ESCAPE, (escape) => `%25${escape.slice(1).toLowerCase()}`);
  let key = `/${formed(decodeURIComponent(kept))}`.replace(/\/{2,}/g, "/");
  for (let before = ""; before !== key;) {
    before = key;
    key = key.trimEnd().replace(TAIL, "");
  }
  return key || "/";
}

function queryKey(
  target: string,
  names: readonly string[],
  formed: (text: string) => string,
): string {
  const given = new URLSearchParams(/^[^?#]*\?([^#]*)/.exec(target)?.[1]);
  let key = "";
  for (const name of names) {
    const value = formed(given.get(name) ?? "").trim().replace(/[%&+#]/g, encodeURIComponent);
    if (value) key += `${key && "&"}${name}=${value}`;
  }
  return key && `?${key}`;
}

function compile(template: string, keepCase: boolean): { pattern: RegExp; name: string } {
  if (!/^\/[^*]*\*?$/.test(template) || template.length > KEY_CHARACTERS_MAX) {
    throw new RangeError(
      `Cannot use path template "${template}": expected "/", at most ${KEY_CHARACTERS_MAX} characters, "*" last`,
    );
  }
  const name = template
    .replace(/(?<=\/)[^:/][^/]*/g, (part) => keepCase ? part : part.toLowerCase())
    .replace(/(?<=.)\/$/, "");
  const source = name
    .replace(/[^\w/:*-]/g, "\\$&")
    .replace(/(?<=\/):[^/]+/g, "[^/]+")
    .replace("*", ".*");
  return { pattern: new RegExp(`^${source}$`, "s"), name };
}
