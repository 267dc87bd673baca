import type { Lifecycle } from "./lifecycle.ts";
import type { Wait } from "../scheduler/call-tree.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { RunContext } from "../run-context.ts";
import { LONG_SLEEP_MS } from "../scheduler/quiescence.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";

/** What the index is kept with. */
export interface RequestIndexOptions {
  readonly context: RunContext;
  readonly ledger: RunLedger;
  readonly lifecycle: Lifecycle;
}

/** What the index says of a turn beside its phase. */
export interface IndexedRequest {
  /** Where its current segment starts. */
  readonly segment: number | undefined;
  /** Until when it sleeps, in milliseconds since 1970. */
  readonly wakeAt: number | undefined;
}

/** What the index says of the turn under way, kept up with what the turn does. */
export class RequestIndex {
  readonly #options: RequestIndexOptions;
  #marked: IndexedRequest;

  constructor(options: RequestIndexOptions, marked: IndexedRequest) {
    this.#options = options;
    this.#marked = marked;
  }

  /** Until when the turn sleeps as far as the index knows. */
  get wakeAt(): number | undefined {
    return this.#marked.wakeAt;
  }

  /** Another turn begins, or none. */
  clear(): void {
    this.#marked = { segment: undefined, wakeAt: undefined };
  }

  /** Takes note of what is about to be committed. */
  beforeCommit(turn: ActiveTurn): void {
    const { segment: before, wakeAt } = this.#marked;
    const segment = segmentOf(turn);
    const isAwake = wakeAt !== undefined && turn.wakeAt !== wakeAt;
    if (!this.#isPhaseNew(turn) && !isAwake && segment === before) return;
    this.#write(turn, { segment, wakeAt: isAwake ? undefined : wakeAt });
  }

  /** Takes note of what the turn waits for, when that has changed. */
  follow(turn: ActiveTurn): void {
    const before = this.#marked.wakeAt;
    const { wakeAt = before } = turn;
    // That it does not sleep any more can wait until there is something else to commit.
    const sleeps =
      wakeAt !== before && (wakeAt ?? 0) - this.#options.context.environment.now() >= LONG_SLEEP_MS;
    if (!this.#isPhaseNew(turn) && !sleeps) return;
    this.#write(turn, { segment: segmentOf(turn), wakeAt: sleeps ? wakeAt : before });
  }

  #isPhaseNew({ parked }: ActiveTurn): boolean {
    return parked !== undefined && parked !== (this.#options.lifecycle.state === "waiting");
  }

  #write(turn: ActiveTurn, { segment, wakeAt }: IndexedRequest): void {
    const { ledger, lifecycle } = this.#options;
    const isNew = this.#isPhaseNew(turn);
    if (isNew) lifecycle.send(turn.parked === true ? "park" : "unpark");
    const phase = lifecycle.state === "waiting" ? "waiting" : "running";
    const { requestId } = turn.accepted;
    const isWakeNew = wakeAt !== this.#marked.wakeAt;
    ledger.recorder.mark({
      requestId,
      phase,
      ...(segment !== undefined && { segment }),
      ...(isWakeNew && { wakeAt: wakeAt ?? 0 }),
    });
    // A turn that has come as far as its sleep is in good order, so that to wake it is no further try.
    const fallsAsleep = wakeAt !== undefined && isWakeNew;
    if (fallsAsleep && (ledger.started?.recoveries ?? 0) > 0)
      ledger.change({ type: "Released", request_id: requestId });
    this.#marked = { segment, wakeAt };
    if (isNew) ledger.save(phase);
  }
}

/** Where the current segment of a request starts: at its newest answer, or before that at its oldest open wait. */
export function toSegment(lastResume: number, [oldest]: readonly Wait[]): number | undefined {
  return lastResume === 0 ? undefined : Math.min(lastResume, oldest?.waitId ?? Infinity);
}

function segmentOf({ waits }: ActiveTurn): number | undefined {
  // Asked before every commit: the waits are put in order only where there was an answer.
  return waits.lastResume === 0 ? undefined : toSegment(waits.lastResume, waits.all);
}
