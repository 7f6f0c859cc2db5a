// Generates sequences of operations for comparing two KVs.
import fc from "fast-check";
import type { GeneratedOperation } from "./_kv_sequences.ts";

const key = fc.constantFrom("a", "a:1", "a:10", "a:😀", "a:\uffee", "b", "", "..", "é".repeat(257));
const metadata = fc.option(
  fc.oneof(fc.integer(), fc.string({ maxLength: 5 }), fc.constant("m".repeat(1023))),
);
const operation: fc.Arbitrary<GeneratedOperation> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(key, fc.string({ maxLength: 8 }), putOptions()).map(as("put")) },
  { weight: 3, arbitrary: fc.tuple(key, readOptions()).map(as("get")) },
  {
    weight: 2,
    arbitrary: fc.tuple(
      key.filter((name) => name.length < 9 && name !== "" && name !== ".."),
      readOptions(),
    )
      .map(as("getWithMetadata")),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.uniqueArray(key, { minLength: 1, maxLength: 4 })).map(as("get")),
  },
  { weight: 2, arbitrary: fc.tuple(key).map(as("delete")) },
  { weight: 2, arbitrary: fc.tuple(listOptions()).map(as("list")) },
  { weight: 2, arbitrary: fc.constant(as("next")([])) },
);

function as(
  method: GeneratedOperation["method"],
): (args: readonly unknown[]) => GeneratedOperation {
  return (args) => ({ method, args });
}

function putOptions(): fc.Arbitrary<object> {
  return fc.record({
    metadata,
    expirationTtl: fc.constantFrom(60, 59, 3600, 0),
    expiration: fc.constantFrom(2_000_000_000, 1, 2_100_000_000),
  }, { requiredKeys: [] });
}

function readOptions(): fc.Arbitrary<object> {
  return fc.record({
    type: fc.constantFrom("text", "json", "arrayBuffer"),
    cacheTtl: fc.constantFrom(30, 29, 60),
  }, { requiredKeys: [] });
}

function listOptions(): fc.Arbitrary<object> {
  return fc.record({
    prefix: fc.constantFrom("", "a", "a:", "a:1", "b", "c"),
    limit: fc.constantFrom(0, 1, 2, 3, 1000, 1001),
  }, { requiredKeys: [] });
}

/** Sequences of up to ten operations, the same for the same seed. */
export function generateSequences(numRuns: number, seed: number): GeneratedOperation[][] {
  return fc.sample(fc.array(operation, { minLength: 1, maxLength: 10 }), { numRuns, seed });
}

/** Both clocks are the machine's, but not read at the same moment. */
export function withoutTimes(answers: readonly string[]): string[] {
  return answers.map((answer) => answer.replace(/expiration: 1\d{9}/g, "expiration: <soon>"));
}
