/**
 * Reads CSV as RFC 4180 has it.
 *
 * @module
 */

/**
 * Reads CSV with a header line. Never throws: a quote that never ends runs to the end of the text.
 *
 * @param text The text; a byte order mark is passed over.
 * @returns One map from column to cell for each line that is not blank.
 */
export function readCsv(text: string): Map<string, string>[] {
  const [head = [], ...rows] = readCells(text.replace(/^\ufeff/, ""));
  return rows.map((row) => new Map(head.map((name, i) => [name.trim(), row[i] ?? ""])));
}

function readCells(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  // A quoted cell, or a plain one; then a comma, the end of the line, or the end.
  for (
    const [whole, quoted, plain, end] of text.matchAll(
      /(?:"((?:[^"]|"")*)(?:"|$)|([^,\r\n]*))(,|\r?\n|\r|$)/g,
    )
  ) {
    row.push(quoted === undefined ? plain ?? "" : quoted.replaceAll('""', '"'));
    if (end !== ",") {
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    }
    if (whole === "") break;
  }
  return rows;
}
