import type { Environment } from "../../ports/environment.ts";

/** Pauses between two attempts. After `stop` a pause never ends, and its timer is gone. */
export class Pauses {
  readonly #environment: Environment;
  readonly #timers = new Set<() => void>();
  #stopped = false;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stopped) return;
      const stop = this.#environment.timer(ms, () => {
        this.#timers.delete(stop);
        resolve();
      });
      this.#timers.add(stop);
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const stop of this.#timers) stop();
    this.#timers.clear();
  }
}
