import { EventDecoder, depthOf } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import { RunFold } from "../../view/fold.ts";
import type { Change, TurnView } from "../../view/run-view.ts";
import { unsaidOf } from "../../view/segment-fold.ts";
import { openWaitsOf } from "../../view/segments.ts";
import { mergeUsage } from "../../view/turns.ts";
import { isAnswerOf } from "./place.ts";
import type { SegmentPlace } from "./place.ts";
import { RunParts } from "./run-parts.ts";
import { PROTOCOL, toTokenUsage } from "./event.ts";
import type { AgUiEvent } from "./event.ts";

/**
 * Turns the events of a request into the events of one of its runs: from the moment at which the run begins until its agent asks,
 * or has ended. Equal events give equal runs, so a second reader and a restart of the server get the same.
 */
export class RunEvents {
  readonly #place: SegmentPlace;
  readonly #decoder = new EventDecoder();
  readonly #fold = new RunFold();
  readonly #parts: RunParts;
  #hasBegun = false;
  #hasEnded = false;
  /** The time of the newest event. */
  #at = "";
  #usedBefore: Usage = {};
  #memory: Json | undefined;

  constructor(place: SegmentPlace) {
    this.#place = place;
    this.#parts = new RunParts(place, this.#fold.view);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sets what the agent remembers, before the event that ends its turn. */
  remember(memory: Json): void {
    this.#memory = memory;
  }

  /** Takes the next event of the request, and returns those of the run. */
  take(text: string): readonly AgUiEvent[] {
    if (this.#hasEnded) return [];
    const event = this.#decoder.decode(text);
    if (this.#hasBegun && this.#endsBefore(event, text)) return this.endAtWait();
    this.#at = event.ts;
    if (!this.#hasBegun) {
      if (!this.#begins(event, text)) {
        this.#fold.add(event);
        return [];
      }
      this.#hasBegun = true;
      this.#usedBefore = this.#turn?.usage ?? {};
      const changes = this.#fold.take(event);
      return this.#stamp([this.#start(), ...this.#apply(changes)]);
    }
    return this.#stamp(this.#apply(this.#fold.take(event)));
  }

  /** The last events of a run whose agent asks; none if it has ended, or has not begun. */
  endAtWait(): readonly AgUiEvent[] {
    return this.#hasBegun && !this.#hasEnded ? this.#stamp(this.#closeAtWait()) : [];
  }

  /** Gives events the time of the one that caused them. */
  #stamp(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    if (events.length === 0) return events;
    const timestamp = Date.parse(this.#at);
    return events.map((event) => ({ ...event, timestamp }));
  }

  get #turn(): TurnView | undefined {
    return this.#fold.view.turns.find(({ requestId }) => requestId === this.#place.requestId);
  }

  #begins(event: Event, text: string): boolean {
    const { begin } = this.#place;
    switch (begin.type) {
      case "start":
        // One that is canceled in the queue has never started.
        return true;
      case "event":
        return event.id === begin.id;
      case "cancel":
        return isCancel(event, text);
      default: {
        const never: never = begin;
        return never;
      }
    }
  }

  /** Whether an event is one of a later run: the agent has asked, and is answered, has waited too long, or is canceled. */
  #endsBefore(event: Event, text: string): boolean {
    const { begin, own } = this.#place;
    if (this.#fold.view.status !== "waiting") return false;
    if (event.type === "WaitExpired") return true;
    if (event.type === "ResumeWithInput") return !isAnswerOf(own, event.resume_id);
    return begin.type !== "cancel" && isCancel(event, text);
  }

  #start(): AgUiEvent {
    const { threadId, runId, thread, requestId, agent } = this.#place;
    const metadata = { run_id: thread, request_id: requestId, agent };
    return { type: "RUN_STARTED", threadId, runId, protocolVersion: PROTOCOL, metadata };
  }

  #apply(changes: readonly Change[]): readonly AgUiEvent[] {
    const [first] = changes;
    // Most events change one thing.
    if (first !== undefined && changes.length === 1) return this.#applyOne(first);
    return changes.flatMap((change) => this.#applyOne(change));
  }

  #applyOne(change: Change): readonly AgUiEvent[] {
    const parts = this.#parts;
    switch (change.type) {
      case "text":
        return parts.say(change.part, change.text);
      case "call":
        return parts.call(change.call);
      case "attempt":
        return parts.attempt(change.call);
      case "result":
        return parts.result(change.call);
      case "wait":
        return parts.ask(change.wait);
      case "file":
        return parts.file(change.part);
      case "end":
        return this.#end(change.turn);
      case "input":
      case "answer":
      case "expiry":
      case "progress":
      case "rest":
      case "received":
        return [];
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  #end(turn: TurnView): readonly AgUiEvent[] {
    this.#hasEnded = true;
    const { threadId, runId } = this.#place;
    const { outcome, error, output, result } = turn;
    const unsaid = unsaidOf(this.#fold.view, turn);
    const usage = toTokenUsage(mergeUsage(turn.usage, {}, this.#usedBefore));
    const used = usage.length > 0 ? { usage } : {};
    const events = [...this.#parts.closeAll()];
    if (unsaid !== "") events.push(...this.#parts.sayWhole(unsaid));
    if (this.#memory !== undefined) events.push({ type: "STATE_SNAPSHOT", snapshot: this.#memory });
    if (outcome === "error") {
      const { message, code } = error ?? { message: "the turn has failed", code: "error" };
      return [...events, { type: "RUN_ERROR", message, code, ...used }];
    }
    const value = output ?? result;
    return [
      ...events,
      {
        type: "RUN_FINISHED",
        threadId,
        runId,
        ...(outcome === "success" && value !== null && value !== undefined && { result: value }),
        outcome: outcome === "success" ? { type: "success" } : { type: "cancelled" },
        ...used,
      },
    ];
  }

  #closeAtWait(): readonly AgUiEvent[] {
    this.#hasEnded = true;
    const { threadId, runId, requestId } = this.#place;
    const waits = openWaitsOf(this.#fold.view, requestId);
    const usage = toTokenUsage(mergeUsage(this.#turn?.usage ?? {}, {}, this.#usedBefore));
    const interrupts = this.#parts.interruptsOf(waits);
    const pendingToolCallIds = this.#parts.toolCallsOf(waits);
    return [
      ...this.#parts.closeAll(),
      {
        type: "RUN_FINISHED",
        threadId,
        runId,
        outcome:
          interrupts.length > 0 ? { type: "interrupt", interrupts } : { type: "success", pendingToolCallIds },
        ...(usage.length > 0 && { usage }),
      },
    ];
  }
}

function isCancel(event: Event, text: string): boolean {
  if (depthOf(text) > 0) return false;
  if (event.type === "RequestCompleted") return event.finish_reason === "canceled";
  return event.type === "CancelRequest" || event.type === "RequestCanceling";
}
