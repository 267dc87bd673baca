import type { AgentCard } from "@a2a-js/sdk";
import { AgentError } from "../../../errors.ts";
import type { ReadinessPart } from "../../../ports/readiness.ts";
import type { Operation, Operations } from "../../../runtime/agent/agent.ts";
import { anyValue } from "../../../runtime/agent/definition/handwritten-schema.ts";
import { within } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { SingleFlight } from "../../../shared/single-flight.ts";
import type { A2aConnection } from "./connection.ts";

/** How old a card may be, how soon a failed attempt is repeated, and how long a caller waits for the first card. */
const MS = { refresh: 60_000, retry: 5_000, patience: 3_000 };

const PURPOSE_LIMIT = 1_000;
const SKILLS_LIMIT = 256;
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** The clock of this process: a card belongs to no run. */
export const cardClock: MonotonicClock = {
  monotonic: () => performance.now(),
  timer(ms, fire) {
    const timeout = setTimeout(fire, ms);
    return () => clearTimeout(timeout);
  },
};

/** The card of an agent, fetched when it is needed, and kept for a minute. */
export class AgentCards {
  readonly #connection: A2aConnection;
  readonly #given: string | undefined;
  readonly #asking = new SingleFlight(() => this.#ask());
  #card: AgentCard | undefined;
  #operations: Operations = {};
  #askedAt = -Infinity;
  #fault: AgentError | undefined;

  /** A given `purpose` replaces that of the card. */
  constructor(connection: A2aConnection, purpose: string | undefined) {
    this.#connection = connection;
    this.#given = purpose;
  }

  get known(): boolean {
    return this.#card !== undefined;
  }

  get purpose(): string {
    return this.#given ?? this.#card?.description.slice(0, PURPOSE_LIMIT) ?? NOT_READ;
  }

  /** The skills of the agent, beside its chat. */
  get operations(): Operations {
    return this.#operations;
  }

  /** Resolves when the card is known, or could not be fetched in time. An old one is refreshed in the background. */
  async ready(): Promise<void> {
    const isOld = cardClock.monotonic() - this.#askedAt > (this.#fault ? MS.retry : MS.refresh);
    if (!this.known || isOld) void this.#asking.run();
    const { running } = this.#asking;
    if (this.known || running === undefined) return;
    await within(cardClock, MS.patience, running);
  }

  /** The card; throws why it cannot be read. */
  async get(): Promise<AgentCard> {
    if (this.#card === undefined) await this.#asking.run();
    else void this.ready();
    if (this.#card !== undefined) return this.#card;
    throw this.#fault ?? new AgentError("unavailable", "the card could not be read");
  }

  readiness(agent: string): ReadinessPart {
    void this.ready();
    const name = "remote";
    if (this.#fault === undefined) return { name, state: "ready" };
    return { name, state: "degraded", detail: `the server of agent ${agent} does not give its card` };
  }

  async #ask(): Promise<void> {
    try {
      this.#card = await this.#connection.card();
      this.#operations = toOperations(this.#card);
      this.#fault = undefined;
    } catch (thrown) {
      this.#fault = thrown as AgentError;
    } finally {
      this.#askedAt = cardClock.monotonic();
    }
  }
}

const NOT_READ = "An agent reached over A2A, whose card is not read yet.";

/** Skills have no schemas: each takes what it is given. */
function toOperations({ skills }: AgentCard): Operations {
  const named = skills.slice(0, SKILLS_LIMIT).filter(({ id }) => NAME.test(id) && id !== "chat");
  return Object.fromEntries(
    named.map(({ id, description }): [string, Operation] => [
      id,
      { description: description.slice(0, PURPOSE_LIMIT), input: anyValue, run: notHere },
    ]),
  );
}

/** The task elsewhere replaces this. */
function notHere(): never {
  throw new Error("the skills of an agent of A2A are performed on another server");
}
