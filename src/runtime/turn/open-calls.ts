import type { TurnAddress } from "../../ports/environment.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { EventBody } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Recorded, Recorder } from "../journal/recorder.ts";
import { CANCELED_CALL } from "../replay/turn-journal.ts";
import type { Outcome, TurnJournal, Wait } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import { canceledBody } from "../scheduler/tool-end.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { OpenWaits } from "../scheduler/open-waits.ts";
import type { Quiescence } from "../scheduler/quiescence.ts";
import type { Subscriptions } from "../scheduler/subscriptions.ts";
import { SharedMemory } from "./shared-memory.ts";
import { UnreplayedCalls } from "./unreplayed-calls.ts";

/** The parts of a turn that the end of a call changes. */
export interface OpenCallsOptions {
  readonly context: RunContext;
  readonly address: TurnAddress;
  readonly root: OpenCall;
  readonly recorder: Recorder;
  readonly journal: TurnJournal;
  readonly quiescence: Quiescence;
  readonly waits: OpenWaits;
  readonly subscriptions: Subscriptions;
}

/**
 * The open calls of a turn, and the end of each: settled with an outcome, or canceled because its caller does not
 * need it. The end of a call cancels all calls under it.
 */
export class OpenCalls {
  /** What the log has open and the code has not reached again; absent for a new turn. */
  readonly unreplayed: UnreplayedCalls | undefined;
  readonly #options: OpenCallsOptions;
  #shared: SharedMemory | undefined;

  constructor(options: OpenCallsOptions) {
    const { journal, subscriptions } = options;
    this.#options = options;
    if (!journal.isNew)
      this.unreplayed = new UnreplayedCalls({ ...options, parts: { shared: this.shared, subscriptions } });
  }

  /** The shared memories of called agents. */
  get shared(): SharedMemory {
    return (this.#shared ??= new SharedMemory(this.#options.journal));
  }

  /** The memories that ended calls have set, by agent. */
  get staged(): ReadonlyMap<string, Json> {
    return this.#shared?.values ?? this.#options.journal.staged;
  }

  /** Notes that a call is open. */
  opened(call: OpenCall): void {
    this.unreplayed?.reached(call.callId);
    this.#options.quiescence.opened(call);
  }

  /** Whether a call may still be settled. A late result is counted and dropped. */
  accepts(call: OpenCall): boolean {
    if (call.open) return true;
    this.#options.context.telemetry.dropped("late_result");
    return false;
  }

  /** Closes a call, records the event of its end, and delivers the outcome after the commit. */
  settle(call: OpenCall, outcome: Outcome, body: EventBody, speaker: Speaker = call.speaker): Recorded {
    this.#closeWithAll(call);
    const recorded = this.#options.recorder.event(speaker, body);
    this.#deliver(call, outcome);
    return recorded;
  }

  /** Ends a call early: settles it with a failure, and stops its work. */
  stop(call: OpenCall, outcome: Outcome, body: EventBody): void {
    this.settle(call, outcome, body);
    call.abort();
  }

  /** Closes a call whose end is a record that was made just now, and delivers its outcome after the commit. */
  conclude(call: OpenCall, outcome: Outcome): void {
    this.#closeWithAll(call);
    this.#deliver(call, outcome);
  }

  /** Ends a sleep early; for its code it fails. */
  wakeCanceled(call: OpenCall): void {
    this.#closeWithAll(call);
    this.#options.recorder.record({ type: "Woke", call_id: call.callId, canceled: true });
    this.#deliver(call, CANCELED_CALL);
    call.abort();
  }

  /** Cancels one call of a caller, with all calls under it. */
  drop(caller: OpenCall, callId: CallId): void {
    this.#options.quiescence.deliveries.forget(callId);
    const call = caller.child(callId);
    if (call === undefined) return;
    this.#cancelUnreplayed(callId);
    this.#cancel([...call.below(), call]);
  }

  /** Closes the root of the turn and cancels all calls. */
  close(): void {
    const { root } = this.#options;
    root.close();
    this.#cancelBelow(root);
  }

  /** Closes all calls in memory only. They continue from the log. */
  release(): void {
    const { root, quiescence } = this.#options;
    quiescence.deliveries.stop();
    const calls = [...root.below()];
    root.close();
    for (const call of calls) call.close();
    for (const call of calls) call.abort();
  }

  #closeWithAll(call: OpenCall): void {
    this.#close(call);
    this.#cancelBelow(call);
  }

  #deliver({ callId }: OpenCall, outcome: Outcome): void {
    const { quiescence, recorder } = this.#options;
    const { deliveries } = quiescence;
    deliveries.announce(callId);
    recorder.committed().then(
      () => deliveries.push({ callId, outcome }),
      // A failed commit is reported to the run.
      () => {},
    );
  }

  /** Cancels everything under a call, deepest first. */
  #cancelBelow(call: OpenCall): void {
    this.#cancelUnreplayed(call.callId);
    this.#cancel([...call.below()]);
  }

  /** Cancels what the log has open under a call and the code has not reached again. */
  #cancelUnreplayed(above: CallId): void {
    const { quiescence, waits } = this.#options;
    if (this.unreplayed === undefined) return;
    this.unreplayed.cancel(above);
    for (const wait of waits.dropUnreplayed(above)) this.#unlist(wait);
    quiescence.deliveries.dropUnreplayed(above);
  }

  #cancel(calls: readonly OpenCall[]): void {
    const { quiescence, recorder } = this.#options;
    for (const call of calls) {
      this.#close(call);
      quiescence.deliveries.fail(call.callId, CANCELED_CALL);
      const body = canceledBody(call);
      if (body) recorder.event(call.speaker, body);
    }
    // Last, because code that is aborted may want to say something, which is too late.
    for (const call of calls) call.abort();
  }

  /** Removes a wait from the index of open waits. The end of the turn removes all of them. */
  #unlist({ waitId }: Wait): void {
    const { address, recorder, root } = this.#options;
    if (root.open) recorder.wait({ waitId, requestId: address.requestId, openedAt: 0, closed: true });
  }

  #close(call: OpenCall): void {
    const { quiescence, waits } = this.#options;
    if (call.kind === "agent") {
      quiescence.activity.endWithin(call.callId);
      this.#shared?.leave(call.callId);
    }
    const wait = call.kind === "wait" ? waits.get(call.callId) : undefined;
    if (wait) this.#unlist(wait);
    waits.remove(call.callId);
    call.close();
    quiescence.closed(call);
  }
}
