import { assertEquals } from "@std/assert";
import plugin from "../scripts/lint_plugin.ts";

const ROOT = new URL("../", import.meta.url).pathname;

/** The rules that a source text breaks, each named once, in order of appearance. */
function broken(source: string, path = "lib/x.ts"): string[] {
  const found = Deno.lint.runPlugin(plugin, ROOT + path, source);
  return [...new Set(found.map(({ id }) => id.replace("scrimp/", "")))];
}

const BROKEN: readonly (readonly [rule: string, source: string])[] = [
  ["no-ambient-clock", "export const f = { a: Date.now };"],
  ["no-ambient-clock", "export function f() { return new Date(); }"],
  ["no-ambient-clock", "export function f() { return Date(); }"],
  ["no-ambient-clock", "export function f() { return performance.now(); }"],
  ["no-ambient-clock", "export function f() { return Date['now'](); }"],
  ["no-ambient-random", "export function f() { return Math.random(); }"],
  ["no-ambient-random", "export function f() { return crypto.randomUUID(); }"],
  ["no-timers", "export function f() { setTimeout(g, 1); }"],
  ["no-timers", "export function f() { globalThis.setInterval(g, 1); }"],
  ["no-timers", "export function f() { return { wait: setTimeout }; }"],
  ["no-timers", "export function f() { return AbortSignal.timeout(1); }"],
  ["no-runtime", "export function f() { return Deno.cwd(); }"],
  ["no-runtime", "export function f() { return globalThis.Deno; }"],
  ["no-runtime", "export function f() { return Buffer.from(''); }"],
  ["no-console", "export function f() { console.log(1); }"],
  ["portable-imports", "import fs from 'node:fs';"],
  ["portable-imports", "import { Hono } from 'hono';"],
  ["portable-imports", "import { f } from './f';"],
  ["portable-imports", "import { f } from '../scripts/f.ts';"],
  ["portable-imports", "import { f } from './views/_f.ts';"],
  ["portable-imports", "import { f } from '../_f.ts';"],
  ["portable-imports", "export * from 'npm:hono';"],
  ["portable-imports", "export { f } from 'https://example.org/f.ts';"],
  ["portable-imports", "export function f() { return import('hono'); }"],
  ["portable-imports", "export function f(name: string) { return import(name); }"],
  ["no-private", "export class A { private a = 1; }"],
  ["no-private", "export class A { protected f() {} }"],
  ["no-private", "export class A { constructor(private a: number) {} }"],
  ["no-boolean-argument", "export function f() { g(1, true); }"],
  ["no-top-level-arrow", "export const f = (): number => 1;"],
  ["no-top-level-arrow", "const f = () => 1;"],
  ["no-proxy", "export function f() { return new Proxy({}, {}); }"],
  ["no-module-state", "let a = 1;"],
  ["no-module-state", "export let a = 1;"],
  ["no-module-state", "var a;"],
  ["no-module-state", "const a = new Map();"],
  ["no-module-state", "const a: number[] = [];"],
  ["no-module-state", "const a = new WeakMap();"],
  ["no-module-state", "f();"],
  ["no-module-state", "const a = await f();"],
  ["no-await-in-loop", "export async function f() { for (const a of b) await a; }"],
  ["no-await-in-loop", "export async function f() { while (await a()) b(); }"],
  ["max-function-lines", `export function f() {${"\n".repeat(70)}}`],
  ["max-file-lines", `${"// a\n".repeat(400)}export const a = 1;\n`],
];

Deno.test("lint plugin reports what lib must not do", () => {
  for (const [rule, source] of BROKEN) assertEquals(broken(source), [rule], source);
});

Deno.test("lint plugin has a case for every rule", () => {
  const tried = new Set(BROKEN.map(([rule]) => rule));
  assertEquals([...tried].sort(), Object.keys(plugin.rules).sort());
});

const FINE: readonly string[] = [
  "export function f(clock: Clock) { return new Date(clock.now()).getTime(); }",
  "export interface Runner { setTimeout(ms: number): void; Deno: string }",
  "export function f(a: { console: number }) { return a.console; }",
  "export const limits = { process: 1, Buffer: 2 };",
  "import { isbot } from 'isbot';",
  "import { f } from './views/f.ts';",
  "import type { F } from './_f.ts';",
  "export class A { #a = 1; }",
  "export function f() { return [1].map((a) => a + 1); }",
  "const NAMES = new Set(['a']);",
  "const NAMES: readonly string[] = ['a'];",
  "export async function f() { for await (const a of b) c(await a); }",
  "export async function f() { for (const a of await b) c(a); }",
  "export async function f() { for (const a of b) c(async () => await a); }",
  "export function f() { return crypto.subtle; }",
  `export function f() {${"\n".repeat(69)}}`,
  `${"// a\n".repeat(399)}export const a = 1;\n`,
];

Deno.test("lint plugin leaves good code alone", () => {
  for (const source of FINE) assertEquals(broken(source), [], source);
});

Deno.test("lint plugin allows clock, chance and timers in lib/clock.ts only", () => {
  const source = "export function f() { setTimeout(g, Date.now() * Math.random()); }";
  assertEquals(broken(source, "lib/clock.ts"), []);
  assertEquals(broken(source, "lib/views/clock.ts").length, 3);
});

Deno.test("lint plugin leaves files outside lib alone", () => {
  for (const path of ["scripts/x.ts", "tests/x_test.ts", "mod.ts", "tests/lib/x.ts"]) {
    for (const [, source] of BROKEN) assertEquals(broken(source, path), [], path);
  }
});
