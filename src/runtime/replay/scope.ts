import type { CallId } from "../../protocol/ids.ts";
import type { Item } from "./turn-journal.ts";
import { toReadable } from "./signature.ts";
import type { Signature } from "./signature.ts";

/** Why a handler that is replayed cannot go on: it does something else than the log says it did. */
export interface Divergence {
  readonly scope: string;
  readonly expected: string;
  readonly actual: string;
}

/**
 * One sequence of things that a handler does: a turn's own, a child's, or a branch's. It counts them,
 * and while the log holds what it did before, it compares.
 */
export class ReplayScope {
  /** `c` and the number of the turn, then the places of the calls above, as in `c3.1` or `c3.4:0`. */
  readonly path: string;
  readonly #parent: ReplayScope | undefined;
  readonly #items: Item[];
  readonly #logged: number;
  #count = 0;
  readonly backlog: UncommittedTexts = new UncommittedTexts();
  /** True while branches of this scope run, which then cannot do anything itself. */
  branching = false;
  /** Set when the handler or branch has ended, and nothing more may be done here. */
  ended = false;

  /** `items` is what the log holds; they are taken out once all of them are done again, since there may be many. */
  constructor(path: string, items: Item[] = [], parent?: ReplayScope) {
    this.path = path;
    this.#items = items;
    this.#logged = items.length;
    this.#parent = parent;
  }

  /** Whether the log holds more of what this scope did. */
  get replaying(): boolean {
    return this.#count < this.#logged;
  }

  /** The id of the call that was issued last. */
  get callId(): CallId {
    return `${this.path}.${this.#count}` as CallId;
  }

  /** Takes the next place for something new. Only while not replaying. */
  advance(): Divergence | undefined {
    this.#count += 1;
    if (!this.#isPast) return undefined;
    return { scope: this.path, expected: "the end of the branch", actual: "more" };
  }

  /** Whether a scope above went on after its branches had ended, so that they cannot have had more to do. */
  get #isPast(): boolean {
    return this.#parent !== undefined && (this.#parent.replaying || this.#parent.#isPast);
  }

  /** Takes the next place for something that the log must hold. Only while replaying. */
  replay(signature: Signature, isText?: true): Item | Divergence {
    const item = this.#items[this.#count] as Item;
    this.#count += 1;
    if (!this.replaying) this.#items.length = 0;
    if (item.signature === signature && item.isText === isText) return item;
    return { scope: this.path, expected: toReadable(item), actual: toReadable({ signature, isText }) };
  }

  /** Passes over everything that the log holds of this scope. */
  skip(): void {
    this.#count = this.#logged;
    this.#items.length = 0;
  }

  /** Ends the scope; the answer is what is wrong with that. */
  end(): Divergence | undefined {
    this.ended = true;
    const item = this.#items[this.#count];
    return item && { scope: this.path, expected: toReadable(item), actual: "the end" };
  }
}

/** What one sequence of a turn has said and the log does not have yet. */
export class UncommittedTexts {
  // Two lists of numbers, because a list of pairs would be an object for every text.
  #ids: number[] = [];
  #lengths: number[] = [];
  #characters = 0;

  /** Notes a text by the id of its event. */
  add(id: number, characters: number): void {
    this.#ids.push(id);
    this.#lengths.push(characters);
    this.#characters += characters;
  }

  /** Whether less than so much waits, where everything up to an event is committed. */
  isBelow(
    { texts, characters }: { readonly texts: number; readonly characters: number },
    committed: number,
  ): boolean {
    // Looked at only now and then: most sequences wait for their texts and never come near a limit.
    if (this.#ids.length < texts && this.#characters <= characters) return true;
    const open = this.#ids.findIndex((id) => id > committed);
    const done = open < 0 ? this.#ids.length : open;
    this.#ids = this.#ids.slice(done);
    this.#lengths = this.#lengths.slice(done);
    this.#characters = this.#lengths.reduce((sum, length) => sum + length, 0);
    return this.#ids.length < texts && this.#characters <= characters;
  }
}
