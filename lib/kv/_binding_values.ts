import { KvFailure, type KvFound } from "./_backend.ts";
import { utf8Length } from "./keys.ts";
import { BULK_KEYS_MAX, KEY_BYTES_MAX } from "./limits.ts";

const BULK_BYTES_MAX = 25 * 1024 * 1024;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Checks a single key as the runtime does before it asks the store. */
export function nameOf(name: string, operation: string): string {
  if (name === "") throw new TypeError("Key name cannot be empty.");
  if (name === "." || name === "..") {
    throw new TypeError(`"${name}" is not allowed as a key name.`);
  }
  if (name.length * 3 > KEY_BYTES_MAX) {
    const bytes = utf8Length(name);
    if (bytes > KEY_BYTES_MAX) throw translate(tooLong(bytes), operation);
  }
  return name;
}

/** Turns a store's failure into the error that the runtime throws. */
export function translate(error: unknown, operation: string): unknown {
  if (!(error instanceof KvFailure)) return error;
  return new Error(`KV ${operation} failed: ${error.status} ${error.statusText}`);
}

/** Serializes metadata; `undefined` when there is none. */
export function encodeMetadata(metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  // What has no JSON, such as a function, is sent all the same, and the store fails on it.
  return JSON.stringify(metadata) ?? "undefined";
}

/** Takes a copy of a value to store: text, or bytes. Waits for nothing but a stream. */
export function encodeValue(
  value: unknown,
): string | Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  if (typeof value === "string") {
    return value.isWellFormed() ? value : bytesOfIllFormed(value);
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (value instanceof ReadableStream) {
    if (value.locked) throw new TypeError("The ReadableStream has been locked to a reader.");
    return readAll(value);
  }
  throw new TypeError(
    "KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.",
  );
}

/** Gives a stored value out as a type. */
export function decodeValue(value: string | Uint8Array<ArrayBuffer>, type: string): unknown {
  if (type === "text") return textOf(value);
  if (type === "json") return JSON.parse(textOf(value));
  if (type === "arrayBuffer") return bytesOf(value).buffer;
  if (type === "stream") return new Blob([bytesOf(value)]).stream();
  throw new TypeError(
    'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".',
  );
}

/** Checks the keys of a bulk read. What the store refuses is returned, since it comes later. */
export function bulkKeys(
  keys: readonly string[],
  type: string,
): { readonly names: readonly string[]; readonly failure: KvFailure | undefined } {
  const names = [...new Set(keys.map(wellFormed))];
  return { names, failure: bulkFailure(keys, type) };
}

/** Gives out what a bulk read found. Keys that look like array indices vanish, as in workerd. */
export function decodeBulk(
  names: readonly string[],
  found: readonly (KvFound | null)[],
  type: string,
  shape: "values" | "entries",
): Map<string, unknown> {
  const values = new Map<string, unknown>();
  let size = 0;
  names.forEach((name, i) => {
    const entry = found[i] ?? null;
    if (entry !== null) size += textOf(entry.value).length;
    if (size > BULK_BYTES_MAX) {
      throw new KvFailure(413, "Total size of request exceeds the limit of 25MB");
    }
    const value = entry === null ? null : bulkValue(entry.value, type);
    if (isArrayIndex(name)) return;
    const metadata = entry?.metadata === undefined ? null : JSON.parse(entry.metadata);
    values.set(name, shape === "entries" && value !== null ? { value, metadata } : value);
  });
  return values;
}

function bulkFailure(names: readonly string[], type: string): KvFailure | undefined {
  if (names.length > BULK_KEYS_MAX) {
    return new KvFailure(400, `You can request a maximum of ${BULK_KEYS_MAX} keys`);
  }
  if (names.length === 0) return new KvFailure(400, "You must request a minimum of 1 key");
  if (type !== "text" && type !== "json") {
    return new KvFailure(400, `"${type}" is not a valid type. Use "json" or "text"`);
  }
  for (const name of names) {
    if (name === "") return new KvFailure(400, "Key names must not be empty");
    if (name === "." || name === "..") {
      return new KvFailure(400, `Illegal key name "${name}". Please use a different name.`);
    }
    const bytes = utf8Length(name);
    if (bytes > KEY_BYTES_MAX) return tooLong(bytes);
  }
  return undefined;
}

function bulkValue(value: string | Uint8Array<ArrayBuffer>, type: string): unknown {
  const text = textOf(value);
  if (type === "text") return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new KvFailure(400, "At least one of the requested keys corresponds to a non-json value");
  }
}

/** The failure of a key or prefix that is too long. */
export function tooLong(bytes: number): KvFailure {
  return new KvFailure(
    414,
    `UTF-8 encoded length of ${bytes} exceeds key length limit of ${KEY_BYTES_MAX}.`,
  );
}

/** A stored value as text; the byte order mark stays. */
export function textOf(value: string | Uint8Array): string {
  return typeof value === "string"
    ? value
    : new TextDecoder("utf-8", { ignoreBOM: true }).decode(value);
}

/** A copy of a stored value as bytes. */
export function bytesOf(value: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return typeof value === "string" ? new TextEncoder().encode(value) : value.slice();
}

function isArrayIndex(name: string): boolean {
  const index = Number(name);
  return index < 4_294_967_295 && index >= 0 && String(index >>> 0) === name;
}

/** Refuses a key that is no text; the store does so, since it cannot decode it. */
export function checkName(name: string): void {
  if (!name.isWellFormed()) throw new KvFailure(400, "Could not URL-decode key name");
}

/** What text without its lone surrogates looks like: each is three bytes, none of them text. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.replace(LONE, "\ufffd\ufffd\ufffd");
}

/** The bytes of text in which lone surrogates are encoded as if they were characters. */
function bytesOfIllFormed(text: string): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  for (const char of text) {
    const unit = char.charCodeAt(0);
    if (char.length === 1 && unit >= 0xd800 && unit < 0xe000) {
      bytes.push(0xe0 | unit >> 12, 0x80 | unit >> 6 & 0x3f, 0x80 | unit & 0x3f);
    } else bytes.push(...new TextEncoder().encode(char));
  }
  return new Uint8Array(bytes);
}

async function readAll(stream: ReadableStream): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of stream) {
    if (typeof chunk === "string" || !ArrayBuffer.isView(chunk)) {
      throw new TypeError(
        "This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its writable side.",
      );
    }
    chunks.push(new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength));
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
