/** Does the work of each key one after the other, and that of different keys at once. A key without work takes no memory. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does work after all earlier work of its key, however that ended. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const done = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, done);
    const leave = (): void => {
      if (this.#last.get(key) === done) this.#last.delete(key);
    };
    done.then(leave, leave);
    return done;
  }
}
