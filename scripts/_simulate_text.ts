/**
 * What `deno task simulate` prints.
 *
 * @module
 */
import type { DayResult, NetworkOptions } from "../tests/sim/network.ts";
import { textBar } from "./_report_text.ts";
import { table } from "./_table.ts";

/** A design's day in a network. */
export interface SimulateRow {
  /** What the row is about, for example a load. */
  readonly name: string;
  /** The design. */
  readonly design: string;
  /** The days, in order. */
  readonly days: readonly DayResult[];
}

const HEAD = [
  "network",
  "design",
  "day",
  "views",
  "by midnight",
  "a day later",
  "in a minute",
  "writes",
  "lists",
  "reads",
  "too many",
  "signups refused",
];

/**
 * A share as a percentage that never rounds up to 100.
 *
 * @param part The part.
 * @param whole The whole.
 * @returns Text.
 */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  if (part === whole) return "100 %";
  return `${(Math.floor(part / whole * 10_000) / 100).toFixed(2)} %`;
}

function cells({ name, design, days }: SimulateRow, which: number): (string | number)[] {
  const day = days[which];
  if (!day) return [];
  const close = day.storedWithinMinute > 0 ? percent(day.storedWithinMinute, day.made) : "–";
  return [
    name,
    design,
    which + 1,
    day.made,
    percent(day.storedByDayEnd, day.made),
    percent(day.storedByNextDayEnd, day.made),
    close,
    day.writes,
    day.lists,
    day.reads,
    day.overCount,
    `${day.refused} of ${day.signups}`,
  ];
}

/**
 * A table of all days.
 *
 * @param rows The designs.
 * @returns Lines.
 */
export function resultTable(rows: readonly SimulateRow[]): string {
  return table([HEAD, ...rows.flatMap((row) => row.days.map((_, n) => cells(row, n)))]);
}

/**
 * A bar a design: the share of the views that are stored a day later, on the worst day.
 *
 * @param rows The designs.
 * @returns Lines.
 */
export function resultChart(rows: readonly SimulateRow[]): string {
  const width = Math.max(...rows.map(({ name, design }) => name.length + design.length)) + 2;
  return rows.map(({ name, design, days }) => {
    const shares = days.map((day) => day.made === 0 ? 1 : day.storedByNextDayEnd / day.made);
    const worst = Math.min(...shares);
    const bar = textBar(worst, 1, 40).padEnd(40, "░");
    return `${`${name}  ${design}`.padEnd(width)}  ${bar}  ${
      (worst * 100).toFixed(1).padStart(5)
    } %`;
  }).join("\n");
}

/**
 * What the numbers rest on.
 *
 * @param network The network.
 * @returns Lines.
 */
export function assumptions(network: Omit<NetworkOptions, "design">): string {
  const { isolatesMax, idleMs = 0, killRate = 0, cacheLossRate, edgeCache, kv, days = 2 } = network;
  const cache = edgeCache === "none"
    ? "No data center has a cache."
    : `A data center's cache has lost an entry at ${(cacheLossRate ?? 0) * 100} % of the reads.`;
  return [
    `Assumed: the n-th data center gets 1/n of the first one's traffic, and least of it at its night;`,
    `sessions of 2.5 pages on average, 40 s apart; 1 session in 100 ends with a signup (at least 3 a day).`,
    `Up to ${isolatesMax} isolates a data center, evicted after ${
      idleMs / 60_000
    } min without a request or, at ${killRate * 100} % of the requests, before it.`,
    cache,
    `KV: the free plan's allowances for everything together; reads up to 60 s old and some older, listings`,
    `up to 60 s late (times ${kv?.staleness ?? 1}); ${
      (kv?.faults?.rate ?? 0) * 100
    } % of the operations fail.`,
    `"writes" are those tried; "too many" is the most that KV ever held beyond what was made.`,
    `Seed ${network.seed}; ${days} days simulated, the last one only to see what becomes of the one before.`,
  ].join("\n");
}
