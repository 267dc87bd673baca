/**
 * A map of its newest entries: at least `size / 2`, at most `size`. It has two generations and drops the
 * older one as a whole, so that an insertion has constant cost. (In a `Map` with many deletions, finding the
 * first key must skip the slots of all deleted keys.)
 */
export class RecentMap<Key, Value> {
  readonly #generationSize: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(size: number) {
    this.#generationSize = Math.ceil(size / 2);
  }

  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#young.size >= this.#generationSize) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  /** Deletes the entries whose value passes a test. */
  deleteWhere(test: (value: Value) => boolean): void {
    for (const generation of [this.#young, this.#old]) {
      for (const [key, value] of generation) if (test(value)) generation.delete(key);
    }
  }
}
