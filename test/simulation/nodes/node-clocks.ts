import type { Picker } from "../../laws/program.ts";
import { WallClock } from "../processes/wall-clock.ts";
import type { Clock, WallClocks } from "../processes/wall-clock.ts";
import type { Scheduler } from "../scheduler.ts";

/** What the clocks of nodes are given. */
export interface NodeClocksOptions {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  /** How far each clock is off at most when its node starts, in milliseconds; 0: all have one clock. */
  readonly apartMs: number;
}

/** The wall clocks of nodes: each is off by some time from its start on, and some are too fast or too slow. */
export class NodeClocks implements WallClocks {
  readonly #options: NodeClocksOptions;
  readonly #startMs: number;
  /** A jump moves all of them. */
  readonly #shared: WallClock;
  readonly #clocks: Clock[] = [];

  constructor(options: NodeClocksOptions) {
    this.#options = options;
    this.#startMs = options.scheduler.nowMs;
    this.#shared = new WallClock(options.scheduler);
  }

  /** The clock of a new node. */
  add(): Clock {
    const { pick, scheduler, apartMs } = this.#options;
    if (apartMs === 0) return this.#shared;
    const shared = this.#shared;
    const startMs = scheduler.nowMs;
    const offsetMs = pick.below(2 * apartMs + 1) - apartMs;
    const drift = pick.of(DRIFTS);
    const clock = {
      get nowMs() {
        return shared.nowMs + offsetMs + Math.trunc((scheduler.nowMs - startMs) * drift);
      },
    };
    this.#clocks.push(clock);
    return clock;
  }

  get nowMs(): number {
    return this.#shared.nowMs;
  }

  get earliestMs(): number {
    return Math.min(...this.#times);
  }

  get latestMs(): number {
    return Math.max(...this.#times);
  }

  get backMs(): number {
    const { scheduler, apartMs } = this.#options;
    const driftMs = (scheduler.nowMs - this.#startMs) * Math.max(...DRIFTS);
    return this.#shared.backMs + (apartMs === 0 ? 0 : 2 * (apartMs + driftMs));
  }

  step(ms: number): void {
    this.#shared.step(ms);
  }

  get #times(): readonly number[] {
    return [this.#shared, ...this.#clocks].map(({ nowMs }) => nowMs);
  }
}

/** How much faster than it should be a clock is; ten times as much as that of a bad one. */
const DRIFTS: readonly number[] = [-0.001, 0, 0.001];
