import type { Json } from "../../protocol/json.ts";

/**
 * A copy of a value as JSON would return it, in a third of the time; `undefined` for a value that only JSON itself can
 * convert or refuse, or that may take more than so many bytes.
 */
export function copyPlain(value: unknown, limitBytes: number): Json | undefined {
  try {
    return new PlainCopy(limitBytes).of(value, DEPTH);
  } catch {
    // A getter or a proxy of agent code throws; so it will when the value is encoded.
    return undefined;
  }
}

/** How deep a value is copied; one that contains itself has no end. */
const DEPTH = 32;

class PlainCopy {
  /** The bytes that are left if every character needs the longest escape. */
  #room: number;

  constructor(limitBytes: number) {
    this.#room = limitBytes;
  }

  of(value: unknown, depth: number): Json | undefined {
    switch (typeof value) {
      case "string":
        return this.#takes(value.length * CHARACTER_BYTES + 3) ? value : undefined;
      case "number":
        if (!this.#takes(NUMBER_BYTES)) return undefined;
        // JSON has no negative zero.
        return Number.isFinite(value) ? value + 0 : null;
      case "boolean":
        return this.#takes(NUMBER_BYTES) ? value : undefined;
      case "object":
        if (value === null) return this.#takes(NUMBER_BYTES) ? null : undefined;
        if (depth === 0 || !this.#takes(3)) return undefined;
        return Array.isArray(value) ? this.#list(value, depth - 1) : this.#object(value, depth - 1);
      default:
        return undefined;
    }
  }

  #list(list: readonly unknown[], depth: number): readonly Json[] | undefined {
    if (Object.getPrototypeOf(list) !== Array.prototype || "toJSON" in list) return undefined;
    const copies: Json[] = [];
    for (let at = 0; at < list.length; at += 1) {
      const copy = this.of(list[at], depth);
      if (copy === undefined) return undefined;
      copies.push(copy);
    }
    return copies;
  }

  #object(value: object, depth: number): Json | undefined {
    if (Object.getPrototypeOf(value) !== Object.prototype || "toJSON" in value) return undefined;
    const copies: Record<string, Json> = {};
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      const item = (value as Record<string, unknown>)[key];
      if (item === undefined) continue;
      // Assigning this name would set the prototype.
      if (key === "__proto__" || !this.#takes(key.length * CHARACTER_BYTES + 4)) return undefined;
      const copy = this.of(item, depth);
      if (copy === undefined) return undefined;
      copies[key] = copy;
    }
    return copies;
  }

  #takes(bytes: number): boolean {
    this.#room -= bytes;
    return this.#room >= 0;
  }
}

/** The most bytes of a character in a text, as an escape. */
const CHARACTER_BYTES = 6;

/** The most bytes of a number, with a comma. */
const NUMBER_BYTES = 26;
