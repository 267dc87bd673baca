/**
 * Has the owners take turns while one sends very many requests: in a turn of the event loop only two of each owner begin. The others
 * wait with their bodies unread, in their order. So a request of another owner has at most these few before it, and a client that
 * sends its body slowly holds back nobody.
 */
export class OwnerTurns {
  /** The owners that had requests begin in this turn, how many, and what waits for the next turns. */
  readonly #owners = new Map<string, Begun>();
  #isTimed = false;

  /** Begins a request; `undefined` if it may go on at once. */
  begin(owner: string): Promise<void> | undefined {
    const begun = this.#owners.get(owner);
    if (begun === undefined) this.#owners.set(owner, { count: 1, waiting: [] });
    else if (begun.count < IN_A_TURN && begun.waiting.length === 0) begun.count += 1;
    else
      return new Promise((resolve) => {
        begun.waiting.push(resolve);
      });
    this.#time();
    return undefined;
  }

  #time(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    setImmediate(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#isTimed = false;
    for (const [owner, begun] of this.#owners) {
      if (begun.waiting.length === 0) {
        this.#owners.delete(owner);
        continue;
      }
      const next = begun.waiting.splice(0, IN_A_TURN);
      begun.count = next.length;
      for (const go of next) go();
      this.#time();
    }
  };
}

interface Begun {
  count: number;
  readonly waiting: (() => void)[];
}

/** The requests of an owner that begin in a turn of the event loop: a millisecond of work. */
const IN_A_TURN = 2;
