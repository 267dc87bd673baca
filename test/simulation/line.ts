import { AgentError } from "troupe";
import type { Runtime } from "troupe";
import type { Picker } from "../laws/program.ts";
import { ConnectionLost } from "./process.ts";
import type { Process } from "./process.ts";
import type { Witness } from "./witness.ts";

/** What clients and readers know of the world that they live in. */
export interface Surroundings {
  readonly witness: Witness;
  readonly pick: Picker;
  /** A process to talk to; there is always one, though it may be dead. */
  connect(): Process;
  /** Whether the process has the log. */
  isOwner(process: Process): boolean;
  pause(ms: number): Promise<void>;
  /** Whether every question is to be answered by now. */
  readonly patient: boolean;
}

/** How clients get through to a process, though the one that they talk to may die. */
export class Line {
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Asks a runtime for something, again and again as long as it is only out of reach. */
  async insist<Answer>(question: (runtime: Runtime) => Promise<Answer>): Promise<Answer> {
    const { connect, isOwner, pause, pick } = this.#around;
    for (;;) {
      const process = connect();
      try {
        return await process.ask(question);
      } catch (error) {
        // One that was replaced does not know what has happened since.
        const isOutdated = error instanceof AgentError && error.code === "conflict" && !isOwner(process);
        if (!isOutdated && !this.isPassing(error)) throw error;
        await pause(50 + pick.below(500));
      }
    }
  }

  /** The same, of a run that may be removed meanwhile. */
  async unlessGone<Answer>(question: (runtime: Runtime) => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await this.insist(question);
    } catch (error) {
      if (error instanceof AgentError && error.code === "gone") return undefined;
      throw error;
    }
  }

  /** Whether an error says no more than that the client has to try again. */
  isPassing(error: unknown): boolean {
    if (error instanceof ConnectionLost) return true;
    if (error instanceof AgentError) return error.code === "unavailable";
    this.#around.witness.say(`a client was given ${String(error)}`);
    return false;
  }
}
