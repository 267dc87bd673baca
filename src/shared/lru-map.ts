/** A map with a limit: a new key removes the one that was set least recently. */
export class LruMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override set(key: Key, value: Value): this {
    // A Map keeps the order of insertion, so the first key is the oldest.
    this.delete(key);
    const [oldest] = this.keys();
    if (this.size >= this.#limit) this.delete(oldest as Key);
    return super.set(key, value);
  }
}
