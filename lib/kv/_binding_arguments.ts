import { wellFormed } from "./_binding_values.ts";
import type { KvGetOptions } from "./kv.ts";
import { OPTION_MAX } from "./limits.ts";

/** What a value can be read as. */
export type KvReadType = "text" | "json" | "arrayBuffer" | "stream";

/** Options of a read that names a type. */
export interface KvReadOptions<T extends KvReadType> extends KvGetOptions {
  /** What to read the value as. */
  readonly type: T;
}

/** The options of a read, coerced. */
export interface ReadSettings {
  readonly type: string;
  readonly cacheTtl: number | undefined;
}

/** Coerces the arguments of a read: `many` keys, or one `name`. */
export function readArguments(
  method: string,
  args: readonly unknown[],
): { readonly name: string; readonly many: string[] | undefined; readonly options: ReadSettings } {
  if (args.length === 0) {
    throw notOfType(method, 1, method === "get" ? "string or Array" : "Array or string");
  }
  const [key, options] = args;
  const many = Array.isArray(key) ? key.map(toText) : undefined;
  return { name: many === undefined ? toText(key) : "", many, options: readOptions(options) };
}

/** Coerces the key of a method that takes just one. */
export function keyArgument(method: string, args: readonly unknown[]): string {
  if (args.length === 0) throw notOfType(method, 1, "string");
  return toText(args[0]);
}

/** Coerces the arguments of a write. An object as value stays as it is. */
export function putArguments(args: readonly unknown[]): {
  readonly key: string;
  readonly value: unknown;
  readonly options: {
    readonly expiration: number | undefined;
    readonly expirationTtl: number | undefined;
    readonly metadata: unknown;
  };
} {
  const key = keyArgument("put", args);
  if (args.length < 2) throw notOfType("put", 2, "string or JsObject");
  const value = isObject(args[1]) ? args[1] : toText(args[1]);
  const { expiration, expirationTtl, metadata } = record("put", 3, "PutOptions", args[2]);
  return {
    key,
    value,
    options: { expiration: toInt(expiration), expirationTtl: toInt(expirationTtl), metadata },
  };
}

/** Coerces the options of a listing. */
export function listOptions(options: unknown): {
  readonly prefix: string;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
} {
  const { cursor, limit, prefix } = record("list", 1, "ListOptions", options);
  const count = toInt(limit);
  return {
    prefix: wellFormed(optionalText(prefix) ?? ""),
    limit: count === undefined || count <= 0 ? undefined : count,
    cursor: optionalText(cursor),
  };
}

function readOptions(options: unknown): ReadSettings {
  if (options === undefined || options === null) return { type: "text", cacheTtl: undefined };
  if (!isObject(options)) return { type: toText(options), cacheTtl: undefined };
  const { cacheTtl, type } = options as { cacheTtl?: unknown; type?: unknown };
  return { cacheTtl: toInt(cacheTtl), type: type === undefined ? "text" : toText(type) };
}

function record(
  method: string,
  position: number,
  type: string,
  options: unknown,
): Readonly<Record<string, unknown>> {
  if (options === undefined || options === null) return {};
  if (!isObject(options)) throw notOfType(method, position, type);
  return options as Record<string, unknown>;
}

function notOfType(method: string, position: number, type: string): TypeError {
  return new TypeError(
    `Failed to execute '${method}' on 'KvNamespace': parameter ${position} is not of type '${type}'.`,
  );
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : `${value as string}`;
}

function optionalText(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : toText(value);
}

/** Coerces an option as the runtime does: to a 32-bit integer. */
function toInt(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const number = Math.trunc(+(value as number));
  if (!Number.isFinite(number)) return 0;
  if (number > OPTION_MAX || number < -OPTION_MAX - 1) {
    throw new TypeError(
      `Value out of range. Must be between ${-OPTION_MAX - 1} and ${OPTION_MAX} (inclusive).`,
    );
  }
  return number + 0;
}
