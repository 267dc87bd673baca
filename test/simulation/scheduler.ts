import type { Picker } from "../laws/program.ts";

/** The owner of scheduled work: a process, or the environment outside all processes. */
export interface Doer {
  /** The work of a dead owner is dropped. */
  readonly alive: boolean;
  /** The work of a paused owner is passed to `hold` and waits. */
  readonly paused: boolean;
  hold(run: () => void): void;
}

/** The owner that never dies: clients, disks and faults. */
export const outsider: Doer = { alive: true, paused: false, hold() {} };

/**
 * The order of all steps, from a seed. A step is one turn of the event loop: one of the ready tasks runs,
 * with all microtasks that follow from it. Time advances when nothing is ready, and sometimes before.
 */
export class Scheduler {
  readonly #pick: Picker;
  readonly #ready: Job[] = [];
  readonly #timers: Timer[] = [];
  readonly #next: (() => void)[] = [];
  readonly #stepped: () => void;
  readonly #isOpen: () => boolean;
  #doer: Doer = outsider;
  /** Milliseconds since 1970. */
  nowMs = START_MS;
  steps = 0;

  /** `stepped` is called before each step; `isOpen` tells whether something goes on that periodic work ends. */
  constructor(pick: Picker, stepped: () => void, isOpen: () => boolean) {
    this.#pick = pick;
    this.#stepped = stepped;
    this.#isOpen = isOpen;
  }

  /** The owner of the current step. */
  get doer(): Doer {
    return this.#doer;
  }

  /** Whether only periodic work is left. */
  get idle(): boolean {
    const isIdle =
      this.#ready.length + this.#next.length === 0 && this.#timers.every(({ endless }) => endless);
    return isIdle && !this.#isOpen();
  }

  /** Schedules work for a later step. */
  post(doer: Doer, run: () => void): void {
    this.#ready.push({ doer, run });
  }

  /** Schedules work for the next step, before everything that is ready. */
  postFirst(run: () => void): void {
    this.#next.push(run);
  }

  /** Schedules periodic work after a delay. Returns a function that stops it. */
  timer(doer: Doer, ms: number, run: () => void, endless = false): () => void {
    const timer = { atMs: this.nowMs + Math.max(ms, 0), doer, run, endless };
    this.#timers.push(timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  /** Drops the work of a dead owner. */
  forget(doer: Doer): void {
    for (const jobs of [this.#ready, this.#timers] as Job[][]) {
      let kept = 0;
      for (const job of jobs) if (job.doer !== doer) jobs[kept++] = job;
      jobs.length = kept;
    }
  }

  /** Runs steps until no work is left; rejects after too many steps, or with an error of a step. */
  run(mostSteps: number): Promise<void> {
    return this.#steps(mostSteps, () => this.idle);
  }

  /** Runs steps until a time has passed and no work is left. */
  async pass(ms: number, mostSteps: number): Promise<void> {
    let passed = false;
    this.timer(outsider, ms, () => {
      passed = true;
    });
    await this.#steps(mostSteps, () => passed && this.idle);
  }

  #steps(mostSteps: number, isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          if (isDone()) {
            resolve();
            return;
          }
          if (this.steps >= mostSteps) throw new Error(`after ${mostSteps} steps it has not ended`);
          this.#step();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        queueMicrotask(next);
      };
      // A tick requested in a microtask comes after all microtasks: a turn of the event loop at a tenth of
      // the cost of a real one.
      const next = (): void => process.nextTick(step);
      // So is the first one: in the callback of an event, a tick comes before the microtasks.
      queueMicrotask(next);
    });
  }

  #step(): void {
    this.steps += 1;
    this.#stepped();
    const first = this.#next.shift();
    if (first) this.#run(outsider, first);
    else if (this.#ready.length === 0) this.#fire(this.#soonest());
    else if (this.#pick.chance(3) && this.#soonestMs <= this.nowMs + HASTE_MS) this.#fire(this.#soonest());
    else this.#runReady();
  }

  #runReady(): void {
    const at = this.#pick.below(this.#ready.length);
    const { doer, run } = this.#ready[at] as Job;
    const last = this.#ready.pop() as Job;
    if (at < this.#ready.length) this.#ready[at] = last;
    this.#run(doer, run);
  }

  get #soonestMs(): number {
    return this.#timers[this.#soonest()]?.atMs ?? Infinity;
  }

  #soonest(): number {
    let soonest = 0;
    for (let at = 1; at < this.#timers.length; at += 1)
      if ((this.#timers[at] as Timer).atMs < (this.#timers[soonest] as Timer).atMs) soonest = at;
    return soonest;
  }

  #fire(at: number): void {
    const [timer] = this.#timers.splice(at, 1);
    if (timer === undefined) return;
    this.nowMs = Math.max(this.nowMs, timer.atMs);
    this.#run(timer.doer, timer.run);
  }

  #run(doer: Doer, run: () => void): void {
    if (!doer.alive) return;
    this.#doer = doer;
    if (doer.paused) doer.hold(run);
    else run();
  }
}

/** The maximum time that may pass although something is ready. */
const HASTE_MS = 50;

const START_MS = Date.UTC(2026, 0, 1);

interface Job {
  readonly doer: Doer;
  readonly run: () => void;
}

interface Timer extends Job {
  readonly atMs: number;
  readonly endless: boolean;
}
