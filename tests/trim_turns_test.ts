import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  clipBytes,
  jsonBytes,
  type Message,
  trimTurns,
  truncateMessage,
} from "../lib/trim_turns.ts";

interface Toolish extends Message {
  readonly "tool_calls"?: readonly { readonly id: string }[];
  readonly "tool_call_id"?: string;
}

/** `u1`, `a1`, … : the first letter is the role; `c` is an assistant's call, `t` a tool's result. */
function history(...ids: string[]): Toolish[] {
  const roles: Record<string, string> = { u: "user", s: "system", t: "tool" };
  return ids.map((id) => ({
    id,
    role: roles[id.charAt(0)] ?? "assistant",
    content: `text of ${id}`,
    ...(id.startsWith("c") ? { tool_calls: [{ id: `call-${id}` }] } : {}),
    ...(id.startsWith("t") ? { tool_call_id: `call-c${id.slice(1)}` } : {}),
  }));
}

function ids(messages: readonly Message[]): string {
  return messages.map(({ id }) => id).join(" ");
}

function trimmed(list: string, limits: Parameters<typeof trimTurns>[1]): string {
  return ids(trimTurns(history(...list.split(" ").filter(Boolean)), limits).kept);
}

Deno.test("trimTurns() keeps whole turns from the end", () => {
  const cases: [string, Parameters<typeof trimTurns>[1], string][] = [
    ["", { turnsMax: 1 }, ""],
    ["u1 a1 u2 a2", {}, "u1 a1 u2 a2"],
    ["u1 a1 u2 a2", { turnsMax: 1 }, "u2 a2"],
    ["u1 a1 u2 a2", { messagesMax: 3 }, "u2 a2"],
    ["u1 a1 u2 a2", { messagesMax: 4 }, "u1 a1 u2 a2"],
    ["a0 t0 u1 a1", {}, "u1 a1"],
    ["a0 t0", {}, ""],
    ["s0 u1 a1 u2 a2", { turnsMax: 1 }, "s0 u2 a2"],
    ["s0 u1 a1 u2 a2", { messagesMax: 4 }, "s0 u2 a2"],
    ["s0 s1 s2 s3 u1 a1", { messagesMax: 4 }, "s2 s3 u1 a1"],
    ["u1 c1 t1 a1 u2 c2 t2 a2", { messagesMax: 6 }, "u2 c2 t2 a2"],
    ["u1 u2 u3", { turnsMax: 2 }, "u2 u3"],
  ];
  for (const [list, limits, want] of cases) assertEquals(trimmed(list, limits), want, list);
});

Deno.test("trimTurns() drops the oldest steps of a last turn that is too long, calls with results", () => {
  const cases: [string, number, string][] = [
    ["u1 c1 t1 c2 t2 a3", 4, "u1 c2 t2 a3"],
    ["u1 c1 t1 c2 t2 a3", 3, "u1 a3"],
    ["u1 c1 c2 t1 t2 a3", 4, "u1 a3"],
    ["u1 c1 c2 t1 t2", 3, "u1"],
    ["u1 c1 t1", 2, "u1"],
    ["u1 a1 a2 a3", 2, "u1 a3"],
  ];
  for (const [list, messagesMax, want] of cases) assertEquals(trimmed(list, { messagesMax }), want);
});

Deno.test("trimTurns() knows tool results inside user messages", () => {
  const call = { id: "2", role: "assistant", content: [{ type: "tool_use", id: "x", input: {} }] };
  const result = { id: "3", role: "user", content: [{ type: "tool_result", tool_use_id: "x" }] };
  const messages: Message[] = [
    { id: "1", role: "user", content: "weather?" },
    call,
    result,
    { id: "4", role: "assistant", content: "rain" },
  ];
  assertEquals(ids(trimTurns(messages, { turnsMax: 1 }).kept), "1 2 3 4");
  assertEquals(ids(trimTurns(messages, { messagesMax: 3 }).kept), "1 4");
  assertEquals(ids(trimTurns(messages.slice(2), {}).kept), "");
});

