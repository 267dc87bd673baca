import type { ManualEnvironment } from "troupe/testing";

/** A process, from its start to its end. */
export class Lifetime {
  readonly #stops = new Set<() => void>();
  alive = true;

  end(): void {
    this.alive = false;
    for (const stop of this.#stops) stop();
    this.#stops.clear();
  }

  timer(environment: ManualEnvironment, ms: number, fire: () => void): () => void {
    if (!this.alive) return () => {};
    const stop = (): void => {
      this.#stops.delete(stop);
      stopTimer();
    };
    const stopTimer = environment.timer(ms, () => {
      this.#stops.delete(stop);
      fire();
    });
    this.#stops.add(stop);
    return stop;
  }

  /** A result that never arrives once the process has ended. */
  async whileAlive<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await asked;
      if (this.alive) return answer;
    } catch (error) {
      if (this.alive) throw error;
    }
    return new Promise(() => {});
  }
}
