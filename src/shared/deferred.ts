/** A promise that somebody else settles. It exists only once somebody waits for it, because mostly nobody does. */
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

  /** Gives the value. Only the first call counts. */
  resolve(value: Value): void {
    if (this.#settled !== undefined) return;
    this.#settled = { value };
    this.#waiting?.resolve(value);
  }
}
