/** Shares running work: a call while it runs gets its result, and a later call starts it again. */
export class SingleFlight<Result> {
  readonly #work: () => Promise<Result>;
  #running: Promise<Result> | undefined;

  constructor(work: () => Promise<Result>) {
    this.#work = work;
  }

  /** The running work, if there is any. */
  get running(): Promise<Result> | undefined {
    return this.#running;
  }

  run(): Promise<Result> {
    if (this.#running !== undefined) return this.#running;
    const started = this.#work();
    this.#running = started;
    const end = (): void => void (this.#running = undefined);
    started.then(end, end);
    return started;
  }
}
