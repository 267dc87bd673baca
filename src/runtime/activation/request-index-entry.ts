import { toTimestamp } from "../../protocol/events/encode.ts";
import type { WaitingFor } from "../../protocol/answers/status.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { LoggedWait } from "../replay/turn-journal.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { RunContext } from "../run-context.ts";
import { isLong } from "../scheduler/parked-calls.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";

/** The index entry of a turn, without its phase. */
export interface IndexedRequest {
  /** The start of its current segment. */
  readonly segment: number | undefined;
  /** Its wake time, in milliseconds since 1970. */
  readonly wakeAt: number | undefined;
  /** What it waits for while it is parked without a wait for input. */
  readonly waitingFor: WaitingFor | undefined;
  /** The asks that it is parked on, if it is parked on nothing else. */
  readonly asks?: readonly RequestId[] | undefined;
}

/**
 * The entry of the started request in the index of the log, kept consistent with its turn. Here is decided what a turn
 * that is parked looks like from outside: with an open wait its phase is `waiting`, otherwise it is `running` and `waitingFor`
 * is set.
 */
export class RequestIndexEntry {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  #marked: IndexedRequest;

  constructor(context: RunContext, ledger: RunLedger, marked: IndexedRequest) {
    this.#context = context;
    this.#ledger = ledger;
    this.#marked = marked;
  }

  /** Whether the turn is parked in the index. */
  get parked(): boolean {
    const { wakeAt, waitingFor } = this.#marked;
    return waitingFor !== undefined || wakeAt !== undefined || this.#ledger.phase === "waiting";
  }

  /** The wake time in the index, in milliseconds since 1970. */
  get wakeAt(): number | undefined {
    return this.#marked.wakeAt;
  }

  /** What a turn at rest without a wait for input waits for, as in the index. */
  get waitingFor(): WaitingFor | undefined {
    return this.#marked.waitingFor;
  }

  /** Forgets the turn that has ended. */
  clear(): void {
    this.#marked = { segment: undefined, ...AWAKE };
  }

  /** Records that a parked turn continues. */
  wake(): void {
    if (this.parked) this.#write({ ...this.#marked, ...AWAKE, phase: "running" });
  }

  /** Records that the turn begins at a time, in milliseconds since 1970. */
  sleep(until: number): void {
    const waitingFor = { kind: "sleep", expires_at: toTimestamp(until) } as const;
    this.#write({ ...this.#marked, asks: undefined, phase: "running", wakeAt: until, waitingFor });
  }

  /** Records that the turn is held: it has no wake time, and waits for nothing. */
  hold(): void {
    const { requestId } = this.#ledger.started?.accepted ?? {};
    if (requestId === undefined) return;
    this.#ledger.recorder.mark({ requestId, phase: "held", wakeAt: 0, waitingFor: null, parkedOn: [] });
    this.#marked = { ...this.#marked, ...AWAKE };
  }

  /** Records the current segment of a turn that is held, after an answer. */
  answered(segment: number | undefined): void {
    const { requestId } = this.#ledger.started?.accepted ?? {};
    if (requestId === undefined || segment === undefined) return;
    this.#ledger.recorder.mark({ requestId, phase: "held", segment });
    this.#marked = { ...this.#marked, segment };
  }

  /** Records that the turn that was held continues. */
  continueHeld(): void {
    const { requestId } = this.#ledger.started?.accepted ?? {};
    if (requestId !== undefined) this.#ledger.recorder.mark({ requestId, phase: "running" });
  }

  /** Adds the changes of the entry to the batch that is about to be committed. */
  beforeCommit(turn: ActiveTurn): void {
    const { segment, wakeAt, waitingFor } = this.#marked;
    const phase = this.#phase;
    const next = this.#next(turn, phase);
    const isSame =
      next.phase === phase &&
      next.segment === segment &&
      next.wakeAt === wakeAt &&
      next.waitingFor === waitingFor;
    if (!isSame) this.#write(next);
  }

  /** Updates the entry after a change of what the turn waits for. */
  follow(turn: ActiveTurn): void {
    const phase = this.#phase;
    const next = this.#next(turn, phase);
    const isParked = next.phase === "waiting" || next.waitingFor !== undefined;
    const isParkNew = isParked && next.wakeAt !== this.#marked.wakeAt;
    const isKindNew = next.waitingFor !== undefined && next.waitingFor !== this.#marked.waitingFor;
    // Only being parked needs a commit now; waking up is written with the next one.
    if (next.phase !== phase || isParkNew || isKindNew) this.#write(next);
  }

