import type { Wait } from "../replay/turn-journal.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { RunContext } from "../run-context.ts";
import { LONG_SLEEP_MS } from "../scheduler/open-sleeps.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";

/** The index entry of a turn, without its phase. */
export interface IndexedRequest {
  /** The start of its current segment. */
  readonly segment: number | undefined;
  /** Its wake time, in milliseconds since 1970. */
  readonly wakeAt: number | undefined;
}

/** The entry of the started request in the index of the log, kept consistent with its turn. */
export class RequestIndexEntry {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  #marked: IndexedRequest;

  constructor(context: RunContext, ledger: RunLedger, marked: IndexedRequest) {
    this.#context = context;
    this.#ledger = ledger;
    this.#marked = marked;
  }

  /** The wake-up time in the index, in milliseconds since 1970. */
  get wakeAt(): number | undefined {
    return this.#marked.wakeAt;
  }

  /** Forgets the turn that has ended. */
  clear(): void {
    this.#marked = { segment: undefined, wakeAt: undefined };
  }

  /** Adds the changes of the entry to the batch that is about to be committed. */
  beforeCommit(turn: ActiveTurn): void {
    const { segment: before, wakeAt } = this.#marked;
    const segment = segmentOf(turn);
    const isAwake = wakeAt !== undefined && turn.quiescence.wakeAt !== wakeAt;
    if (!this.#isPhaseNew(turn) && !isAwake && segment === before) return;
    this.#write(turn, { segment, wakeAt: isAwake ? undefined : wakeAt });
  }

  /** Updates the entry after a change of what the turn waits for. */
  follow(turn: ActiveTurn): void {
    const before = this.#marked.wakeAt;
    const { wakeAt = before } = turn.quiescence;
    // Only falling asleep needs a commit now; waking up is written with the next one.
    const sleeps = wakeAt !== before && (wakeAt ?? 0) - this.#context.environment.now() >= LONG_SLEEP_MS;
    if (!this.#isPhaseNew(turn) && !sleeps) return;
    this.#write(turn, { segment: segmentOf(turn), wakeAt: sleeps ? wakeAt : before });
  }

  #isPhaseNew({ quiescence: { parked } }: ActiveTurn): boolean {
    return parked !== undefined && parked !== (this.#ledger.phase === "waiting");
  }

  #write(turn: ActiveTurn, { segment, wakeAt }: IndexedRequest): void {
    const ledger = this.#ledger;
    const isNew = this.#isPhaseNew(turn);
    if (isNew) ledger.enter(turn.quiescence.parked === true ? "park" : "unpark");
    const phase = ledger.phase === "waiting" ? "waiting" : "running";
    const { requestId } = turn;
    const isWakeNew = wakeAt !== this.#marked.wakeAt;
    ledger.recorder.mark({
      requestId,
      phase,
      ...(segment !== undefined && { segment }),
      ...(isWakeNew && { wakeAt: wakeAt ?? 0 }),
    });
    // A turn that reaches its sleep has made progress: its wake-up does not count as a recovery.
    const fallsAsleep = wakeAt !== undefined && isWakeNew;
    if (fallsAsleep && (ledger.started?.recoveries ?? 0) > 0)
      ledger.change({ type: "Released", request_id: requestId });
    this.#marked = { segment, wakeAt };
    if (isNew) ledger.save();
  }
}

/** The start of a request's current segment: its newest answer, or its oldest open wait if that is older. */
export function toSegment(lastResume: number, [oldest]: readonly Wait[]): number | undefined {
  return lastResume === 0 ? undefined : Math.min(lastResume, oldest?.waitId ?? Infinity);
}

function segmentOf({ waits }: ActiveTurn): number | undefined {
  // Called before every commit: the waits are sorted only if there was an answer.
  return waits.lastResume === 0 ? undefined : toSegment(waits.lastResume, waits.all);
}
