/**
 * Reports as CSV, one number a line, safe to open in a spreadsheet.
 *
 * @module
 */

import type { DayReport } from "../../views/types.ts";

/**
 * Writes days as CSV with the columns `date,kind,name,count`.
 *
 * @param days The days.
 * @returns The text, with a header line and CRLF as RFC 4180 has it.
 */
export function toCsv(days: readonly DayReport[]): string {
  const lines = ["date,kind,name,count"];
  for (const day of days) {
    const add = (kind: string, name: string, count: number) => {
      lines.push([day.date, kind, csvCell(name), count].join(","));
    };
    for (const kind of ["total", "pending", "dropped"] as const) add(kind, "", day[kind]);
    for (const kind of ["paths", "refs", "kinds", "skipped"] as const) {
      for (const [name, count] of Object.entries(day[kind])) add(kind, name, count);
    }
  }
  return `${lines.join("\r\n")}\r\n`;
}

/**
 * Writes a cell, in quotes. What a spreadsheet would take for a formula gets an apostrophe in front.
 *
 * @param text The text.
 * @returns The cell.
 */
export function csvCell(text: string): string {
  const mark = /^[\s\0]*[=+@|%\uff1d\uff0b\uff20-]/.test(text) ? "'" : "";
  return `"${mark}${text.replaceAll('"', '""')}"`;
}
