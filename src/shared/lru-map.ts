/** A map with a limit: a new key removes the one that was set least recently. */
export class LruMap<Key, Value> {
  readonly #limit: number;
  /** A Map keeps the order of insertion, so the first key is the oldest. */
  readonly #entries = new Map<Key, Value>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#limit) this.#entries.delete(oldest as Key);
  }

  /** Returns whether the key was there. */
  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }
}
