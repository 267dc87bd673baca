import { AgentError } from "../errors.ts";
import { depthOf, EventDecoder, typeOf } from "../protocol/events/encode.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Runtime } from "../runtime/api.ts";
import type { RunDetails } from "../runtime/lists.ts";
import { RunFold } from "./fold.ts";
import type { RunView } from "./run-view.ts";

/** A run at one moment. It may change with the next reading of the run, so it must not be kept. */
export interface RunReading {
  readonly run: RunDetails;
  /** Without what called agents and tools say on the way. */
  readonly view: RunView;
  /**
   * Whether its started request waits for its caller; one that is held takes answers, too. The log does not show that: an
   * answer to one of two waits writes no new WaitForInput.
   */
  readonly isWaiting: boolean;
}

/** Limits of a reader. */
export interface RunReaderOptions {
  /** Maximum number of runs whose views are kept. Default 256. */
  readonly runs?: number;
  /** Maximum number of characters in them. Default 32 million. */
  readonly characters?: number;
}

/**
 * Reads runs as other protocols show them. It keeps the views of the newest read runs and continues each from its
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

  /** The number of runs whose views are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** Reads a run to its end; `not_found`, or `gone` for a removed run. */
  async read(runId: RunId): Promise<RunReading> {
    const entry = this.#entries.get(runId) ?? {
      decoder: new EventDecoder(),
      fold: new RunFold(),
      length: 0,
      cursor: 0,
      last: undefined,
    };
    this.#entries.delete(runId);
    this.#entries.set(runId, entry);
    // One reading after the other, because each continues where the one before has ended.
    const reading = (entry.last ?? Promise.resolve())
      .catch(() => {})
      .then(() => this.#continue(runId, entry));
    entry.last = reading;
    try {
      const read = await reading;
      this.#evict(entry);
      return read;
    } catch (error) {
      if (this.#entries.get(runId) === entry) this.#entries.delete(runId);
      throw error;
    }
  }

  async #continue(runId: RunId, entry: Entry): Promise<RunReading> {
    const { view } = entry.fold;
    for (;;) {
      const run = await this.#runtime.run(runId);
      // The row and the events must be of the same moment.
      const before = entry.cursor;
      if (run.last_event_id <= before) return { run, view, isWaiting: isWaiting(run) };
      const address = { kind: "run", runId, agent: run.agent } as const;
      for (let more = true; more;) {
        const page = await this.#runtime.read(address, { after: entry.cursor });
        for (const event of page.events) add(entry, event);
        more = page.more;
        entry.cursor = page.cursor;
      }
      // A run that was removed in the meantime has no events.
      if (entry.cursor === before) throw new AgentError("gone", `run ${runId} was removed`);
    }
  }

  #evict(kept: Entry): void {
    let characters = 0;
    for (const { length } of this.#entries.values()) characters += length;
    for (const [runId, entry] of this.#entries) {
      if (this.#entries.size <= this.#runs && characters <= this.#characters) return;
      if (entry === kept) continue;
      this.#entries.delete(runId);
      characters -= entry.length;
    }
  }
}

function isWaiting({ status, open_waits: waits }: RunDetails): boolean {
  return status === "waiting" || (status === "held" && waits > 0);
}

interface Entry {
  readonly decoder: EventDecoder;
  readonly fold: RunFold;
  /** The approximate number of characters that the view holds. */
  length: number;
  cursor: number;
  /** The newest reading. */
  last: Promise<unknown> | undefined;
}

function add(entry: Entry, text: string): void {
  const type = typeOf(text);
  const isSaid = type === "TextOutput" || type === "ReasoningOutput";
  if (type === "ToolTextOutput" || (isSaid && depthOf(text) > 0)) return;
  const event = entry.decoder.decode(text);
  entry.length += "content" in event ? event.content.length : text.length;
  entry.fold.add(event);
}
