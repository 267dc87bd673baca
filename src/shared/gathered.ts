/** What is asked for while work runs, for the next one. */
interface Waiting<Item> {
  readonly item: Item;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Does work for several items at once: those that come while it runs go together into the next. So many that come together
 * cost what one costs if the work itself does, like a sync of the disk.
 */
export class Gathered<Item> {
  readonly #work: (items: readonly Item[]) => Promise<void>;
  readonly #weigh: (item: Item) => number;
  readonly #limit: number;
  readonly #waiting: Waiting<Item>[] = [];
  #running = false;

  /** The items of one work weigh no more than the limit together, except a single one. Each weighs 1 by default. */
  constructor(
    work: (items: readonly Item[]) => Promise<void>,
    {
      weigh = () => 1,
      limit = Infinity,
    }: { readonly weigh?: (item: Item) => number; readonly limit?: number } = {},
  ) {
    this.#work = work;
    this.#weigh = weigh;
    this.#limit = limit;
  }

  /** Resolves when the work for an item is done, and rejects as it does. */
  add(item: Item): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ item, done });
    if (!this.#running) void this.#run();
    return done.promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Those of one turn of the event loop together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const taken = this.#waiting.splice(0, this.#countNext());
      try {
        await this.#work(taken.map(({ item }) => item));
        for (const { done } of taken) done.resolve();
      } catch (error) {
        for (const { done } of taken) done.reject(error);
      }
    }
    this.#running = false;
  }

  #countNext(): number {
    let weight = 0;
    for (const [index, { item }] of this.#waiting.entries()) {
      weight += this.#weigh(item);
      if (index > 0 && weight > this.#limit) return index;
    }
    return this.#waiting.length;
  }
}
