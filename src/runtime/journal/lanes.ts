/** Runs work in lanes: the work of one lane in order, one after the other. A lane without work takes no memory. */
export class Lanes {
  readonly #lanes = new Map<string, Promise<unknown>>();

  /** Runs work after all earlier work of its lane, however that ended. */
  run<Result>(lane: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#lanes.get(lane);
    const done = before === undefined ? work() : before.then(work, work);
    this.#lanes.set(lane, done);
    const leave = (): void => {
      if (this.#lanes.get(lane) === done) this.#lanes.delete(lane);
    };
    done.then(leave, leave);
    return done;
  }
}
