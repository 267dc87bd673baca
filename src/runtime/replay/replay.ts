import { isUnder } from "../../protocol/ids.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { ScopeItem, TurnJournal } from "./turn-journal.ts";

/**
 * What the log has of a turn and its code has not done again: the steps of its sequences. Until the code has made all of
 * them, it may turn out to be other code than that which wrote the log.
 */
export class Replay {
  /** Called when the code makes a step of the log again, or will not make some of them. */
  advanced: (() => void) | undefined;
  readonly #scopes: TurnJournal["scopes"];
  /** The number of steps that are left, by their sequence. */
  readonly #left: Map<string, number>;
  #steps = 0;
  #hasBegun: boolean;

  constructor({ isNew, scopes, steps }: TurnJournal) {
    this.#scopes = scopes;
    this.#left = new Map(steps);
    this.#hasBegun = isNew;
    for (const count of steps.values()) this.#steps += count;
  }

  /** Whether the code has made all steps of the log again. */
  get isOver(): boolean {
    return this.#steps === 0 && this.#hasBegun;
  }

  /** The handler of the turn takes its input, and its machine the logged state. */
  began(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.advanced?.();
  }

  /** The logged steps of a sequence, which the sequence releases. */
  itemsOf(path: string): ScopeItem[] | undefined {
    return this.#scopes.get(path)?.items;
  }

  /** The number of steps of a sequence that no code makes again. */
  skippedOf(path: string): number {
    return this.#scopes.get(path)?.skipped ?? 0;
  }

  /** The code of a sequence has made a step again. */
  stepped(path: string): void {
    const left = this.#left.get(path);
    if (left === undefined) return;
    if (left === 1) this.#left.delete(path);
    else this.#left.set(path, left - 1);
    this.#steps -= 1;
    if (this.#steps === 0) this.advanced?.();
  }

  /** The code will not make the steps of a call again, and of those under it. */
  drop(above: CallId): void {
    for (const [path, left] of this.#left) {
      if (!isUnder(path, above)) continue;
      this.#left.delete(path);
      this.#steps -= left;
    }
    this.advanced?.();
  }
}
