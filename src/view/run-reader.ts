import { AgentError } from "../errors.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Runtime } from "../runtime/api.ts";
import type { RunDetails } from "../runtime/lists.ts";
import { RunProjection } from "./run-projection.ts";

/** A run at one moment. It may change with the next reading of the run, so it must not be kept. */
export interface RunView {
  readonly run: RunDetails;
  readonly projection: RunProjection;
  /**
   * Whether its started request waits for its caller. The log does not show that: an answer to one of two waits
   * writes no new WaitForInput.
   */
  readonly isParked: boolean;
}

/** Limits of a reader. */
export interface RunReaderOptions {
  /** Maximum number of runs whose projections are kept. Default 256. */
  readonly runs?: number;
  /** Maximum number of characters in them. Default 32 million. */
  readonly characters?: number;
}

/**
 * Reads runs as other protocols show them. It keeps the projections of the newest read runs and continues each from its
 * cursor.
 */
export class RunReader {
  readonly #runtime: Runtime;
  readonly #runs: number;
  readonly #characters: number;
  /** The least recently read first. */
  readonly #entries = new Map<RunId, Entry>();

  constructor(runtime: Runtime, { runs = 256, characters = 32_000_000 }: RunReaderOptions = {}) {
    this.#runtime = runtime;
    this.#runs = runs;
    this.#characters = characters;
  }

  /** The number of runs whose projections are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** Reads a run to its end; `not_found`, or `gone` for a removed run. */
  async read(runId: RunId): Promise<RunView> {
    const entry = this.#entries.get(runId) ?? { projection: new RunProjection(), cursor: 0, last: undefined };
    this.#entries.delete(runId);
    this.#entries.set(runId, entry);
    // One reading after the other, because each continues where the one before has ended.
    const reading = (entry.last ?? Promise.resolve())
      .catch(() => {})
      .then(() => this.#continue(runId, entry));
    entry.last = reading;
    try {
      const view = await reading;
      this.#evict(entry);
      return view;
    } catch (error) {
      if (this.#entries.get(runId) === entry) this.#entries.delete(runId);
      throw error;
    }
  }

  async #continue(runId: RunId, entry: Entry): Promise<RunView> {
    const { projection } = entry;
    for (;;) {
      const run = await this.#runtime.run(runId);
      // The row and the events must be of the same moment.
      const before = entry.cursor;
      if (run.last_event_id <= before) return { run, projection, isParked: run.status === "waiting" };
      const address = { kind: "run", runId, agent: run.agent } as const;
      for (let more = true; more;) {
        const page = await this.#runtime.read(address, { after: entry.cursor });
        for (const event of page.events) projection.add(event);
        more = page.more;
        entry.cursor = page.cursor;
      }
      // A run that was removed in the meantime has no events.
      if (entry.cursor === before) throw new AgentError("gone", `run ${runId} was removed`);
    }
  }

  #evict(kept: Entry): void {
    let characters = 0;
    for (const { projection } of this.#entries.values()) characters += projection.length;
    for (const [runId, entry] of this.#entries) {
      if (this.#entries.size <= this.#runs && characters <= this.#characters) return;
      if (entry === kept) continue;
      this.#entries.delete(runId);
      characters -= entry.projection.length;
    }
  }
}

interface Entry {
  readonly projection: RunProjection;
  cursor: number;
  /** The newest reading. */
  last: Promise<unknown> | undefined;
}
