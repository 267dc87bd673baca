/**
 * A map that allocates nothing before its first entry. An empty `Map` takes 200 bytes, and a turn has dozens of them,
 * most of which stay empty.
 */
export class LazyMap<Key, Value> {
  #entries: Map<Key, Value> | undefined;

  constructor(entries?: ReadonlyMap<Key, Value>) {
    if (entries !== undefined && entries.size > 0) this.#entries = new Map(entries);
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  get(key: Key): Value | undefined {
    return this.#entries?.get(key);
  }

  has(key: Key): boolean {
    return this.#entries?.has(key) === true;
  }

  set(key: Key, value: Value): void {
    (this.#entries ??= new Map()).set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries?.delete(key) === true;
  }

  clear(): void {
    this.#entries = undefined;
  }

  keys(): Iterable<Key> {
    return this.#entries?.keys() ?? NONE;
  }

  values(): Iterable<Value> {
    return this.#entries?.values() ?? NONE;
  }

  [Symbol.iterator](): Iterator<[Key, Value]> {
    return (this.#entries ?? NONE)[Symbol.iterator]();
  }

  /** The same entries, for code that only reads them. */
  get readonly(): ReadonlyMap<Key, Value> {
    return this.#entries ?? NO_MAP;
  }
}

/** A set that allocates nothing before its first item. */
export class LazySet<Item> {
  #items: Set<Item> | undefined;

  constructor(items?: ReadonlySet<Item>) {
    if (items !== undefined && items.size > 0) this.#items = new Set(items);
  }

  get size(): number {
    return this.#items?.size ?? 0;
  }

  has(item: Item): boolean {
    return this.#items?.has(item) === true;
  }

  add(item: Item): void {
    (this.#items ??= new Set()).add(item);
  }

  delete(item: Item): boolean {
    return this.#items?.delete(item) === true;
  }

  clear(): void {
    this.#items = undefined;
  }

  [Symbol.iterator](): Iterator<Item> {
    return (this.#items ?? NONE)[Symbol.iterator]();
  }

  /** The same items, for code that only reads them. */
  get readonly(): ReadonlySet<Item> {
    return this.#items ?? NO_SET;
  }
}

const NONE: readonly never[] = [];
const NO_MAP: ReadonlyMap<never, never> = new Map<never, never>();
const NO_SET: ReadonlySet<never> = new Set<never>();
