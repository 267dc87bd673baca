import type { Picker } from "../../laws/program.ts";
import { outsider } from "../scheduler.ts";
import type { Doer, Scheduler } from "../scheduler.ts";

/** The delays between a process and its disk. */
export class Delays {
  readonly #scheduler: Scheduler;
  readonly #pick: Picker;

  constructor(scheduler: Scheduler, pick: Picker) {
    this.#scheduler = scheduler;
    this.#pick = pick;
  }

  /** Runs a disk operation after a delay. */
  after(run: () => void): void {
    if (this.#pick.chance(70)) this.#scheduler.post(outsider, run);
    else this.#scheduler.timer(outsider, 1 + this.#pick.below(40), run);
  }

  /** Notifies a process, unless it has died. */
  tell(doer: Doer, run: () => void): void {
    this.#scheduler.post(doer, run);
  }

  /** Wakes a process, sometimes twice. */
  wake(doer: Doer, wake: () => void): void {
    this.#scheduler.post(doer, wake);
    if (this.#pick.chance(10)) this.#scheduler.timer(doer, this.#pick.below(100), wake);
  }

  /** Reads at once and answers later, or the reverse. */
  async read<Answer>(doer: Doer, ask: () => Promise<Answer>): Promise<Answer> {
    if (this.#pick.chance(50)) {
      await this.#turn(doer);
      return ask();
    }
    // The result is settled now, success or error.
    const answer = ask();
    answer.catch(() => {});
    await this.#turn(doer);
    return answer;
  }

  #turn(doer: Doer): Promise<void> {
    return new Promise((resolve) => {
      this.#scheduler.post(doer, resolve);
    });
  }
}
