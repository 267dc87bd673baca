import { AgentError, toAgentError } from "../../errors.ts";
import type { ActorRef } from "../../protocol/actors.ts";
import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { isOwnStep, toActorRequest } from "../replay/actor-request.ts";
import type { ActorCallEvent } from "../replay/actor-request.ts";
import type { PostReceipt, Reply } from "../replay/mail-port.ts";
import type { Outcome, TurnJournal } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { Quiescence } from "../scheduler/quiescence.ts";
import type { TurnCounts } from "../scheduler/turn-counts.ts";
import { cutResult, toToolEnd } from "../scheduler/tool-end.ts";
import type { OpenCalls } from "./open-calls.ts";

/** What the asks need of their turn. */
export interface AskingTurn {
  readonly context: RunContext;
  readonly self: ActorRef;
  readonly accepted: AcceptedRequest;
  readonly recorder: Recorder;
  readonly journal: TurnJournal;
  readonly calls: OpenCalls;
  readonly quiescence: Quiescence;
  readonly counts: TurnCounts;
}

/** How long an accepted ask is open before the turn is parked on it, in milliseconds: most are answered before. */
const PARK_AFTER_MS = 1_000;

/** The open asks and tells of a turn: each is sent until the other actor has accepted or refused it. */
export class OpenAsks {
  readonly #turn: AskingTurn;
  readonly #asks = new Map<CallId, OpenAsk>();
  /** Set when the turn is passivated: replies must be delivered again. */
  #released = false;

  constructor(turn: AskingTurn) {
    this.#turn = turn;
    for (const { made } of turn.journal.open)
      if (made?.sent) this.#asks.set(made.sent.tool_call_id, newAsk(made.sent, true));
  }

  get size(): number {
    return this.#asks.size;
  }

  /** Sends what the log has open again, in the order of its calls. */
  resume(): void {
    for (const ask of this.#asks.values()) this.#post(ask);
  }

  /** Sends the request of a new call when its ToolCall, which is just recorded, is committed. */
  begin(sent: ActorCallEvent, call: OpenCall): void {
    const ask = newAsk(sent, false);
    ask.call = call;
    this.#asks.set(call.callId, ask);
    this.#turn.recorder.committed().then(
      () => {
        if (this.#isWanted(ask)) this.#post(ask);
      },
      // A failed commit is reported to the run.
      () => {},
    );
  }

  /** The replayed code has made a call of the log again. */
  reached(call: OpenCall): void {
    const ask = this.#asks.get(call.callId);
    if (ask) this.#live(ask, call);
  }

  /** The turn is parked on all accepted asks from now on, because it waits for something else anyway. */
  park(): void {
    for (const ask of this.#asks.values()) this.#park(ask);
  }

  /** Gives the answer to a call; resolves when it is recorded, or when the call is closed. */
  reply({ callId, requestId, outcome, isRecalled = false }: Reply): Promise<void> {
    const ask = this.#asks.get(callId);
    if (ask === undefined || ask.sent.callee.request_id !== requestId || ask.sent.mode !== "ask") return DONE;
    this.#settle(ask, outcome);
    if (isRecalled) this.#recall(ask);
    if (!this.#asks.has(callId)) return DONE;
    return (ask.reached ??= Promise.withResolvers<void>()).promise;
  }

  /** A call was canceled with its caller, or the turn is passivated. */
  aborted(callId: CallId): void {
    const ask = this.#asks.get(callId);
    if (ask === undefined) return;
    if (this.#released) return;
    this.#close(ask);
    this.#recall(ask);
  }

  /** The code will not make a call of the log again; its cancellation is recorded. */
  dropped(callId: CallId): void {
    const ask = this.#asks.get(callId);
    if (ask) this.#close(ask);
  }

  /** The turn is passivated. Its asks stay open in the log. */
  release(): void {
    this.#released = true;
    const passivated = new AgentError("unavailable", "the turn was passivated; retry", { retryAfterS: 1 });
    for (const { reached } of this.#asks.values()) reached?.reject(passivated);
  }

  #live(ask: OpenAsk, call: OpenCall): void {
    ask.call = call;
    if (ask.outcome) this.#settle(ask, ask.outcome);
    else if (ask.isAccepted) this.#parkSoon(ask);
  }

  #post(ask: OpenAsk): void {
    const { context, self, accepted } = this.#turn;
    const { expires_at: expiresAt } = ask.sent;
    const isRepeated = ask.posted;
    ask.posted = true;
    const letter = {
      from: self.run_id,
      accepted: toActorRequest(ask.sent, { self, accepted }),
      isRepeated,
      isOwnStep: isOwnStep(ask.sent, { self, accepted }),
      ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }),
      isWanted: () => this.#isWanted(ask),
    };
    context.mail.post(letter).then(
      (posted) => {
        if (posted) this.#accepted(ask, posted);
      },
      (thrown: unknown) => this.#refused(ask, thrown),
    );
  }

  /** Whether the request of an ask is still to be sent. */
  #isWanted(ask: OpenAsk): boolean {
    return !this.#released && this.#asks.get(ask.sent.tool_call_id) === ask;
  }

