/**
 * Plain text tables for the terminal.
 *
 * @module
 */

/**
 * Lines up columns: the first to the left, all others to the right.
 *
 * @param rows Rows of cells; the first row is the head.
 * @returns One line a row.
 */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.toLocaleString("en-US")));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => (row[column] ?? "").length))
  );
  return cells
    .map((row) =>
      row.map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      }).join("  ").trimEnd()
    )
    .join("\n");
}
