import type { RunId } from "troupe/protocol";
import type { Connection, SimulationAccess } from "./connection.ts";

/** Follows a run from an event, over any number of connections, as long as the run exists. */
export class Reader {
  readonly #around: SimulationAccess;
  readonly #connection: Connection;
  readonly runId: RunId;
  /** The newest event it received, or its start. */
  cursor: number;

  constructor(around: SimulationAccess, connection: Connection, runId: RunId) {
    this.#around = around;
    this.#connection = connection;
    this.runId = runId;
    this.cursor = this.#anywhere();
  }

  /** Runs until its run is removed. */
  async follow(): Promise<void> {
    const { pause, pick } = this.#around;
    while (!this.#isOver) {
      try {
        await this.#once();
      } catch (error) {
        if (!this.#connection.isPassing(error)) throw error;
      }
      await pause(pick.below(300));
      // It may have forgotten some of its events.
      if (pick.chance(20)) this.cursor = Math.min(this.cursor, this.#anywhere());
    }
  }

  get #isOver(): boolean {
    return this.#around.observer.runs.get(this.runId)?.removed === true;
  }

  /** Follows one connection until it ends or the reader disconnects. */
  async #once(): Promise<void> {
    const { connect, pick, observer } = this.#around;
    const process = connect();
    const address = { kind: "run", runId: this.runId, agent: "" } as const;
    const patience = pick.chance(60) ? Infinity : 1 + pick.below(4);
    const abort = new AbortController();
    let taken = 0;
    const hangUp = (): void => void process.ask(async () => abort.abort()).catch(() => {});
    const range = { after: this.cursor, forever: true, signal: abort.signal };
    for await (const page of process.follow(address, range)) {
      observer.read(this.runId, undefined, this.cursor, page);
      this.cursor = page.cursor;
      taken += 1;
      if (taken === patience) hangUp();
    }
  }

  #anywhere(): number {
    const { pick, observer } = this.#around;
    return pick.below((observer.runs.get(this.runId)?.texts.length ?? 0) + 1);
  }
}
