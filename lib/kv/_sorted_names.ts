/**
 * Names in the order of their UTF-8 bytes. Adding and removing is cheap; the sorting waits until
 * somebody asks, and then touches only what is new.
 */
export class SortedNames {
  #sorted: string[] = [];
  #added: string[] = [];
  #stale = 0;

  /** Adds a name that is not there. */
  add(name: string): void {
    this.#added.push(name);
  }

  /** Notes that a name is gone; `has` no longer answers for it. */
  removed(): void {
    this.#stale++;
  }

  /** All names in order, those that are gone filtered out by `has`. */
  all(has: (name: string) => boolean): readonly string[] {
    if (this.#stale > 0) {
      this.#sorted = this.#sorted.filter(has);
      this.#added = this.#added.filter(has);
      this.#stale = 0;
    }
    if (this.#added.length > 0) {
      const added = [...new Set(this.#added)].sort(compareNames);
      this.#sorted = merged(this.#sorted, added);
      this.#added = [];
    }
    return this.#sorted;
  }
}

/** Compares by UTF-8 bytes, which is the order of code points. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** The index of the first name that is not below `name`. */
export function lowerBound(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareNames(names[middle] ?? "", name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Surrogates come after the rest of the basic plane. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function merged(a: readonly string[], b: readonly string[]): string[] {
  if (a.length === 0) return [...b];
  const out: string[] = [];
  let i = 0;
  for (const name of b) {
    for (; i < a.length && compareNames(a[i] ?? "", name) < 0; i++) out.push(a[i] ?? "");
    if (a[i] === name) i++;
    out.push(name);
  }
  for (; i < a.length; i++) out.push(a[i] ?? "");
  return out;
}