  get #phase(): StartedPhase {
    return this.#ledger.phase === "waiting" ? "waiting" : "running";
  }

  /** The entry that belongs to the current state of the turn. */
  #next(turn: ActiveTurn, phase: StartedPhase): NextEntry {
    const before = this.#marked;
    const { parkedCalls } = turn;
    const { parked } = turn.quiescence;
    const segment = segmentOf(turn);
    // Cleanup steps have little time, so their turn stays in memory, and is continued first after a crash.
    if (turn.canceling) return { segment, phase: "running", ...AWAKE };
    if (parked === undefined) {
      const isWaiting = phase === "waiting";
      // A deadline that is new must not be missed if the process dies now.
      return {
        ...before,
        segment,
        phase,
        ...(isWaiting && { wakeAt: earlier(before.wakeAt, parkedCalls.firstEnd) }),
      };
    }
    if (!parked) return { segment, phase: "running", ...AWAKE };
    const wakeAt = parkedCalls.firstEnd;
    const now = this.#context.environment.now();
    // The turn is about to continue.
    if (wakeAt !== undefined && wakeAt <= now) return { ...before, segment, phase };
    if (turn.counts.waits > 0) return { segment, phase: "waiting", wakeAt, waitingFor: undefined };
    const { oldest } = parkedCalls;
    const asks = parkedCalls.asks;
    const isKept =
      before.wakeAt === wakeAt && isEqual(before.waitingFor, oldest) && isSameList(before.asks, asks);
    if (isKept) return { ...before, segment, phase: "running" };
    if (!isLong(wakeAt, now)) return { segment, phase: "running", ...AWAKE };
    return { segment, phase: "running", wakeAt, waitingFor: oldest, asks };
  }

  #write({ phase, ...next }: NextEntry): void {
    const ledger = this.#ledger;
    const before = this.#marked;
    const isPhaseNew = phase !== this.#phase;
    const wasParked = this.parked;
    if (isPhaseNew) ledger.enter(phase === "waiting" ? "wait" : "continue");
    const { requestId } = ledger.started?.accepted ?? {};
    if (requestId === undefined) return;
    const { segment, wakeAt, waitingFor } = next;
    ledger.recorder.mark({
      requestId,
      phase,
      ...(segment !== undefined && { segment }),
      ...(wakeAt !== before.wakeAt && { wakeAt: wakeAt ?? 0 }),
      ...(waitingFor !== before.waitingFor && { waitingFor: waitingFor ?? null }),
      ...(next.asks !== before.asks && { parkedOn: next.asks ?? [] }),
    });
    this.#marked = next;
    if (next.asks !== undefined && next.asks !== before.asks) this.#examine();
    // A turn that is parked has made progress: its wake-up does not count as a recovery.
    if (this.parked && !wasParked && (ledger.started?.recoveries ?? 0) > 0)
      ledger.change({ type: "Released", request_id: requestId });
    if (isPhaseNew) ledger.save();
  }

  /** Looks for actors that wait for each other, when the commit with the asks of this turn is in the log. */
  #examine(): void {
    const { mail } = this.#context;
    const { runId, recorder } = this.#ledger;
    recorder.committed().then(
      () => mail.parked(runId),
      // A failed commit is reported to the run.
      () => {},
    );
  }
}

type StartedPhase = "running" | "waiting";

interface NextEntry extends IndexedRequest {
  readonly phase: StartedPhase;
}

const AWAKE: Omit<IndexedRequest, "segment"> = { wakeAt: undefined, waitingFor: undefined, asks: undefined };

function isEqual(one: WaitingFor | undefined, other: WaitingFor | undefined): boolean {
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

function isSameList(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}

/** The start of a request's current segment: its newest answer, or its oldest open wait if that is older. */
export function toSegment(lastResume: number, [oldest]: readonly LoggedWait[]): number | undefined {
  return lastResume === 0 ? undefined : Math.min(lastResume, oldest?.waitId ?? Infinity);
}

function segmentOf({ parkedCalls }: ActiveTurn): number | undefined {
  // Called before every commit: the waits are sorted only if there was an answer.
  return parkedCalls.lastResume === 0 ? undefined : toSegment(parkedCalls.lastResume, parkedCalls.allWaits);
}
