/**
 * HTML and SVG as text in which every value is escaped.
 *
 * @module
 */

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup that is safe to insert as it is. Only {@linkcode markup} and trusted constants make one. */
export class Html {
  /** The markup. */
  readonly text: string;

  /** @param text Trusted markup. */
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand between the markup: text is escaped, `undefined` and `false` are left out. */
export type HtmlValue =
  | string
  | number
  | Html
  | undefined
  | false
  | readonly HtmlValue[];

/**
 * Escapes a text for HTML, SVG and attribute values in quotes. Control characters and characters
 * that turn the direction of writing are shown as `�`, so that a key cannot garble its neighbors.
 *
 * @param text Any text.
 * @returns Text without markup.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? "")
    .replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/**
 * A template tag that escapes what is inserted, unless it is {@linkcode Html} already.
 *
 * @param parts The markup.
 * @param values What to insert.
 * @returns The whole as markup.
 */
export function markup(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.reduce((text, part, i) => text + show(values[i - 1]) + part));
}

function show(value: HtmlValue): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  return Array.isArray(value) ? value.map(show).join("") : escapeHtml(String(value));
}
