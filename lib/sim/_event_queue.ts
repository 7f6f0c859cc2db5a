/** Something that happens at a moment. */
export interface SimEvent {
  readonly timeMs: number;
  readonly order: number;
  readonly action: () => unknown;
}

/** Events by time, those of one moment in the order they were added. A binary heap. */
export class EventQueue {
  readonly #heap: SimEvent[] = [];
  #added = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** When the next event is; `Infinity` when there is none. */
  get nextMs(): number {
    return this.#heap[0]?.timeMs ?? Infinity;
  }

  add(timeMs: number, action: () => unknown): void {
    const event = { timeMs, order: this.#added++, action };
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const up = (at - 1) >>> 1;
      const parent = heap[up];
      if (parent === undefined || !before(event, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = event;
  }

  take(): SimEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    while (true) {
      let down = 2 * at + 1;
      let child = heap[down];
      if (child === undefined) break;
      const right = heap[down + 1];
      if (right !== undefined && before(right, child)) {
        child = right;
        down++;
      }
      if (!before(child, last)) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
    return first;
  }
}

function before(a: SimEvent, b: SimEvent): boolean {
  return a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order);
}
