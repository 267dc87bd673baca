import type { Environment } from "../../ports/environment.ts";

/** How many requests of clients are being accepted at once: enough for full commits. */
const AT_ONCE = 512;

/**
 * How many of them are of one owner, once there are several owners. A commit, and what begins when it is done, is then little work,
 * for which a request of another owner waits.
 */
const OF_AN_OWNER = 2;

/** What has been inside for one to two rounds waits for something else, such as another node, and counts no more. In milliseconds. */
const ROUND_MS = 100;

/**
 * The door of requests of clients. While many come at once, their owners take turns: who sends very many does not hold back the others.
 * Those of one owner stay in their order.
 */
export class Admission {
  readonly #environment: Environment;
  /** The owners with requests inside or waiting; the owner that is next is the first. */
  readonly #owners = new Map<string, Entrants>();
  /** The first owner, which is the only one as long as the limit is that of all. */
  #first: string | undefined;
  #limit = AT_ONCE;
  #inside = 0;
  #waiting = 0;
  #round = 0;
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The number of the round in which a request is let in now. */
  get round(): number {
    return this.#round;
  }

  /** Lets a request in; `undefined` if it may go on at once. `leave` is called when it is accepted or refused. */
  enter(owner: string): Promise<void> | undefined {
    this.#first ??= owner;
    if (this.#first !== owner) this.#limit = OF_AN_OWNER;
    let own = this.#owners.get(owner);
    if (own === undefined) this.#owners.set(owner, (own = { recent: 0, before: 0, waiting: [] }));
    if (own.waiting.length === 0 && this.#hasRoom(own)) {
      own.recent += 1;
      this.#inside += 1;
      return undefined;
    }
    const { waiting } = own;
    return new Promise((resolve) => {
      waiting.push(resolve);
      this.#waiting += 1;
      this.#watch();
    });
  }

  /** A request is accepted or refused that was let in in a round. */
  leave(owner: string, round: number): void {
    const own = this.#owners.get(owner);
    const age = this.#round - round;
    if (own === undefined || age > 1) return;
    if (age === 0) own.recent -= 1;
    else own.before -= 1;
    this.#inside -= 1;
    if (isEmpty(own)) this.#owners.delete(owner);
    this.#letIn();
  }

  /** The runtime is closing: what waits goes on, and is refused. */
  stop(): void {
    for (const [owner, own] of this.#owners) while (own.waiting.length > 0) this.#admit(owner, own);
    this.#watch();
  }

  #hasRoom({ recent, before }: Entrants): boolean {
    return recent + before < this.#limit && this.#inside < AT_ONCE;
  }

  #letIn(): void {
    if (this.#waiting === 0) return;
    for (const [owner, own] of this.#owners) {
      if (this.#inside >= AT_ONCE) break;
      // Those let in go to the end, so the owners are gone through until none has both a request and room.
      if (own.waiting.length > 0 && this.#hasRoom(own)) this.#admit(owner, own);
    }
    this.#watch();
  }

  #admit(owner: string, own: Entrants): void {
    const go = own.waiting.shift();
    if (go === undefined) return;
    // The others come first, then this one again.
    this.#owners.delete(owner);
    this.#owners.set(owner, own);
    own.recent += 1;
    this.#inside += 1;
    this.#waiting -= 1;
    go();
  }

  /** Has a timer as long as something waits. */
  #watch(): void {
    if (this.#waiting === 0) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
    } else this.#stopTimer ??= this.#environment.timer(ROUND_MS, this.#nextRound);
  }

  readonly #nextRound = (): void => {
    this.#stopTimer = undefined;
    this.#round += 1;
    for (const [owner, own] of this.#owners) {
      this.#inside -= own.before;
      own.before = own.recent;
      own.recent = 0;
      if (isEmpty(own)) this.#owners.delete(owner);
    }
    this.#letIn();
  };
}

/** The requests of an owner: inside since this round and since the one before, and waiting. */
interface Entrants {
  recent: number;
  before: number;
  readonly waiting: (() => void)[];
}

function isEmpty({ recent, before, waiting }: Entrants): boolean {
  return recent === 0 && before === 0 && waiting.length === 0;
}
