import type { Environment } from "../../../ports/environment.ts";
import type { QueueOptions } from "../../../ports/model.ts";
import { SlotQueue } from "./slot-queue.ts";

/** The queues of a runtime: one for each definition of a tool or a model that limits its calls. */
export class SlotQueues {
  readonly #environment: Environment;
  readonly #queues = new WeakMap<object, SlotQueue>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The queue of a definition; `undefined` if its calls start at once. */
  of(definition: QueueOptions): SlotQueue | undefined {
    if (definition.concurrency === undefined && definition.rate === undefined) return undefined;
    const known = this.#queues.get(definition);
    if (known) return known;
    const queue = new SlotQueue(this.#environment, definition);
    this.#queues.set(definition, queue);
    return queue;
  }
}

/** The slot of a call. */
export class HeldSlot {
  readonly #queue: SlotQueue;
  #waits = 0;
  #isReleased = false;

  constructor(queue: SlotQueue) {
    this.#queue = queue;
  }

  /** Frees the slot while the call waits for something from outside. */
  pause(): void {
    this.#waits += 1;
    if (this.#waits === 1 && !this.#isReleased) this.#queue.release();
  }

  /** The call continues at once, above the limit if need be: what it waited for has its place in the log. */
  resume(): void {
    this.#waits -= 1;
    if (this.#waits === 0 && !this.#isReleased) this.#queue.retake();
  }

  /** The call has ended. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (this.#waits === 0) this.#queue.release();
  }
}
