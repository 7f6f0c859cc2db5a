// The ready Worker, whose pages are counted as the binding COUNTER says. Times recorders at /loop.
import { PageViews, type Verdict } from "../lib/page_views.ts";
import { createWorker, type Env, type WaitUntil } from "../lib/worker/create_worker.ts";
import { articleRecorder, type Recorder, requests, scrimpRecorder, TRAFFIC } from "./_recorders.ts";

const COUNT = 1024;
const worker = createWorker();
const recorders = new Map<string, readonly [Request[], Recorder]>();
let isReady = false;

/** Puts another recorder, or none, in the place of ours. */
function prepare(counter: string): void {
  isReady = true;
  if (counter === "scrimp") return;
  const record = counter === "article" ? articleRecorder() : () => {};
  const verdict: Verdict = { counted: false, reason: "api" };
  PageViews.prototype.record = (request) => (record(request), verdict);
}

/** Runs a recorder over the same requests many times; whoever asks takes the time. */
function loop(url: URL): Response {
  const [name, group, times] = ["recorder", "group", "times"].map((n) => url.searchParams.get(n));
  const key = `${name} ${group}`;
  let made = recorders.get(key);
  if (!made) {
    const [, headers, referred] = TRAFFIC[Number(group)] ?? ["", {}, false];
    const recorder = name === "scrimp" ? scrimpRecorder() : articleRecorder();
    recorders.set(key, made = [requests(COUNT, headers, referred), recorder]);
  }
  const [all, record] = made;
  for (let n = 0; n < Number(times); n++) for (const request of all) record(request);
  return new Response();
}

export default {
  async fetch(request: Request, env: Env, ctx: WaitUntil): Promise<Response> {
    const { COUNTER } = env as unknown as { COUNTER: string };
    if (request.method === "POST") return loop(new URL(request.url));
    if (!isReady) prepare(COUNTER);
    return await worker.fetch(request, env, ctx);
  },
};
