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

/** Whose calls they are, and who has to know of their end. */
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
  /** Notes who speaks under which call, for those who follow it. */
  introduce(speaker: Speaker, callId: CallId): void;
}

/** What code is told that still waits for a call when nobody needs it any more. */
const GIVEN_UP = { ok: false, code: "canceled", message: "the call was canceled" } as const;

/** The calls that a turn has open, and how each of them ends: by itself, or because nobody needs it any more. */
export class CallSettlement {
  readonly #options: CallSettlementOptions;
  /** Those that the log has open and the code has not come to again. */
  readonly #ahead: UnreplayedCalls;

  constructor(options: CallSettlementOptions) {
    this.#options = options;
    this.#ahead = new UnreplayedCalls(options.journal.openCalls);
  }

  /** Notes that a call is open. */
  opened(call: OpenCall): void {
    this.#ahead.remove(call.callId);
    this.#options.quiescence.opened(call);
  }

  /** Whether a call may still be settled; a result that comes too late is counted and dropped. */
  accepts(call: OpenCall): boolean {
    if (call.open) return true;
    this.#options.telemetry.dropped("late_result");
    return false;
  }

  /** Closes a call, says so, and delivers the outcome once that is in the log. */
  settle<Transcript>(call: OpenCall, outcome: Outcome, say: () => Transcript): Transcript {
    const { deliveries, recorder } = this.#options;
    const { callId } = call;
    this.#close(call);
    this.#closeBelow(call);
    const said = say();
    deliveries.announce(callId);
    recorder.committed().then(
      () => deliveries.push({ callId, outcome }),
      // The run hears of a failed commit by itself.
      () => {},
    );
    return said;
  }

  /** Ends one call that its caller does not need any more, with all that is open under it. */
  drop(caller: OpenCall, callId: CallId): void {
    this.#options.deliveries.forget(callId);
    const call = caller.child(callId);
    if (call === undefined) return;
    this.#giveUpAhead(callId);
    this.#giveUp([...call.below(), call]);
  }

  /** Ends the turn and all its calls, says so, and tells the code that still waits for any of them. */
  end<Transcript>(say: () => Transcript): Transcript {
    const { root, deliveries } = this.#options;
    this.#closeBelow(root);
    root.close();
    const said = say();
    deliveries.end(GIVEN_UP);
    return said;
  }

  /** Lets go of all calls without an end: they go on from the log some other time. */
  release(): void {
    const { root, deliveries } = this.#options;
    deliveries.stop();
    const calls = [...root.below()];
    for (const call of calls) call.close();
    for (const call of calls) call.abort();
  }

  /** Ends whatever is open under a call, deepest first. */
  #closeBelow(call: OpenCall): void {
    this.#giveUpAhead(call.callId);
    this.#giveUp([...call.below()]);
  }

  /** Gives up what the log has under a call and the code has not come to again. */
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
    // Last, because code that hears of it may want to say something, for which it is too late.
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
