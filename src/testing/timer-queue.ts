/** A timer of a manual environment. */
export interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
  readonly isAlarm: boolean;
}

/** Timers in the order in which they fire: by time, those of one time as they were added. Tests have tens of thousands. */
export class TimerQueue {
  /** A binary heap. A timer that was stopped stays in it until it is the first. */
  #heap: Entry[] = [];
  #added = 0;
  #size = 0;

  /** The number of timers that were not stopped. */
  get size(): number {
    return this.#size;
  }

  /** Adds a timer; the returned function stops it. */
  add(timer: Timer): () => void {
    this.#added += 1;
    const entry: Entry = { timer, number: this.#added, isStopped: false };
    this.#push(entry);
    this.#size += 1;
    return () => this.#stop(entry);
  }

  first(): Timer | undefined {
    while (this.#heap[0]?.isStopped === true) this.#pop();
    return this.#heap[0]?.timer;
  }

  takeFirst(): Timer | undefined {
    const timer = this.first();
    const entry = this.#heap[0];
    if (entry !== undefined) this.#stop(entry);
    return timer;
  }

  /** Gives each timer another time. */
  move(toMs: (timer: Timer) => number): void {
    const entries = this.#heap;
    this.#heap = [];
    for (const entry of entries) {
      if (entry.isStopped) continue;
      entry.timer = { ...entry.timer, atMs: toMs(entry.timer) };
      this.#push(entry);
    }
  }

  #stop(entry: Entry): void {
    if (entry.isStopped) return;
    entry.isStopped = true;
    // What it would do must not be kept.
    entry.timer = { ...entry.timer, fire() {} };
    this.#size -= 1;
    if (this.#heap.length > 2 * this.#size + SPARE) this.move(({ atMs }) => atMs);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(entry, heap[above])) break;
      heap[at] = heap[above] as Entry;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const below = isBefore(heap[left + 1], heap[left]) ? left + 1 : left;
      const other = heap[below];
      if (other === undefined || !isBefore(other, last)) break;
      heap[at] = other;
      at = below;
    }
    heap[at] = last;
  }
}

/** So many stopped timers are always left in the heap. */
const SPARE = 64;

interface Entry {
  timer: Timer;
  readonly number: number;
  isStopped: boolean;
}

function isBefore(one: Entry | undefined, other: Entry | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  const ms = one.timer.atMs - other.timer.atMs;
  return ms < 0 || (ms === 0 && one.number < other.number);
}
