// The Worker behind the real binding: a fake that answers what the binding asks. Its own clock goes with
// the machine's, so that the binding and the fake agree on the time; a control request makes a new fake.
import { serveKv } from "../lib/kv/kv_server.ts";
import { type KvCue, KvWorld, type KvWorldOptions } from "../lib/kv/kv_world.ts";
import type { KvBackend } from "../lib/kv/memory_kv.ts";
import { MemoryKv } from "../lib/kv/memory_kv.ts";

/** What a control request asks for. */
export interface BackendControl {
  /** A `KvWorld` of these options; without them a `MemoryKv`. */
  readonly world?: KvWorldOptions;
  /** Failures on cue. */
  readonly cues?: readonly KvCue[];
}

let backend: KvBackend = new MemoryKv({ now: Date.now }).backend;

export default {
  async fetch(request: Request): Promise<Response> {
    if (!request.headers.has("x-control")) return await serveKv(backend, request);
    const { world, cues = [] }: BackendControl = await request.json();
    if (world === undefined) backend = new MemoryKv({ now: Date.now }).backend;
    else {
      const made = new KvWorld({ ...world, now: Date.now });
      for (const cue of cues) made.fail(cue);
      backend = made.location("LHR").backend;
    }
    return new Response("ready");
  },
};
