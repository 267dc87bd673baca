import type { Environment } from "../ports/environment.ts";
import type { TakeoverOptions } from "../ports/router.ts";
import type { View } from "./known-nodes.ts";

/** The time between two looks for runs whose owners are gone, in milliseconds. */
const LOOK_MS = 3_000;

/** A node that cannot judge others yet, or whose look has failed, sees so often whether it can now, in milliseconds. */
const UNSURE_MS = 300;

export interface TakeoverParts {
  readonly environment: Environment;
  readonly view: () => View;
  /** Continues the runs whose owners are gone. `hasChanged`: the nodes have changed, and this one can judge them. */
  readonly look: (options: TakeoverOptions) => Promise<void>;
  readonly fault: (message: string, thrown: unknown) => void;
}

/**
 * Looks for runs whose owners are gone: every few seconds, and at once after a change of the nodes. In an unsteady view it finds only runs that were
 * released, so it looks as often, and at once when the view is steady. An engine that answers late makes views unsteady, and gets no more statements then.
 */
export class Takeover {
  readonly #parts: TakeoverParts;
  #stopTimer = (): void => {};
  #isRunning = false;
  /** Whether the nodes have changed since the last look in a steady view. */
  #hasChanged = true;
  /** Whether they have changed since the last look in any view. */
  #isNew = true;
  #lookedMs = -Infinity;
  #isStopped = true;

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#isStopped = false;
    this.#wait(0);
  }

  /** The nodes have changed. */
  soon(): void {
    this.#hasChanged = true;
    this.#isNew = true;
    if (!this.#isStopped && !this.#isRunning) this.#wait(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
  }

  #wait(ms: number): void {
    this.#stopTimer();
    this.#stopTimer = this.#parts.environment.timer(ms, () => void this.#run());
  }

  async #run(): Promise<void> {
    const { environment, view } = this.#parts;
    this.#isRunning = true;
    const seen = view();
    const isSteady = seen === "steady";
    const isDue = this.#isNew || environment.monotonic() - this.#lookedMs >= LOOK_MS;
    const hasLooked = (isSteady || (seen === "unsteady" && isDue)) && (await this.#look(isSteady));
    this.#isRunning = false;
    if (this.#isStopped) return;
    if (!isSteady || !hasLooked) this.#wait(UNSURE_MS);
    else this.#wait(this.#isNew ? 0 : LOOK_MS);
  }

  /** Returns false if the look has failed. */
  async #look(isSteady: boolean): Promise<boolean> {
    const { environment, look, fault } = this.#parts;
    const hasChanged = this.#hasChanged && isSteady;
    if (isSteady) this.#hasChanged = false;
    this.#isNew = false;
    try {
      await look({ hasChanged });
      this.#lookedMs = environment.monotonic();
      return true;
    } catch (error) {
      this.#hasChanged ||= hasChanged;
      this.#isNew = true;
      fault("the runs of nodes that are gone could not be continued", error);
      return false;
    }
  }
}
