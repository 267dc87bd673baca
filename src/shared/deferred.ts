/** A promise with its `resolve`. The promise is made when it is first read, because most are never awaited. */
export class Deferred<Value> {
  #settled: { readonly value: Value } | undefined;
  #waiting: PromiseWithResolvers<Value> | undefined;

  /** Resolves with the value of `resolve`, which may have been called before. */
  get promise(): Promise<Value> {
    if (this.#waiting === undefined) {
      this.#waiting = Promise.withResolvers();
      if (this.#settled !== undefined) this.#waiting.resolve(this.#settled.value);
    }
    return this.#waiting.promise;
  }

  /** The value, if it was given. */
  get value(): Value | undefined {
    return this.#settled?.value;
  }

  /** Gives the value. Only the first call counts. */
  resolve(value: Value): void {
    if (this.#settled !== undefined) return;
    this.#settled = { value };
    this.#waiting?.resolve(value);
  }
}

/** A promise that never settles: the code that awaits it goes no further. */
export function unsettled(): Promise<never> {
  return new Promise(() => {});
}
