import type { Clock } from "../clock.ts";
import type { BulkKv, Kv } from "../kv/kv.ts";
import type { EdgeCache } from "../views/edge_cache.ts";
import type { WaitUntil } from "../wait_until.ts";
import type { Simulation } from "./simulation.ts";

/** What an isolate finds around it. */
export interface IsolateOptions {
  /** A name for the trace. */
  readonly name: string;
  /** The location's KV. */
  readonly kv: Kv;
  /** The data center's cache, where there is one. */
  readonly edgeCache?: EdgeCache | null;
  /**
   * Most milliseconds that work may go on in `waitUntil`; what takes longer is counted in
   * {@linkcode Isolate.overdue}.
   *
   * @default {30_000}
   */
  readonly waitUntilMsMax?: number;
}

/**
 * One isolate of a Worker: everything that its code can wait for, made so that the isolate can be
 * killed at any of these points. Once it is dead, whatever its code waits for never comes, and nothing
 * it calls has an effect: as when the runtime evicts it.
 *
 * Each call of `kv`, `edgeCache` and `clock.sleep` is two points: before its effect, and before its
 * answer. Count {@linkcode Isolate.points} in one run, then kill at each of them in turn.
 */
export class Isolate {
  /** Its name. */
  readonly name: string;
  /** KV, as the isolate sees it. Pass it as the binding. */
  readonly kv: BulkKv;
  /** The data center's cache, as the isolate sees it. */
  readonly edgeCache: EdgeCache | null;
  /** Time, as the isolate sees it. */
  readonly clock: Clock;
  /** What to pass as the execution context. */
  readonly ctx: WaitUntil;
  /** When it was born, in milliseconds since the Unix epoch. */
  readonly bornMs: number;
  /** When it last did something, in milliseconds since the Unix epoch. */
  usedMs: number;
  /** How many `waitUntil` tasks took longer than the runtime lets them. */
  overdue = 0;
  readonly #sim: Simulation;
  readonly #waitUntilMsMax: number;
  #points = 0;
  #killAt = Infinity;
  #state: "alive" | "dead" = "alive";
  readonly #ends = new Set<() => void>();

  /** Gives birth to an isolate. */
  constructor(sim: Simulation, options: IsolateOptions) {
    const { name, kv, edgeCache = null, waitUntilMsMax = 30_000 } = options;
    this.#sim = sim;
    this.#waitUntilMsMax = waitUntilMsMax;
    this.name = name;
    this.bornMs = this.usedMs = sim.clock.now();
    this.kv = this.#guardKv(kv);
    this.edgeCache = edgeCache && {
      get: (key) => this.#guard(() => edgeCache.get(key)),
      set: (key, value, ttl) => this.#guard(() => edgeCache.set(key, value, ttl)),
    };
    this.clock = {
      now: () => sim.clock.now(),
      sleep: (ms) => this.#guard(() => sim.clock.sleep(ms)),
    };
    this.ctx = { waitUntil: (task) => this.#waitUntil(task) };
  }

  /** Whether it lives. */
  get alive(): boolean {
    return this.#state === "alive";
  }

  /** Whether some of its work goes on. */
  get busy(): boolean {
    return this.#ends.size > 0;
  }

  /** How many points it has passed at which it could have been killed. */
  get points(): number {
    return this.#points;
  }

  /** Kills it now. Its memory is lost; what it had under way is never answered. */
  kill(): void {
    if (!this.alive) return;
    this.#state = "dead";
    this.#sim.trace.note(`${this.#sim.clock.now()} ${this.name} dies`);
    for (const end of this.#ends) end();
  }

  /**
   * Kills it when it reaches a point.
   *
   * @param point The first is 0.
   */
  killAt(point: number): void {
    this.#killAt = point;
  }

  /**
   * Runs the handling of a request, or any other work, as a task of the simulation that ends when the
   * isolate dies. Its rejection goes to {@linkcode Simulation.rejections}, unless it comes too late.
   */
  run(task: Promise<unknown>): void {
    if (!this.alive) return void task.catch(() => {});
    this.#sim.spawn(
      new Promise<void>((resolve, reject) => {
        const end = () => {
          this.#ends.delete(end);
          resolve();
        };
        this.#ends.add(end);
        task.then(end, (error) => {
          if (this.alive) reject(error);
          end();
        });
      }),
    );
  }

  #guardKv(kv: Kv): BulkKv {
    const get = (key: string | string[], options?: object) =>
      this.#guard(() => kv.get(key as string, options) as Promise<unknown>);
    return {
      get: get as BulkKv["get"],
      getWithMetadata: (key, options) => this.#guard(() => kv.getWithMetadata(key, options)),
      put: (key, value, options) => this.#guard(() => kv.put(key, value, options)),
      delete: (key) => this.#guard(() => kv.delete(key)),
      list: (options) => this.#guard(() => kv.list(options)),
    };
  }

  async #guard<T>(call: () => Promise<T>): Promise<T> {
    if (this.#passes() === "dead") return await never();
    this.#sim.touch();
    try {
      const answer = await call();
      if (this.#passes() === "dead") return await never();
      return answer;
    } catch (error) {
      if (this.#passes() === "dead") return await never();
      throw error;
    }
  }

  #passes(): "alive" | "dead" {
    if (this.alive && this.#points++ >= this.#killAt) this.kill();
    if (this.alive) this.usedMs = this.#sim.clock.now();
    return this.#state;
  }

  #waitUntil(task: Promise<unknown>): void {
    const startMs = this.#sim.clock.now();
    this.run(task.finally(() => {
      if (!this.alive) return;
      this.usedMs = this.#sim.clock.now();
      if (this.usedMs - startMs > this.#waitUntilMsMax) this.overdue++;
    }));
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