  #accepted(ask: OpenAsk, { runId, outcome }: PostReceipt): void {
    ask.isAccepted = true;
    if (outcome !== undefined && ask.sent.mode === "ask") {
      if (this.#isWanted(ask)) this.#settle(ask, outcome);
      return;
    }
    if (ask.sent.mode === "ask") {
      this.#parkSoon(ask);
      return;
    }
    const value = { run_id: runId, request_id: ask.sent.callee.request_id };
    this.#settle(ask, { ok: true, value, text: JSON.stringify(value) });
  }

  /** Parks the turn on an accepted ask, unless it is answered soon. */
  #parkSoon(ask: OpenAsk): void {
    const { call } = ask;
    if (call?.open !== true || ask.isParked) return;
    const { context, counts } = this.#turn;
    if (counts.waits > 0) this.#park(ask);
    else call.whenClosed(context.environment.timer(PARK_AFTER_MS, () => this.#park(ask)));
  }

  #park(ask: OpenAsk): void {
    const { call, isAccepted, isParked: isResting, sent } = ask;
    if (call?.open !== true || !isAccepted || isResting || sent.mode !== "ask") return;
    ask.isParked = true;
    const { callee, expires_at: expiresAt } = sent;
    const until = expiresAt === undefined ? undefined : Date.parse(expiresAt);
    this.#turn.quiescence.park(call, {
      kind: "actor",
      callee,
      ...(until !== undefined && { until }),
    });
  }

  #refused(ask: OpenAsk, thrown: unknown): void {
    const { code, message, details } = toAgentError(thrown);
    const issues = (details.issues ?? []).map((issue) => `${issue.path} ${issue.message}`.trim());
    const text = issues.length === 0 ? message : `${message}: ${issues.join("; ")}`;
    const isTell = ask.sent.mode === "tell" && this.#isWanted(ask);
    this.#settle(ask, { ok: false, code: REFUSALS[code] ?? "tool_error", message: text });
    // The code of the turn may ignore the refusal, so the tell is kept as a dead letter.
    if (isTell) {
      const { id: event, callee } = ask.sent;
      this.#turn.recorder.outbox({ requestId: callee.request_id, kind: "dead", event });
    }
  }

  /** Records the outcome, now or when the replayed code has made the call. */
  #settle(ask: OpenAsk, given: Outcome): void {
    const { call } = ask;
    if (call === undefined) {
      ask.outcome ??= given;
      return;
    }
    const { calls } = this.#turn;
    const outcome = given.ok ? { ...given, text: cutResult(given.text ?? "") } : given;
    this.#close(ask);
    if (calls.accepts(call)) calls.settle(call, outcome, toToolEnd(call, outcome));
  }

  #close(ask: OpenAsk): void {
    this.#asks.delete(ask.sent.tool_call_id);
    ask.reached?.resolve();
  }

  /** Has the other actor cancel an ask. A tell is only not sent again. */
  #recall({ sent, posted }: OpenAsk): void {
    if (!posted || sent.mode !== "ask") return;
    this.#turn.recorder.outbox(toCancel(sent));
  }
}

/** The entry of the outbox that cancels an ask. */
export function toCancel({ id, callee }: ActorCallEvent): {
  readonly requestId: RequestId;
  readonly kind: "cancel";
  readonly event: number;
} {
  return { requestId: callee.request_id, kind: "cancel", event: id };
}

/** An ask or a tell without an outcome in the log. */
interface OpenAsk {
  readonly sent: ActorCallEvent;
  /** The call; absent until the replayed code has made it. */
  call: OpenCall | undefined;
  /** The outcome, if it came before the replayed code has made the call. */
  outcome: Outcome | undefined;
  /** For those who wait until the outcome is recorded. */
  reached: PromiseWithResolvers<void> | undefined;
  /** Whether it may have been sent. */
  posted: boolean;
  /** Whether the other actor has it in its log. */
  isAccepted: boolean;
  /** Whether the turn is parked on it. */
  isParked: boolean;
}

function newAsk(sent: ActorCallEvent, posted: boolean): OpenAsk {
  return {
    sent,
    call: undefined,
    outcome: undefined,
    reached: undefined,
    posted,
    isAccepted: false,
    isParked: false,
  };
}

/** How refusals of a request appear to the code that made it. */
const REFUSALS: Readonly<Record<string, ToolErrorCode>> = {
  invalid_request: "invalid_input",
  unprocessable: "invalid_input",
  not_found: "invalid_input",
  too_large: "too_large",
  too_deep: "too_deep",
  would_deadlock: "would_deadlock",
  not_accepted: "not_accepted",
  stopped: "stopped",
  overloaded: "overloaded",
  unavailable: "unavailable",
  gone: "gone",
  timeout: "timeout",
} satisfies Partial<Record<AgentError["code"], ToolErrorCode>>;

const DONE = Promise.resolve();
