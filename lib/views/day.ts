/**
 * Days: which one a moment belongs to, in UTC or in the site's own time zone.
 *
 * @module
 */

const DAY_MS = 86_400_000;
/** No zone is further from UTC than this. */
const OFFSET_MAX_MS = 16 * 3_600_000;

/** One day, from its first millisecond up to but not including the next one's. */
export interface Day {
  /** The day, `YYYY-MM-DD`. */
  readonly name: string;
  /** Its first millisecond. */
  readonly start: number;
  /** The next day's first millisecond. */
  readonly end: number;
}

/**
 * Whether a text names a day that exists.
 *
 * @param text The text.
 * @returns `true` for `2026-02-28`, `false` for `2026-02-30` and for anything else.
 */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && addDays(text, 0) === text;
}

/**
 * Calendar arithmetic.
 *
 * @param day A day, `YYYY-MM-DD`.
 * @param count Days to add; may be negative.
 * @returns The day, `YYYY-MM-DD`; an empty text where there is none.
 */
export function addDays(day: string, count: number): string {
  const ms = Date.parse(`${day}T00:00:00Z`) + count * DAY_MS;
  return Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString().slice(0, 10) : "";
}

/** Says which day it is. Remembers the current one, so that asking again costs two comparisons. */
export class Calendar {
  /** The IANA name of the zone. */
  readonly timeZone: string;
  readonly #format: Intl.DateTimeFormat | undefined;
  #day: Day = { name: "", start: 0, end: 0 };

  /**
   * Makes a calendar.
   *
   * @param timeZone An IANA name, for example `Europe/Berlin`.
   * @throws {RangeError} If there is no such zone.
   */
  constructor(timeZone = "UTC") {
    this.timeZone = timeZone;
    if (timeZone === "UTC") return;
    const parts = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
    try {
      this.#format = new Intl.DateTimeFormat("en-CA", { timeZone, ...parts });
    } catch (cause) {
      throw new RangeError(
        `Cannot use time zone "${timeZone}": expected an IANA name such as "Europe/Berlin"`,
        { cause },
      );
    }
  }

  /**
   * The day of a moment.
   *
   * @param ms The moment, in milliseconds since the Unix epoch.
   * @returns Its day.
   */
  dayAt(ms: number): Day {
    if (ms >= this.#day.start && ms < this.#day.end) return this.#day;
    this.#day = this.day(this.#nameAt(ms));
    return this.#day;
  }

  /**
   * A day by its name.
   *
   * @param name The day, `YYYY-MM-DD`.
   * @returns Its name and bounds.
   */
  day(name: string): Day {
    return { name, start: this.#startOf(name), end: this.#startOf(addDays(name, 1)) };
  }

  #nameAt(ms: number): string {
    if (!this.#format) return new Date(ms).toISOString().slice(0, 10);
    const part: Record<string, string> = {};
    for (const { type, value } of this.#format.formatToParts(ms)) part[type] = value;
    return `${part.year}-${part.month}-${part.day}`;
  }

  /** The first millisecond of a day: where clocks skip midnight, the first one after it. */
  #startOf(name: string): number {
    const utc = Date.parse(`${name}T00:00:00Z`);
    if (!this.#format) return utc;
    let before = utc - OFFSET_MAX_MS;
    let after = utc + OFFSET_MAX_MS;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#nameAt(middle) < name) before = middle;
      else after = middle;
    }
    return after;
  }
}
