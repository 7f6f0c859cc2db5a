// The Worker that uses a binding, in workerd: it runs the probe, the contract suite's calls, or
// generated sequences, and says what it saw.
import { answerOf, clear, probe } from "./_kv_probe.ts";
import { runContract } from "./kv_contract.ts";
import { type GeneratedOperation, runSequences } from "./_kv_sequences.ts";

interface Env {
  readonly KV: unknown;
  readonly [namespace: `KV${number}`]: unknown;
  readonly BACKEND?: { fetch(request: Request): Promise<Response> };
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/control") {
      return await env.BACKEND?.fetch(
        new Request("http://backend/", {
          method: "POST",
          headers: { "x-control": "1" },
          body: await request.text(),
        }),
      ) ?? new Response("no backend", { status: 404 });
    }
    if (pathname === "/sequences") {
      const parts: readonly GeneratedOperation[][][] = await request.json();
      const answers = parts.map((part, i) => runSequences(env[`KV${i}`], part));
      return Response.json(await Promise.all(answers));
    }
    if (pathname === "/contract") {
      const sizes: "all" | "small" = await request.json();
      const open = async () => {
        while ((await clear(env.KV)) > 0);
        return { kv: env.KV };
      };
      return Response.json(await runContract(open, sizes));
    }
    if (pathname === "/naive") {
      const kv = env.KV as { put(key: string, value: string): Promise<void> };
      return Response.json(
        await Promise.all([1, 2].map((value) => answerOf(() => kv.put("a", `${value}`)))),
      );
    }
    return Response.json(await probe(env.KV));
  },
};
