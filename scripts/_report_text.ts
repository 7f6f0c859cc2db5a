/**
 * The report as text for a terminal.
 *
 * @module
 */
import type { Counts, DayReport, RangeReport } from "../lib/views/types.ts";
import {
  formatAge,
  formatCount,
  formatCounted,
  formatDay,
  formatShare,
} from "../lib/worker/page/format.ts";
import { rank } from "../lib/worker/page/model.ts";

/** How the text is to look. */
export interface ReportTextOptions {
  /** Whether colors may be used. @default {false} */
  readonly color?: boolean;
  /** Columns of the terminal. @default {80} */
  readonly columns?: number;
}

const SPARKS = "▁▂▃▄▅▆▇█";
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/** Rows of a list. */
const ROWS_MAX = 10;
const NAME_CHARACTERS_MAX = 40;

/**
 * Writes a report for a terminal. Pure.
 *
 * @param report The report.
 * @param options How it is to look.
 * @returns Lines.
 */
export function reportText(report: RangeReport, options: ReportTextOptions = {}): string {
  const { color = false, columns = 80 } = options;
  const paint = painter(color);
  const { days } = report;
  const last = days[days.length - 1];
  if (!last) return "No days.";
  const lists: [string, (day: DayReport) => Counts][] = [
    ["Pages", (day) => day.paths],
    ["Sources", (day) => day.refs],
    ["Kinds", (day) => day.kinds],
    ["Not counted", (day) => day.skipped],
  ];
  return [
    `${paint.bold(formatCounted(report.total, "view"))} from ${formatDay(days[0]?.date ?? "")} to ${
      formatDay(last.date)
    }${last.partial ? " so far" : ""}, days in ${report.timeZone}`,
    paint.accent(sparkline(days.map(({ total }) => total))),
    "",
    ...dayLines(days, columns, paint),
    ...lists.flatMap(([title, pick]) => listLines(title, days, pick, columns, paint)),
    ...warningLines(days, paint),
    "",
    last.note,
    ...freshnessLines(last),
  ].join("\n");
}

/** A line of block characters, the tallest for the largest number. */
export function sparkline(values: readonly number[]): string {
  const max = Math.max(...values, 1);
  return values.map((value) => SPARKS[Math.round(value / max * (SPARKS.length - 1))] ?? "").join(
    "",
  );
}

/** A bar of block characters, fine to an eighth. */
export function textBar(part: number, whole: number, width: number): string {
  const eighths = whole > 0 ? Math.round(part / whole * width * 8) : 0;
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

interface Painter {
  bold(text: string): string;
  accent(text: string): string;
  warm(text: string): string;
}

function painter(color: boolean): Painter {
  const wrap = (code: number) => (text: string) => color ? `\x1b[${code}m${text}\x1b[0m` : text;
  return { bold: wrap(1), accent: wrap(36), warm: wrap(33) };
}

function dayLines(days: readonly DayReport[], columns: number, paint: Painter): string[] {
  const max = Math.max(...days.map(({ total }) => total));
  const room = Math.max(10, columns - 40);
  return days.map((day) => {
    const remarks = [
      day.partial && "so far",
      day.warning && "looks automated",
      day.damaged > 0 && "unreadable values left out",
      day.dropped > 0 && `${formatCount(day.dropped)} lost`,
    ].filter(Boolean).join(", ");
    const bar = textBar(day.total, max, room);
    const painted = day.warning ? paint.warm(bar) : paint.accent(bar);
    return `${formatDay(day.date).padEnd(11)}${
      formatCount(day.total).padStart(9)
    }  ${painted} ${remarks}`
      .trimEnd();
  });
}

function listLines(
  title: string,
  days: readonly DayReport[],
  pick: (day: DayReport) => Counts,
  columns: number,
  paint: Painter,
): string[] {
  const ranking = rank(days, pick);
  if (ranking.length === 0) return [];
  const total = ranking.reduce((sum, [, count]) => sum + count, 0);
  const shown = ranking.slice(0, ROWS_MAX);
  const width = Math.max(...shown.map(([key]) => plain(key).length));
  const room = Math.max(5, columns - width - 22);
  const max = Math.max(...shown.map(([, count]) => count));
  const lines = shown.map(([key, count]) =>
    `  ${plain(key).padEnd(width)}${formatCount(count).padStart(10)}  ${
      formatShare(count, total).padStart(6)
    }  ${paint.accent(textBar(count, max, room))}`.trimEnd()
  );
  const rest = ranking.length - shown.length;
  return ["", paint.bold(title), ...lines, ...rest > 0 ? [`  and ${rest} more`] : []];
}

/** A stored key must not steer the terminal. */
function plain(key: string): string {
  const text = key.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return text.length > NAME_CHARACTERS_MAX ? `${text.slice(0, NAME_CHARACTERS_MAX - 1)}…` : text;
}

function warningLines(days: readonly DayReport[], paint: Painter): string[] {
  return days.flatMap(({ date, warning }) =>
    warning
      ? [
        "",
        paint.warm(`${formatDay(date)}: ${warning.message}`),
        ...warning.reasons.map((reason) => `  - ${reason}`),
        `  ${warning.innocent}`,
      ]
      : []
  );
}

function freshnessLines({ freshness, pending, dropped, writes }: DayReport): string[] {
  const { dataCenters, oldestSeconds } = freshness;
  return [
    oldestSeconds === null
      ? "No data center has reported yet."
      : `Data of ${formatCounted(dataCenters, "data center")}, the oldest ${
        formatAge(oldestSeconds)
      } old.`,
    `${formatCount(pending)} not stored yet, ${formatCount(dropped)} known to be lost, ${
      formatCounted(writes, "write")
    } used for counting.`,
  ];
}
