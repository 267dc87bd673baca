import type { Environment } from "../ports/environment.ts";
import type { TakeoverOptions } from "../ports/router.ts";

/** The time between two looks for runs whose owners are gone, in milliseconds. */
const LOOK_MS = 3_000;

/** The time between two looks of a node that cannot judge others yet, in milliseconds. */
const UNSURE_LOOK_MS = 300;

/** Looks for runs whose owners are gone: every few seconds, and at once after a change of the nodes. */
export class Takeover {
  readonly #environment: Environment;
  readonly #fault: (message: string, thrown: unknown) => void;
  readonly #look: (options: TakeoverOptions) => Promise<boolean>;
  #stopTimer = (): void => {};
  #isRunning = false;
  #hasChanged = true;
  #isStopped = true;

  /** `look` returns false if this node cannot judge others now. */
  constructor(
    environment: Environment,
    fault: (message: string, thrown: unknown) => void,
    look: (options: TakeoverOptions) => Promise<boolean>,
  ) {
    this.#environment = environment;
    this.#fault = fault;
    this.#look = look;
  }

  start(): void {
    this.#isStopped = false;
    this.#wait(0);
  }

  /** The nodes have changed. */
  soon(): void {
    this.#hasChanged = true;
    if (!this.#isStopped && !this.#isRunning) this.#wait(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
  }

  #wait(ms: number): void {
    this.#stopTimer();
    this.#stopTimer = this.#environment.timer(ms, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    let hasLooked = false;
    try {
      hasLooked = await this.#look({ hasChanged });
      this.#hasChanged ||= hasChanged && !hasLooked;
    } catch (error) {
      this.#hasChanged ||= hasChanged;
      this.#fault("the runs of nodes that are gone could not be continued", error);
    }
    this.#isRunning = false;
    if (this.#isStopped) return;
    if (!hasLooked) this.#wait(UNSURE_LOOK_MS);
    else this.#wait(this.#hasChanged ? 0 : LOOK_MS);
  }
}
