import type { Clock, Random } from "../clock.ts";
import { EventQueue } from "./_event_queue.ts";
import { hashText, seededRandom } from "./random.ts";
import { Trace } from "./trace.ts";

/** Options of a {@linkcode Simulation}. */
export interface SimulationOptions {
  /** What all chance comes from. */
  readonly seed: number;
  /**
   * When virtual time starts, in milliseconds since the Unix epoch.
   *
   * @default {1_767_225_600_000} 2026-01-01T00:00:00Z
   */
  readonly startMs?: number;
  /**
   * How many rounds of microtasks without any call into the simulation count as standstill. Raise it
   * for code that awaits a longer chain of promises between two calls.
   *
   * @default {96}
   */
  readonly settleTicks?: number;
  /**
   * How many of the latest trace lines are kept.
   *
   * @default {0}
   */
  readonly linesMax?: number;
}

/**
 * Virtual time. Events happen one at a time in the order of their moments; after each, the code that
 * it woke runs until it waits for the simulation again. Nothing waits for real time, so a day takes
 * as long as its events take to compute.
 *
 * Deterministic as long as the code under test waits for nothing but promises and the simulation: no
 * real timers, no I/O, no hashing by `crypto.subtle`.
 *
 * @example A day in an instant
 * ```ts
 * import { Simulation } from "@scrimp/kv/sim";
 * import { assertEquals } from "@std/assert";
 *
 * const sim = new Simulation({ seed: 1, startMs: 0 });
 * const seen: number[] = [];
 * async function work(): Promise<void> {
 *   for (let hour = 0; hour < 24; hour++) {
 *     await sim.clock.sleep(3_600_000);
 *     seen.push(sim.clock.now());
 *   }
 * }
 * sim.spawn(work());
 * await sim.runUntil(86_400_000);
 * assertEquals(seen.length, 24);
 * ```
 */
export class Simulation {
  /** The virtual clock. */
  readonly clock: Clock;
  /** Seeded chance. */
  readonly random: Random;
  /** What happened. */
  readonly trace: Trace;
  /** What spawned tasks rejected with, in order. */
  readonly rejections: unknown[] = [];
  readonly #seed: number;
  readonly #queue = new EventQueue();
  readonly #settleTicks: number;
  #nowMs: number;
  #activity = 0;
  #tasks = 0;
  #woke = "nobody";
  #running = "";

  /**
   * Makes a simulation in which nothing is going to happen yet.
   *
   * @throws {RangeError} If an option is out of range.
   */
  constructor(options: SimulationOptions) {
    const { seed, startMs = 1_767_225_600_000, settleTicks = 96, linesMax = 0 } = options;
    if (!Number.isFinite(startMs)) {
      throw new RangeError(`Option "startMs" must be a finite number: got ${startMs}`);
    }
    if (!Number.isInteger(settleTicks) || settleTicks < 1) {
      throw new RangeError(
        `Option "settleTicks" must be a whole number from 1: got ${settleTicks}`,
      );
    }
    this.random = seededRandom(seed);
    this.#seed = Math.floor(seed);
    this.trace = new Trace({ linesMax });
    this.#nowMs = startMs;
    this.#settleTicks = settleTicks;
    this.clock = { now: () => this.#nowMs, sleep: (ms) => this.#sleep(ms) };
  }

  /**
   * A further source of chance from the same seed, for one purpose: drawing from it leaves the others
   * as they are.
   */
  chance(purpose: string): Random {
    return seededRandom(this.#seed + hashText(purpose) / 4_294_967_296);
  }

  /** How many spawned tasks have not settled. */
  get pending(): number {
    return this.#tasks;
  }

  /** How many events are still to come. */
  get scheduled(): number {
    return this.#queue.size;
  }

  /**
   * Lets something happen at a moment; at once when it is past. An action that returns a promise is
   * spawned; one that does not should be synchronous, and costs next to nothing.
   *
   * @param timeMs Milliseconds since the Unix epoch.
   * @param action What happens.
   */
  at(timeMs: number, action: () => unknown): void {
    this.#queue.add(Math.max(timeMs, this.#nowMs), action);
  }

  /** Lets something happen after a delay in milliseconds. */
  after(delayMs: number, action: () => unknown): void {
    this.at(this.#nowMs + delayMs, action);
  }

  /**
   * Runs a promise as a task of the simulation: time stands still until it waits. Its rejection is
   * kept in {@linkcode Simulation.rejections}.
   */
  spawn(task: PromiseLike<unknown>): void {
    this.#activity++;
    this.#tasks++;
    task.then(
      () => this.#settled(),
      (error) => {
        this.rejections.push(error);
        this.#settled();
      },
    );
  }

  /** Tells that code outside was woken or called, so that it gets to run before time goes on. */
  touch(): void {
    this.#activity++;
    this.#woke = "somebody";
  }

  /**
   * Lets time go on up to a moment, everything that happens at it included.
   *
   * @param timeMs Milliseconds since the Unix epoch.
   * @throws {TypeError} If the simulation is running already.
   */
  async runUntil(timeMs: number): Promise<void> {
    await this.#run(timeMs);
    this.#nowMs = Math.max(this.#nowMs, timeMs);
  }

  /**
   * Lets time go on until nothing is going to happen any more.
   *
   * @param limitMs Where to stop nevertheless, in milliseconds since the Unix epoch.
   * @throws {TypeError} If the simulation is running already.
   */
  async runUntilIdle(limitMs = Infinity): Promise<void> {
    await this.#run(limitMs);
  }

  async #run(untilMs: number): Promise<void> {
    if (this.#running !== "") throw new TypeError("Simulation is running already");
    this.#running = "running";
    try {
      // What was started outside may schedule further events.
      this.touch();
      await this.#settle();
      while (this.#queue.nextMs <= untilMs) {
        const event = this.#queue.take();
        if (event === undefined) break;
        this.#nowMs = event.timeMs;
        const before = this.#activity;
        const result = event.action();
        if (result instanceof Promise) this.spawn(result);
        // deno-lint-ignore scrimp/no-await-in-loop
        if (this.#activity !== before) await this.#settle();
      }
    } finally {
      this.#running = "";
    }
  }

  #settled(): void {
    this.#activity++;
    this.#tasks--;
  }

  /** Lets microtasks run until for some rounds none of them has called the simulation. */
  async #settle(): Promise<void> {
    let seen = -1;
    for (let quiet = 0; quiet < this.#settleTicks; quiet++) {
      if (seen !== this.#activity) {
        seen = this.#activity;
        quiet = 0;
      } else if (this.#tasks === 0 && this.#woke === "nobody") break;
      // deno-lint-ignore scrimp/no-await-in-loop
      await undefined;
    }
    this.#woke = "nobody";
  }

  #sleep(ms: number): Promise<void> {
    this.#activity++;
    return new Promise((resolve) => {
      this.after(ms > 0 ? ms : 0, () => {
        this.touch();
        resolve();
      });
    });
  }
}
