import type { Speaker } from "../../protocol/encode.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import { UnreplayedCalls, cancelLogged } from "./unreplayed-calls.ts";
import type { DeliveryQueue } from "../scheduler/delivery-queue.ts";
import type { Outcome, TurnJournal } from "../replay/turn-journal.ts";
import type { UnreplayedRemoteWork } from "./unreplayed-remote-work.ts";
import { canceledBody } from "../scheduler/call-tree.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { Quiescence } from "../scheduler/quiescence.ts";
import type { SharedMemory } from "./shared-memory.ts";
import type { Activity } from "../scheduler/activity.ts";
import type { OpenWaits } from "../scheduler/open-waits.ts";

/** The turn of the calls, and the parts that must know their end. */
export interface CallSettlementOptions {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly root: OpenCall;
  readonly journal: TurnJournal;
  readonly recorder: Recorder;
  readonly telemetry: Telemetry;
  readonly deliveries: DeliveryQueue;
  readonly activity: Activity;
  readonly waits: OpenWaits;
  readonly shared: SharedMemory;
  readonly quiescence: Quiescence;
  readonly unreplayedRemoteWork: UnreplayedRemoteWork;
  /** Registers a speaker under a call. */
  introduce(speaker: Speaker, callId: CallId): void;
}

/** The outcome for code that still waits for a canceled call. */
const GIVEN_UP = { ok: false, code: "canceled", message: "the call was canceled" } as const;

/** The open calls of a turn and how each ends: by itself, or canceled. */
export class CallSettlement {
  readonly #options: CallSettlementOptions;
  /** Open calls of the log that the code has not reached yet. */
  readonly #ahead: UnreplayedCalls;

  constructor(options: CallSettlementOptions) {
    this.#options = options;
    this.#ahead = new UnreplayedCalls(options.journal.openCalls);
  }

  /** Registers an open call. */
  opened(call: OpenCall): void {
    this.#ahead.remove(call.callId);
    this.#options.quiescence.opened(call);
  }

  /** Whether a call can still be settled; a late result is counted and dropped. */
  accepts(call: OpenCall): boolean {
    if (call.open) return true;
    this.#options.telemetry.dropped("late_result");
    return false;
  }

  /** Closes a call, records its end, and delivers the outcome after the commit. */
  settle<Transcript>(call: OpenCall, outcome: Outcome, say: () => Transcript): Transcript {
    const { deliveries, recorder } = this.#options;
    const { callId } = call;
    this.#close(call);
    this.#closeBelow(call);
    const said = say();
    deliveries.announce(callId);
    recorder.committed().then(
      () => deliveries.push({ callId, outcome }),
      // A failed commit is reported to the run.
      () => {},
    );
    return said;
  }

  /** Cancels a call that its caller no longer needs, with all calls under it. */
  drop(caller: OpenCall, callId: CallId): void {
    this.#options.deliveries.forget(callId);
    const call = caller.child(callId);
    if (call === undefined) return;
    this.#giveUpAhead(callId);
    this.#giveUp([...call.below(), call]);
  }

  /** Ends the turn and all its calls, records that, and informs the code that still waits for them. */
  end<Transcript>(say: () => Transcript): Transcript {
    const { root, deliveries } = this.#options;
    this.#closeBelow(root);
    root.close();
    const said = say();
    deliveries.end(GIVEN_UP);
    return said;
  }

  /** Releases all calls without an end; they continue from the log later. */
  release(): void {
    const { root, deliveries } = this.#options;
    deliveries.stop();
    const calls = [...root.below()];
    for (const call of calls) call.close();
    for (const call of calls) call.abort();
  }

  /** Cancels all open calls under a call, deepest first. */
  #closeBelow(call: OpenCall): void {
    this.#giveUpAhead(call.callId);
    this.#giveUp([...call.below()]);
  }

  /** Cancels the calls of the log under a call that the code has not reached. */
  #giveUpAhead(above: CallId): void {
    const { recorder, deliveries, unreplayedRemoteWork, shared, waits } = this.#options;
    const calls = this.#ahead.take(above);
    for (const { callId } of calls) shared.leave(callId);
    cancelLogged(recorder, this.#options, calls);
    unreplayedRemoteWork.giveUp(above);
    waits.dropUnreplayed(above);
    deliveries.dropUnreplayed(above);
  }

  #giveUp(calls: readonly OpenCall[]): void {
    const { deliveries, recorder } = this.#options;
    for (const call of calls) {
      this.#close(call);
      deliveries.fail(call.callId, GIVEN_UP);
      const body = canceledBody(call);
      if (body) recorder.event(call.speaker, body);
    }
    // Last, because the aborted code may try to record something, which must then be too late.
    for (const call of calls) call.abort();
  }

  #close(call: OpenCall): void {
    const { quiescence, shared, activity, waits } = this.#options;
    if (call.kind === "agent") {
      activity.endWithin(call.callId);
      shared.leave(call.callId);
    }
    waits.remove(call.callId);
    call.close();
    quiescence.closed(call);
  }
}
