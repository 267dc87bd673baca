import type { Json } from "../../protocol/json.ts";
import { byteLength } from "../journal/json-limits.ts";
import { readKept } from "../replay/load-run.ts";
import type { RunContext } from "../run-context.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";
import type { RunLedger } from "./run-ledger.ts";

/** A larger checkpoint is not written: the turn has so much open that reading it again costs less. */
const LIMIT_BYTES = 1_048_576;

/**
 * The checkpoints of a run's turns: what is needed to continue a turn is written now and then, so that the cost to load it
 * does not grow with its age. Only a machine can have them, because it continues from its state and not from its start.
 */
export class TurnCheckpoints {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  /** The newest event when the last one was begun. */
  #begun = 0;
  #isUnderWay = false;

  constructor(context: RunContext, ledger: RunLedger) {
    this.#context = context;
    this.#ledger = ledger;
  }

  /** Writes a checkpoint of the turn, if one is due. Called before each commit. */
  follow(turn: ActiveTurn): void {
    const { recorder, started } = this.#ledger;
    if (turn.agent.machine === undefined || turn.canceling || this.#isUnderWay || turn.isReplaying) return;
    const { head } = recorder.cursor;
    const last = Math.max(this.#begun, started?.base?.at.after ?? 0);
    if (head - last < this.#context.limits.checkpointEvents) return;
    this.#begun = head;
    this.#isUnderWay = true;
    this.#write(turn)
      .catch((error: unknown) => {
        const message = `run ${this.#ledger.runId} could not be kept at a checkpoint`;
        this.#context.telemetry.fault(message, error);
      })
      .finally(() => {
        this.#isUnderWay = false;
      });
  }

  async #write(turn: ActiveTurn): Promise<void> {
    const ledger = this.#ledger;
    const { runId, started, recorder } = ledger;
    const { requestId } = turn;
    if (started?.accepted.requestId !== requestId) return;
    const at = { after: recorder.cursor.head, n: recorder.cursor.records };
    const journal = (await readKept(this.#context.log, runId, started, at)) as Json | undefined;
    const isLeft = turn.ended || turn.released || ledger.started?.turn !== started.turn;
    if (journal === undefined || isLeft || byteLength(JSON.stringify(journal)) > LIMIT_BYTES) return;
    ledger.keep({ type: "Checkpoint", request_id: requestId, at, journal });
  }
}
