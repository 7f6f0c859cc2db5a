import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";

const BROWSER = {
  "accept": "text/html,application/xhtml+xml",
  "accept-language": "en",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
  "user-agent":
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36",
};

/** A running `deno task dev`. */
interface Dev extends AsyncDisposable {
  readonly origin: string;
  /** Presses Ctrl-C; gives the exit code. */
  stop(): Promise<number>;
}

/** Starts dev and waits until it has printed its addresses. */
async function startDev(...args: string[]): Promise<Dev> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "scripts/dev.ts", ...args],
    cwd: new URL("../", import.meta.url),
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let text = "";
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("Stop with Ctrl-C.")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`dev ended: ${text}`);
    text += value;
  }
  async function stop(): Promise<number> {
    child.kill("SIGINT");
    await reader.cancel();
    return (await child.status).code;
  }
  let stopped: Promise<number> | undefined;
  return {
    origin: text.match(/^Site\s+(http:\/\/127\.0\.0\.1:\d+)\/$/m)?.[1] ?? "",
    stop: () => stopped ??= stop(),
    async [Symbol.asyncDispose]() {
      await (stopped ??= stop());
    },
  };
}

/** Makes a request and reads the answer to its end. */
async function visit(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, { redirect: "manual", headers: BROWSER, ...init });
  await response.arrayBuffer();
  return response.status;
}

/** Today's total, once it is at least `wanted`, or as it is after many looks. */
async function totalOf(origin: string, wanted: number): Promise<number> {
  const date = new Date().toISOString().slice(0, 10);
  let total = -1;
  for (let looks = 0; looks < 60 && total < wanted; looks++) {
    const response = await fetch(`${origin}/api/traffic?date=${date}`);
    ({ total } = await response.json() as { total: number });
    if (total < wanted) await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return total;
}

Deno.test("dev counts page views and keeps them over a restart", async () => {
  const state = await Deno.makeTempDir({ prefix: "scrimp-dev-" });
  try {
    {
      await using dev = await startDev("--port", "0", "--state", state);
      assertMatch(dev.origin, /^http:\/\/127\.0\.0\.1:\d+$/);
      for (const path of ["/", "/about", "/"]) assertEquals(await visit(dev.origin + path), 200);
      assertEquals(await visit(`${dev.origin}/style.css`), 200);
      assertEquals(await visit(`${dev.origin}/images/icon.svg`), 200);
      assertEquals(await visit(`${dev.origin}/no-such-page`), 404);
      assertEquals(await visit(`${dev.origin}/`, { method: "HEAD" }), 200);
      assertEquals(await visit(`${dev.origin}/api/traffic`), 200);
      assertEquals(await totalOf(dev.origin, 3), 3);
      assertEquals(await dev.stop(), 0);
    }
    await using dev = await startDev("--port=0", `--state=${state}`);
    assertEquals(await totalOf(dev.origin, 3), 3);
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

Deno.test("dev says which port is taken, and how to choose another", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "scripts/dev.ts", "--port", String(port)],
    cwd: new URL("../", import.meta.url),
  }).output();
  assertEquals(code, 1);
  assertStringIncludes(new TextDecoder().decode(stderr), `Port ${port} is taken`);
  assertStringIncludes(new TextDecoder().decode(stderr), `deno task dev --port ${port + 1}`);
});
