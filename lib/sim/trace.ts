/** Options of a {@linkcode Trace}. */
export interface TraceOptions {
  /**
   * How many of the latest lines are kept to be read; all lines go into the hash.
   *
   * @default {0}
   */
  readonly linesMax?: number;
}

/** What happened, line by line, condensed into a hash: two runs are alike when their hashes are. */
export class Trace {
  readonly #linesMax: number;
  #lines: string[] = [];
  #count = 0;
  #a = 0x811c9dc5 | 0;
  #b = 0x2f0b4c47 | 0;

  /** Makes an empty trace. */
  constructor(options: TraceOptions = {}) {
    this.#linesMax = options.linesMax ?? 0;
  }

  /** Adds a line. */
  note(line: string): void {
    let a = this.#a;
    let b = this.#b;
    for (let i = 0; i < line.length; i++) {
      const unit = line.charCodeAt(i);
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b + unit, 0x5bd1e995) ^ (b >>> 13);
    }
    this.#a = Math.imul(a ^ 10, 0x01000193);
    this.#b = Math.imul(b + 10, 0x5bd1e995) ^ (b >>> 13);
    this.#count++;
    if (this.#linesMax === 0) return;
    this.#lines.push(line);
    if (this.#lines.length >= 2 * this.#linesMax) this.#lines = this.#lines.slice(-this.#linesMax);
  }

  /** How many lines there were. */
  get count(): number {
    return this.#count;
  }

  /** Sixteen hexadecimal digits that depend on all lines and their order. */
  get hash(): string {
    return hex(this.#a) + hex(this.#b);
  }

  /** The latest lines, oldest first. */
  get lines(): readonly string[] {
    return this.#lines.slice(-this.#linesMax || this.#lines.length);
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}
