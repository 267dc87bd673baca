import type { Environment } from "../../ports/environment.ts";

/** The most transitions in one turn of the event loop; more are an endless loop. */
const TRANSITIONS_AT_ONCE = 1_000;

/** The transitions of a machine: which events it still has to process, and what waits for the end of a transition. */
export class Transitions {
  readonly #environment: Environment;
  #isUnderWay = false;
  /** The number of events that were sent to the machine and not processed yet, for example by its own actions. */
  #unprocessed = 0;
  /** Starts the calls of the running transition. */
  #starts: (() => void)[] = [];
  /** The number of transitions in this turn of the event loop, since something came from outside. */
  #atOnce = 0;
  /** Whether a new count begins in the next turn of the event loop. */
  #isCounting = false;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Whether a transition is running: from the event that starts it until the machine has its next state. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Whether the machine has events to process. */
  get hasMore(): boolean {
    return this.#unprocessed > 0;
  }

  /** An event comes from outside, so what follows is no loop of the machine. */
  given(): void {
    this.#atOnce = 0;
  }

  /** An event was sent to the machine. */
  sent(): void {
    this.#unprocessed += 1;
  }

  /** The machine is about to process an event. */
  begin(): void {
    this.#unprocessed -= 1;
    this.#isUnderWay = true;
  }

  /** Runs code that starts a call: at once, or after the running transition. */
  after(start: () => void): void {
    if (this.#isUnderWay) this.#starts.push(start);
    else start();
  }

  /**
   * The machine has its next state. Throws if it sends events to itself without end and leaves no time for other code.
   */
  end(): void {
    this.#isUnderWay = false;
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#environment.macrotask(() => {
        this.#isCounting = false;
        this.#atOnce = 0;
      });
    }
    this.#atOnce += 1;
    if (this.#atOnce > TRANSITIONS_AT_ONCE)
      throw new Error(`the machine made ${TRANSITIONS_AT_ONCE} transitions without a pause`);
  }

  /** Starts the calls of the transition that has ended. */
  start(): void {
    for (const start of this.#starts.splice(0)) start();
  }

  /** The machine is stopped: nothing more is started. */
  stop(): void {
    this.#starts = [];
  }
}
