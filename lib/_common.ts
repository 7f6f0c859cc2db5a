/** What {@linkcode Conversations}, {@linkcode KeywordLog} and {@linkcode Feed} share. */

import type { Budget, BudgetGrant, KvOperation } from "./budget.ts";
import { parseJson } from "./views/tally.ts";

export { isCount } from "./views/tally.ts";

/** What a module that has no ledger is told. */
const GRANTED: BudgetGrant = { granted: true, retryAfterMs: 0 };

/** Asks the ledger, where there is one. */
export function ask(
  budget: Budget | undefined,
  purpose: string,
  operation: KvOperation = "write",
): BudgetGrant {
  return budget?.take(purpose, operation) ?? GRANTED;
}

/** Reads a JSON object; `undefined` for anything else. Never throws. */
export function parseRecord(text: string | null | undefined): Record<string, unknown> | undefined {
  return asRecord(parseJson(text));
}

/** The value when it is an object and no array. */
export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : undefined;
}

/** The value when it is an array, otherwise an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Checks the numbers among options: finite, within bounds, whole unless named in milliseconds or seconds. */
export function checkOptions(values: Readonly<Record<string, readonly [number, number, number?]>>) {
  for (const [name, [value, least, most = Number.MAX_SAFE_INTEGER]] of Object.entries(values)) {
    const whole = /Ms$|Seconds$/.test(name) ? Number.isFinite(value) : Number.isSafeInteger(value);
    if (!whole || value < least || value > most) {
      throw new RangeError(
        `Option "${name}" must be a number from ${least} to ${most}: got ${value}`,
      );
    }
  }
}

/** The parts of a name from outside: a text or several, none of them empty. */
export function partsOf(what: string, name: string | readonly string[]): readonly string[] {
  const parts: readonly unknown[] = typeof name === "string" ? [name] : name;
  if (
    !Array.isArray(parts) || parts.length === 0 || parts.length > 8 ||
    parts.some((part) => typeof part !== "string" || part === "")
  ) throw new TypeError(`${what} must be a text, or up to 8 texts, none of them empty`);
  return parts as string[];
}

/** An error callback that cannot do harm itself. */
export function reporter(onError: ((error: unknown) => void) | undefined) {
  return (error: unknown): void => {
    try {
      onError?.(error);
    } catch {
      // A failing reporter must not fail the work that it reports on.
    }
  };
}

/** Drops the oldest entries of a map over its size. */
export function bound(map: Map<string, unknown>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) return;
    map.delete(key);
  }
}