Deno.test("trimTurns() cuts text in the last turn and flags it", () => {
  const messages: Message[] = [
    { id: "1", role: "user", content: "old" },
    { id: "2", role: "user", content: "é".repeat(5_000) },
    { id: "3", role: "assistant", content: "short" },
  ];
  const { kept, dropped } = trimTurns(messages, { bytesMax: 1_000 });
  assertEquals(ids(kept), "2 3");
  assertEquals(ids(dropped), "1");
  assertEquals(kept.map(({ truncated }) => truncated), [true, undefined]);
  assert(jsonBytes(kept) <= 1_000);
  assertEquals(messages[1]?.content, "é".repeat(5_000));
});

Deno.test("trimTurns() counts tokens as it is told to", () => {
  const messages = history("u1", "a1", "u2", "a2");
  assertEquals(ids(trimTurns(messages, { tokensMax: 3, countTokens: () => 1 }).kept), "u2 a2");
  assertEquals(ids(trimTurns(messages, { tokensMax: 40 }).kept), "u2 a2");
});

Deno.test("trimTurns() holds its bounds and pairs for any history", () => {
  let seed = 7;
  const random = (n: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
  for (let round = 0; round < 300; round++) {
    const list: Toolish[] = [];
    for (let i = 0; i < 1 + random(30); i++) {
      const kind = "uuacst"[random(6)] ?? "u";
      const size = random(5) === 0 ? 3_000 : 30;
      const last = list.at(-1);
      const [message] = kind === "t" && last?.tool_calls === undefined
        ? history(`a${i}`)
        : history(kind === "t" ? `t${i - 1}` : `${kind}${i}`);
      if (message) {
        list.push({ ...message, id: `${message.id}-${i}`, content: "x".repeat(random(size)) });
      }
    }
    const limits = {
      turnsMax: 1 + random(4),
      messagesMax: 2 + random(9),
      bytesMax: 400 + random(4_000),
    };
    const { kept, dropped } = trimTurns(list, limits);
    const label = JSON.stringify([limits, ids(list), ids(kept)]);
    assert(kept.length <= limits.messagesMax, label);
    assert(jsonBytes(kept) - 1 <= limits.bytesMax, label);
    assertEquals(kept.length + dropped.length, list.length, label);
    assertEquals(ids(kept), ids(list.filter(({ id }) => kept.some((m) => m.id === id))), label);
    const rest = kept.filter(({ id }) => !id.startsWith("s") || kept[0]?.id !== id);
    const opening = rest.find(({ role }) => role !== "system");
    assert(!opening || opening.role === "user", label);
    const calls = kept.flatMap((m) => m.tool_calls?.map(({ id }) => id) ?? []);
    for (const { tool_call_id: call } of kept) {
      if (call) assert(calls.includes(call), label);
    }
    if (list.some(({ role }) => role === "user")) {
      assert(kept.some(({ role }) => role === "user"), label);
    }
  }
});

Deno.test("trimTurns() is quick with 20,000 messages", () => {
  const one = [
    ...history("u0"),
    ...Array.from({ length: 20_000 }, (_, i) => history(`a${i}`)).flat(),
  ];
  assertEquals(trimTurns(one, { messagesMax: 3 }).kept.length, 3);
});

Deno.test("trimTurns() refuses limits that are none", () => {
  for (const turnsMax of [NaN, 0, -1]) {
    assertThrows(() => trimTurns([], { turnsMax }), RangeError, "at least 1");
  }
});

Deno.test("truncateMessage() and clipBytes() never cut inside a character", () => {
  assertEquals(clipBytes("a😀b", 4), "a");
  assertEquals(clipBytes("a😀b", 5), "a😀");
  assertEquals(clipBytes("abc", -1), "");
  const parts = {
    id: "1",
    role: "user",
    content: [{ type: "text", text: "t".repeat(500) }, { type: "image", data: "i".repeat(5_000) }],
  };
  const cut = truncateMessage(parts, 300);
  assert(jsonBytes(cut) <= 300);
  assertEquals(JSON.stringify(cut).includes("iiii"), false);
  const bulky = { id: "2", role: "assistant", content: "x", extra: "y".repeat(900) };
  assertEquals(truncateMessage(bulky, 300) as Message, {
    id: "2",
    role: "assistant",
    content: "[omitted]",
    truncated: true,
  });
});
