import type { Speaker } from "../../protocol/events/encode.ts";
import type { EventBody } from "../../protocol/events/event-body.ts";
import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Agent } from "../agent/agent.ts";
import type { RecordedEvent } from "../journal/recorder.ts";
import { CANCELED_CALL } from "../replay/turn-journal.ts";
import type { Replay } from "../replay/replay.ts";
import type { Outcome, LoggedWait } from "../replay/turn-journal.ts";
import { canceledBody, isTool } from "../scheduler/tool-end.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { DeliveryQueue } from "../scheduler/delivery-queue.ts";
import type { ParkedCalls } from "../scheduler/parked-calls.ts";
import type { Quiescence } from "../scheduler/quiescence.ts";
import { SharedMemory } from "./shared-memory.ts";
import { UnreplayedCalls } from "./unreplayed-calls.ts";
import type { LoggedTurn } from "./unreplayed-calls.ts";

/** What the open calls need of their turn. */
export interface CallingTurn extends LoggedTurn {
  readonly root: OpenCall;
  readonly agent: Pick<Agent, "name">;
  readonly deliveries: DeliveryQueue;
  readonly quiescence: Quiescence;
  readonly parkedCalls: ParkedCalls;
  readonly replay: Replay;
}

/**
 * The open calls of a turn, and the end of each: settled with an outcome, or canceled because its caller does not
 * need it. The end of a call cancels all calls under it.
 */
export class OpenCalls {
  /** The calls that the log has open and the replayed code has not made again; absent for a new turn. */
  readonly unreplayed: UnreplayedCalls | undefined;
  readonly #turn: CallingTurn;
  #shared: SharedMemory | undefined;

  constructor(turn: CallingTurn) {
    this.#turn = turn;
    if (turn.journal.isNew) return;
    this.#shared = new SharedMemory(turn.journal);
    this.unreplayed = new UnreplayedCalls(turn);
  }

  /** The shared memories of called agents. */
  get shared(): SharedMemory {
    return (this.#shared ??= new SharedMemory(this.#turn.journal));
  }

  /** The memories that ended calls have set, by agent. */
  get staged(): ReadonlyMap<string, Json> {
    return this.#shared?.values ?? this.#turn.journal.staged;
  }

  /** Notes that a call is open. */
  opened(call: OpenCall): void {
    call.openedMs = this.#turn.context.environment.monotonic();
    this.unreplayed?.reached(call.callId);
    this.#turn.quiescence.opened(call);
  }

  /** Whether a call may still be settled. A late result is counted and dropped. */
  accepts(call: OpenCall): boolean {
    if (call.open) return true;
    this.#turn.context.telemetry.dropped("late_result");
    return false;
  }

  /** Closes a call, records the event of its end, and delivers the outcome after the commit. */
  settle(call: OpenCall, outcome: Outcome, body: EventBody, speaker: Speaker = call.speaker): RecordedEvent {
    this.#closeWithAll(call);
    this.#count(call, outcome.ok ? "ok" : (outcome.code as ToolErrorCode));
    const recorded = this.#turn.recorder.event(speaker, body);
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

  /** Closes a call that has no outcome of its own. */
  ended(call: OpenCall): void {
    if (call.open) this.#close(call);
  }

  /** Ends a sleep early; the code that sleeps gets an error. */
  wakeCanceled(call: OpenCall): void {
    this.#closeWithAll(call);
    this.#turn.recorder.record({ type: "Woke", call_id: call.callId, canceled: true });
    this.#deliver(call, CANCELED_CALL);
    call.abort();
  }

  /** Cancels one call of a caller, with all calls under it. */
  drop(caller: OpenCall, callId: CallId): void {
    this.#turn.deliveries.forget(callId);
    const call = caller.child(callId);
    if (call === undefined) return;
    this.#cancelUnreplayed(callId);
    this.#cancel([...call.below(), call]);
  }

  /** Cancels all calls; the turn stays open. */
  cancelAll(): void {
    this.#cancelBelow(this.#turn.root);
  }

  /** Closes the root of the turn and cancels all calls. */
  close(): void {
    const { root } = this.#turn;
    root.close();
    this.#cancelBelow(root);
  }

  /** Closes all calls in memory only. They continue from the log. */
  release(): void {
    const { root, deliveries } = this.#turn;
    deliveries.stop();
    const calls = [...root.below()];
    root.close();
    for (const call of calls) call.close();
    for (const call of calls) call.abort();
  }

  #closeWithAll(call: OpenCall): void {
    this.#close(call);
    this.#cancelBelow(call);
  }

  #count(call: OpenCall, outcome: "ok" | ToolErrorCode): void {
    if (!isTool(call)) return;
    const { environment, telemetry } = this.#turn.context;
    const ms = environment.monotonic() - call.openedMs;
    telemetry.called?.({ agent: this.#turn.agent.name, name: call.name, outcome, ms });
  }

  #deliver({ callId }: OpenCall, outcome: Outcome): void {
    const { deliveries, recorder } = this.#turn;
    deliveries.announce();
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
    if (this.unreplayed === undefined) return;
    const { deliveries, parkedCalls, replay } = this.#turn;
    replay.drop(above);
    this.unreplayed.cancel(above);
    for (const wait of parkedCalls.dropUnreplayed(above)) this.#unlist(wait);
    deliveries.dropUnreplayed(above);
  }

  #cancel(calls: readonly OpenCall[]): void {
    const { deliveries, recorder } = this.#turn;
    for (const call of calls) {
      this.#close(call);
      deliveries.fail(call.callId, CANCELED_CALL);
      const body = canceledBody(call);
      if (body) recorder.event(call.speaker, body);
      this.#count(call, "canceled");
    }
    // Aborted last: when the code hears of it, the calls are closed, so that nothing it still says is recorded.
    for (const call of calls) call.abort();
  }

  /** Removes a wait from the index of open waits. The end of the turn removes all of them. */
  #unlist({ waitId }: Pick<LoggedWait, "waitId">): void {
    const { recorder, requestId, root } = this.#turn;
    if (root.open) recorder.wait({ waitId, requestId, openedAt: 0, closed: true });
  }

  #close(call: OpenCall): void {
    const { quiescence } = this.#turn;
    if (call.kind === "agent") {
      quiescence.activity.endWithin(call.callId);
      this.#shared?.leave(call.callId);
    }
    const { waitsFor } = call;
    if (waitsFor?.kind === "input") this.#unlist(waitsFor);
    call.close();
    quiescence.closed(call);
  }
}
