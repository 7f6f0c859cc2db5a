// What the probe puts in: everything that a binding coerces, refuses or passes on in a way of its own.

/** A value that a test names. */
export type Named = readonly [name: string, make: () => unknown];

/** Keys, and what is taken for one. */
export const KEYS: readonly unknown[] = [
  ...["", ".", "..", "...", " ", "a b", "\0", "\n", "/", "a/b", "../x", "%", "%41", "%zz", "+"],
  ...["?", "#", "&=", "é", "e\u0301", "😀", "x".repeat(512), "x".repeat(513), "é".repeat(256)],
  ...["é".repeat(257), "😀".repeat(128), "__proto__", "constructor", "1", "01", "4294967294"],
  ...["4294967295", "-0", "\ud800", "\ufffe", "\ufeff", "bulk/get", "~", ":"],
  ...[undefined, null, 5, true, 1n, { a: 1 }, new Date(0).getTime()],
];

/** Values, and what is refused as one. */
export const VALUES: readonly Named[] = [
  ["empty", () => ""],
  ["é", () => "é"],
  ["emoji", () => "😀"],
  ["lone surrogate", () => "a\ud800b"],
  ["lone low surrogate", () => "\udc00"],
  ["byte order mark", () => "\ufeff1"],
  ["NUL", () => "\0"],
  ["number", () => 1.5],
  ["-0", () => -0],
  ["NaN", () => NaN],
  ["null", () => null],
  ["undefined", () => undefined],
  ["true", () => true],
  ["bigint", () => 5n],
  ["symbol", () => Symbol("s")],
  ["object", () => ({})],
  ["array", () => ["a", "b"]],
  ["function", () => () => {}],
  ["String object", () => new String("s")],
  ["Date", () => new Date(0)],
  ["RegExp", () => /a/],
  ["Map", () => new Map()],
  ["Blob", () => new Blob(["blob"])],
  ["URLSearchParams", () => new URLSearchParams("a=1")],
  ["ArrayBuffer", () => new Uint8Array([1, 2, 3]).buffer],
  ["empty ArrayBuffer", () => new ArrayBuffer(0)],
  ["Uint8Array", () => new Uint8Array([104, 105])],
  ["subarray", () => new Uint8Array([1, 104, 105, 2]).subarray(1, 3)],
  ["DataView", () => new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)],
  ["Uint16Array", () => new Uint16Array([1, 258])],
  ["invalid UTF-8", () => new Uint8Array([0xff, 0x61, 0xc3])],
  ["stream of bytes", () => new Response("streamed").body],
  ["empty stream", () => new Response("").body],
  ["failing stream", () => streamOf((controller) => controller.error(new Error("broken")))],
  ["locked stream", () => {
    const stream = streamOf((controller) => controller.close());
    stream.getReader();
    return stream;
  }],
];

/** Types and options of a read. */
export const TYPES: readonly Named[] = [
  ...["text", "json", "arrayBuffer", "stream", "bogus", "", "JSON"].map((type) =>
    [JSON.stringify(type), () => type] as const
  ),
  ...["text", "json", "arrayBuffer", "stream", "bogus"].map((type) =>
    [`{type: "${type}"}`, () => ({ type })] as const
  ),
  ["undefined", () => undefined],
  ["null", () => null],
  ["5", () => 5],
  ["true", () => true],
  ["{}", () => ({})],
  ["{type: undefined}", () => ({ type: undefined })],
  ["{type: null}", () => ({ type: null })],
  ["{type: 5}", () => ({ type: 5 })],
  ["function", () => () => {}],
];

/** What a numeric option may be given. */
export const NUMBERS: readonly Named[] = [
  ...[60, 59, 59.9, 60.9, 30, 29, 0, -0, -1, 1, 2.9, 1000, 1001, NaN, Infinity, -Infinity].map((
    n,
  ) => [Object.is(n, -0) ? "-0" : String(n), () => n] as const),
  ...[2147483647, 2147483648, -2147483648, -2147483649, 4294967356, 1e20].map((n) =>
    [String(n), () => n] as const
  ),
  ...["60", " 60 ", "60s", "", "1e2", "0x3c"].map((t) => [JSON.stringify(t), () => t] as const),
  ["null", () => null],
  ["undefined", () => undefined],
  ["true", () => true],
  ["[60]", () => [60]],
  ["{}", () => ({})],
  ["60n", () => 60n],
  ["symbol", () => Symbol("s")],
  ["valueOf", () => ({ valueOf: () => 60 })],
];

/** Metadata, and what is refused as such. */
export const METADATA: readonly Named[] = [
  ["null", () => null],
  ["undefined", () => undefined],
  ["0", () => 0],
  ["false", () => false],
  ["empty text", () => ""],
  ["array", () => [1, [2]]],
  ["object", () => ({ a: { b: "é😀" } })],
  ["Date", () => new Date(0)],
  ["toJSON", () => ({ toJSON: () => "j" })],
  ["NaN", () => NaN],
  ["undefined member", () => ({ a: undefined, b: 1 })],
  ["__proto__ member", () => JSON.parse('{"__proto__":1}')],
  ["1,024 bytes", () => "m".repeat(1022)],
  ["1,025 bytes", () => "m".repeat(1023)],
  ["1,024 bytes of é", () => "é".repeat(511)],
  ["1,026 bytes of é", () => "é".repeat(512)],
  ["lone surrogate", () => "\ud800"],
  ["line break", () => "a\nb"],
  ["function", () => () => {}],
  ["symbol", () => Symbol("s")],
  ["bigint", () => 1n],
  ["cyclic", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    return cycle;
  }],
];

function streamOf(start: (controller: ReadableStreamDefaultController) => void): ReadableStream {
  return new ReadableStream({ start });
}
