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
    return this.#start(fire, (ring) => environment.timer(ms, ring));
  }

  alarm(environment: ManualEnvironment, atMs: number, fire: () => void): () => void {
    return this.#start(fire, (ring) => environment.alarm(atMs, ring));
  }

  #start(fire: () => void, start: (ring: () => void) => () => void): () => void {
    if (!this.alive) return () => {};
    const stop = (): void => {
      this.#stops.delete(stop);
      stopTimer();
    };
    const stopTimer = start(() => {
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
