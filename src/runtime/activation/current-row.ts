import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunRow } from "../../ports/log-batch.ts";
import type { LastTurn } from "../../protocol/answers/status.ts";
import type { Usage } from "../../protocol/events/events.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { NO_AGENT, REMOVING } from "../journal/system-runs.ts";
import { addUsage } from "../replay/turn-journal.ts";
import type { TurnEnd } from "../turn/turn-end.ts";

/** The end of a request; one that joined the turn of another has no memory of its own. */
export type RequestEnd = Omit<TurnEnd, "memory"> & Partial<Pick<TurnEnd, "memory">>;

/** The fields of a row that follow from the state of its run. */
export interface RowChange extends Pick<RunRow, "status" | "updatedAt" | "turns"> {
  readonly started: RunRow["started"] | undefined;
}

/** A run's row in the list of runs as it is now, with what it tells of the run's turns. */
export class CurrentRow {
  #value: RunRow | undefined;
  #lastTurn: LastTurn | undefined;
  /** The usage of all turns that have ended. */
  #usage: Usage | undefined;

  constructor(run: RunEntry | undefined) {
    this.#value = run;
    this.#lastTurn = run?.lastTurn;
    this.#usage = run?.usage;
  }

  /** `undefined` until the first message of the run. */
  get value(): RunRow | undefined {
    return this.#value;
  }

  begin(agent: string, now: number, initialInput: Json, metadata: JsonObject): void {
    this.#value = { agent, status: "idle", createdAt: now, updatedAt: now, turns: 0, initialInput, metadata };
  }

  /** Gives the row to no agent, so that no list of runs has it. */
  hide(): RunRow | undefined {
    if (this.#value) this.#value = { ...this.#value, agent: NO_AGENT, metadata: REMOVING };
    return this.#value;
  }

  /** A turn starts. */
  start(turn: LastTurn): void {
    this.#lastTurn = turn;
  }

  /** The newest turn ends. */
  end(at: string, { finishReason, error, usage }: RequestEnd): void {
    this.#lastTurn &&= {
      ...this.#lastTurn,
      ended_at: at,
      finish_reason: finishReason,
      ...(error && { error_code: error.code }),
    };
    if (usage) this.#usage = addUsage(this.#usage ?? {}, usage);
  }

  /** The row with a new state of the run; `undefined` if the run has no row yet. */
  update({ status, updatedAt, turns, started }: RowChange): RunRow | undefined {
    const row = this.#value;
    if (row === undefined) return undefined;
    const { agent, createdAt, initialInput, metadata } = row;
    const lastTurn = this.#lastTurn;
    const usage = this.#usage;
    // Written out: a copy without some fields is ten times slower, and this is done for each request and each turn.
    this.#value = {
      agent,
      status,
      createdAt,
      updatedAt,
      turns,
      initialInput,
      metadata,
      ...(started !== undefined && { started }),
      ...(lastTurn && { lastTurn }),
      ...(usage && { usage }),
    };
    return this.#value;
  }
}
