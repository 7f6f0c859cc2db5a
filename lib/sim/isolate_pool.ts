import { Isolate, type IsolateOptions } from "./isolate.ts";
import type { Simulation } from "./simulation.ts";

/** Options of an {@linkcode IsolatePool}. */
export interface IsolatePoolOptions<T> extends IsolateOptions {
  /** Starts the Worker's code in a new isolate. */
  readonly start: (isolate: Isolate) => T;
  /**
   * Most isolates of the location at a time.
   *
   * @default {3}
   */
  readonly isolatesMax?: number;
  /**
   * How long an isolate may idle before it is evicted, in milliseconds.
   *
   * @default {900_000}
   */
  readonly idleMsMax?: number;
  /**
   * The chance, each time an isolate is picked, that it has been evicted for another reason.
   *
   * @default {0}
   */
  readonly evictionRate?: number;
  /** Is told of each isolate that goes, with the code that ran in it. */
  readonly onEnd?: (isolate: Isolate, app: T) => void;
}

/** An isolate and the code that runs in it. */
export interface RunningIsolate<T> {
  /** The isolate. */
  readonly isolate: Isolate;
  /** What `start` returned. */
  readonly app: T;
}

/**
 * The isolates of one location: born when a request meets none, evicted when they idle. A request goes
 * to any of them, as nothing is promised about which
 * (https://developers.cloudflare.com/workers/reference/how-workers-works/).
 *
 * How many isolates there are, and how long they idle, is documented nowhere: both are guesses to be
 * varied.
 */
export class IsolatePool<T> {
  readonly #sim: Simulation;
  readonly #options: IsolatePoolOptions<T>;
  readonly #slots: (RunningIsolate<T> | undefined)[];
  readonly #idleMsMax: number;
  readonly #evictionRate: number;
  #born = 0;

  /**
   * Makes a pool without isolates.
   *
   * @throws {RangeError} If an option is out of range.
   */
  constructor(sim: Simulation, options: IsolatePoolOptions<T>) {
    const { isolatesMax = 3, idleMsMax = 900_000, evictionRate = 0 } = options;
    if (!Number.isInteger(isolatesMax) || isolatesMax < 1) {
      throw new RangeError(
        `Option "isolatesMax" must be a whole number from 1: got ${isolatesMax}`,
      );
    }
    if (!(evictionRate >= 0 && evictionRate <= 1)) {
      throw new RangeError(`Option "evictionRate" must be from 0 to 1: got ${evictionRate}`);
    }
    this.#sim = sim;
    this.#options = options;
    this.#slots = Array.from({ length: isolatesMax });
    this.#idleMsMax = idleMsMax;
    this.#evictionRate = evictionRate;
  }

  /** How many isolates have ever been born. */
  get born(): number {
    return this.#born;
  }

  /** Those that live. */
  get running(): RunningIsolate<T>[] {
    return this.#slots.filter((slot) => slot !== undefined && slot.isolate.alive) as RunningIsolate<
      T
    >[];
  }

  /** The isolate that the next request meets. */
  pick(): RunningIsolate<T> {
    const slot = Math.floor(this.#sim.random() * this.#slots.length);
    this.#retire(slot);
    const running = this.#slots[slot] ?? this.#bear(slot);
    running.isolate.usedMs = this.#sim.clock.now();
    return running;
  }

  /** Evicts those that have idled too long. Without this they go when their turn would come. */
  evictIdle(): void {
    for (let slot = 0; slot < this.#slots.length; slot++) this.#retire(slot);
  }

  /** Kills all. */
  killAll(): void {
    for (let slot = 0; slot < this.#slots.length; slot++) this.#end(slot);
  }

  #retire(slot: number): void {
    const isolate = this.#slots[slot]?.isolate;
    if (isolate === undefined) return;
    const idleMs = isolate.busy ? 0 : this.#sim.clock.now() - isolate.usedMs;
    const unlucky = this.#evictionRate > 0 && this.#sim.random() < this.#evictionRate;
    if (!isolate.alive || idleMs > this.#idleMsMax || unlucky) this.#end(slot);
  }

  #end(slot: number): void {
    const running = this.#slots[slot];
    if (running === undefined) return;
    this.#slots[slot] = undefined;
    running.isolate.kill();
    this.#options.onEnd?.(running.isolate, running.app);
  }

  #bear(slot: number): RunningIsolate<T> {
    const name = `${this.#options.name}#${this.#born++}`;
    const isolate = new Isolate(this.#sim, { ...this.#options, name });
    this.#sim.trace.note(`${this.#sim.clock.now()} ${name} is born`);
    const running = { isolate, app: this.#options.start(isolate) };
    this.#slots[slot] = running;
    return running;
  }
}
