/**
 * A bounded memory for pure functions that are slow and mostly asked the same.
 *
 * @module
 */

/** How many results an isolate remembers, in memory only, and of how long texts. */
const TEXTS_MAX = 256;
const TEXT_CHARACTERS_MAX = 512;

/**
 * Remembers the last results of a function. A flood of different texts costs what the function costs.
 *
 * @param make The function: pure, and never `undefined`.
 * @returns The same, faster. `whole` is what the text was cut from and would be kept alive by it.
 */
export function remember<T>(make: (text: string) => T): (text: string, whole?: string) => T {
  const known = new Map<string, T>();
  return (text, whole = text) => {
    let value = known.get(text);
    if (value === undefined) {
      value = make(text);
      if (known.size >= TEXTS_MAX) known.clear();
      if (whole.length <= TEXT_CHARACTERS_MAX) known.set(text, value);
    }
    return value;
  };
}
