import { AgentError } from "troupe";
import type { Runtime } from "troupe";
import type { Picker } from "../../laws/program.ts";
import { ConnectionLost } from "../processes/process.ts";
import type { Process } from "../processes/process.ts";
import type { Observer } from "../checks/observer.ts";

/** The access of clients and readers to the simulation. */
export interface SimulationAccess {
  readonly observer: Observer;
  readonly pick: Picker;
  /** The current process; there is always one, but it may be dead. */
  connect(): Process;
  /** Whether the process has opened the log. */
  isOwner(process: Process): boolean;
  pause(ms: number): Promise<void>;
  /** The time of the fastest clock of a process, in milliseconds since 1970. */
  latestClockMs(): number;
  /** Whether one of so many copies of a request can arrive after a later one: on another node. */
  isOvertaking(copies: number): boolean;
  /** Whether every request must be answered by now. */
  readonly patient: boolean;
}

/** The connection of clients to a process, which can die. */
export class Connection {
  readonly #around: SimulationAccess;

  constructor(around: SimulationAccess) {
    this.#around = around;
  }

  /** Makes a request to a runtime and retries while the runtime is only unreachable. */
  async insist<Answer>(question: (runtime: Runtime) => Promise<Answer>): Promise<Answer> {
    const { connect, isOwner, pause, pick } = this.#around;
    for (;;) {
      const process = connect();
      try {
        return await process.ask(question);
      } catch (error) {
        // A replaced process does not know what has happened since.
        const isOutdated = error instanceof AgentError && error.code === "conflict" && !isOwner(process);
        if (!isOutdated && !this.isPassing(error)) throw error;
        await pause(50 + pick.below(500));
      }
    }
  }

  /** The same for a run that may be removed, or whose actor may continue in another run, in the meantime. */
  async unlessGone<Answer>(question: (runtime: Runtime) => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await this.insist(question);
    } catch (error) {
      const isMoved = error instanceof AgentError && error.details.facts?.["renewed_to"] !== undefined;
      if (isMoved || (error instanceof AgentError && error.code === "gone")) return undefined;
      throw error;
    }
  }

  /** Whether an error only means that the client must retry. */
  isPassing(error: unknown): boolean {
    if (error instanceof ConnectionLost) return true;
    if (error instanceof AgentError) return error.code === "unavailable" || error.code === "timeout";
    this.#around.observer.say(`a client was given ${String(error)}`);
    return false;
  }
}
