import type { EventType } from "../protocol/events/event-body.ts";
import { eventTypes } from "../protocol/events/events.ts";
import type { Event } from "../protocol/events/events.ts";
import type { Usage } from "../protocol/events/outcome-codes.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import { isObject } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import { placeOfRequest, spanIdOf } from "../shared/trace-context.ts";
import type { RequestPlace } from "../shared/trace-context.ts";
import { RunFold } from "../view/fold.ts";
import type { CallView, Change, MachineStep, RunView, TurnView } from "../view/run-view.ts";
import { ERROR_TYPE, GEN_AI, OWN_PROVIDER, TROUPE, UNKNOWN_PROVIDER, toProvider } from "./conventions.ts";
import type { AttributeValue, Attributes, ContentOption, LogSpan, SpanEvent } from "./span.ts";

/** They are the largest part of a log, and no span needs them. */
const TEXTS: ReadonlySet<string> = new Set(["TextOutput", "ReasoningOutput", "ToolTextOutput", "Custom"]);

/** The types of events from which spans are made; the others need not be read. */
export const SPAN_EVENTS: readonly EventType[] = eventTypes.filter((type) => !TEXTS.has(type));

/**
 * Makes the spans of a run from its events. A span is made when the event comes that ends it, and all that it has follows from the
 * events up to that one: every process makes the same spans, before and after a restart.
 */
export class SpanFold {
  readonly #runId: RunId;
  readonly #content: ContentOption;
  #fold = new RunFold();
  /** The turns whose start was seen and that are open. */
  readonly #open = new Map<RequestId, OpenTurn>();
  /** The attempts of the calls that are made again, by the key of the call. */
  readonly #attempts = new Map<string, Attempt>();
  readonly #sleeps = new Set<string>();
  #base = 0;

  constructor(runId: RunId, content: ContentOption = "none") {
    this.#runId = runId;
    this.#content = content;
  }

  /** The event after which a fold can begin that makes the same spans from then on: no turn was open at it. */
  get base(): number {
    return this.#base;
  }

  /** Adds the next event of the run. Returns the spans that it has ended. */
  add(event: Event): readonly LogSpan[] {
    const { request_id: requestId, type } = event;
    if (TEXTS.has(type)) return NONE;
    if (requestId !== null && type !== "RequestStarted" && !this.#open.has(requestId)) return NONE;
    const changes = this.#fold.take(event);
    const spans: LogSpan[] = [];
    if (type === "RequestStarted") this.#begin(event);
    const turn = requestId === null ? undefined : this.#open.get(requestId);
    if (turn !== undefined) {
      for (const change of changes) this.#note(change, event, turn, spans);
      this.#endSleeps(event, turn, spans);
      if (type === "RequestRestarted") this.#restart(event, turn, spans);
      this.#hold(event, turn, spans);
      if (turn.view.outcome !== undefined) this.#open.delete(turn.view.requestId);
    }
    if (this.#open.size === 0) this.#reset(event.id);
    // What a fork has taken over is in the traces of the other run.
    return event.forked_from === undefined ? spans : NONE;
  }

  get #view(): RunView {
    return this.#fold.view;
  }

  #begin({ request_id: requestId, ts }: Event): void {
    const view = this.#view.turns.findLast((turn) => turn.requestId === requestId);
    // A request whose turn is done again has one start.
    if (view === undefined || requestId === null || this.#open.has(requestId)) return;
    const place = placeOfRequest(this.#runId, requestId, view.trace);
    this.#open.set(requestId, { view, place, fromMs: Date.parse(ts), attempt: 1, held: undefined });
  }

  /** Forgets the turns that have ended: a long run needs no more memory than its longest turn. */
  #reset(id: number): void {
    this.#base = id;
    if (this.#view.turns.length === 0) return;
    this.#fold = new RunFold();
    this.#attempts.clear();
    this.#sleeps.clear();
  }

  #note(change: Change, event: Event, turn: OpenTurn, spans: LogSpan[]): void {
    switch (change.type) {
      case "call":
        if (change.call.kind === "sleep") this.#sleeps.add(change.call.key);
        break;
      case "attempt":
        this.#retry(change.call, event, turn, spans);
        break;
      case "rest": {
        const { key, attempt, error = "", errorCode = "model_error", startedAt } = change.call;
        const before = this.#attempts.get(key)?.fromMs ?? Date.parse(startedAt);
        const end = { atMs: Date.parse(event.ts), error, code: errorCode };
        this.#attempts.set(key, { number: attempt, fromMs: before, end });
        break;
      }
      case "result":
        this.#end(change.call.key, event, turn, spans);
        break;
      case "answer":
      case "expiry":
        this.#end(change.wait.call, event, turn, spans);
        break;
      case "end":
        this.#end(change.turn.root, event, turn, spans);
        break;
      default:
    }
  }

  /** Makes the span of the attempt that a new one follows. Nothing tells when an attempt ended that was interrupted. */
  #retry(call: CallView, event: Event, turn: OpenTurn, spans: LogSpan[]): void {
    const { key, attempt, startedAt } = call;
    const known = this.#attempts.get(key);
    const { number, fromMs, end } = known ?? {
      number: attempt - 1,
      fromMs: Date.parse(startedAt),
      end: undefined,
    };
    const atMs = Date.parse(event.ts);
    this.#attempts.set(key, { number: attempt, fromMs: atMs, end: undefined });
    if (this.#isElsewhere(call)) return;
    spans.push(
      this.#attemptSpan(turn, call.callId, {
        number,
        fromMs,
        toMs: end?.atMs ?? atMs,
        error: end?.error ?? "the attempt was interrupted",
        code: end?.code ?? "interrupted",
      }),
    );
  }

  /** Makes the span of a turn that has failed and is done again. */
  #restart(event: Event, turn: OpenTurn, spans: LogSpan[]): void {
    if (event.type !== "RequestRestarted" || event.depth > 0) return;
    const { error } = event;
    const toMs = Date.parse(event.ts);
    spans.push(
      this.#attemptSpan(turn, "", {
        number: turn.attempt,
        fromMs: turn.fromMs,
        toMs,
        error: error.message,
        code: error.code,
      }),
    );
    turn.attempt += 1;
    turn.fromMs = event.until === undefined ? toMs : Date.parse(event.until);
  }

  #attemptSpan({ view, place }: OpenTurn, callId: string, made: MadeAttempt): LogSpan {
    const { requestId } = view;
    const { number, fromMs, toMs, error, code } = made;
    return {
      ...this.#placeOf(place, requestId, `${callId}#${number}`),
      name: `attempt ${number}`,
      parentSpanId: spanIdOf(this.#runId, requestId, callId),
      kind: "internal",
      startMs: fromMs,
      endMs: Math.max(fromMs, toMs),
      attributes: { ...this.#common(requestId), [TROUPE.attempt]: number, [ERROR_TYPE]: code },
      events: [],
      links: [],
      error,
    };
  }

  /** Makes the span of a time in which no served code could continue the turn. */
  #hold(event: Event, turn: OpenTurn, spans: LogSpan[]): void {
    const { held } = turn.view;
    const { held: before } = turn;
    turn.held = held;
    if (before === undefined || held?.since === before.since) return;
    const { requestId } = turn.view;
    spans.push({
      ...this.#placeOf(turn.place, requestId, `held ${before.since}`),
      name: `held ${before.code}`,
      parentSpanId: spanIdOf(this.#runId, requestId),
      kind: "internal",
      startMs: Date.parse(before.since),
      endMs: Math.max(Date.parse(before.since), Date.parse(event.ts)),
      attributes: { ...this.#common(requestId), [ERROR_TYPE]: before.code },
      events: [],
      links: [],
      error: before.message,
    });
  }

  /** Sleeps have no event for their end: they are over with the next event of their turn. */
  #endSleeps(event: Event, turn: OpenTurn, spans: LogSpan[]): void {
    for (const key of this.#sleeps) {
      const call = this.#view.calls.get(key);
      if (call?.requestId !== turn.view.requestId || call.outcome === undefined) continue;
      this.#sleeps.delete(key);
      if (call.endedId === event.id && !this.#isElsewhere(call)) spans.push(this.#toSpan(call, turn));
    }
  }

  /** Makes the span of a call that has ended, behind those of the calls that have ended with it. */
  #end(key: string, event: Event, turn: OpenTurn, spans: LogSpan[]): void {
    const call = this.#view.calls.get(key);
    if (call?.endedId !== event.id || this.#isElsewhere(call)) return;
    for (const child of call.children) this.#end(child, event, turn, spans);
    this.#attempts.delete(key);
    if (!this.#sleeps.has(key)) spans.push(this.#toSpan(call, turn));
  }

  /** Whether a call was made on another server, which has its span. */
  #isElsewhere({ parent }: CallView): boolean {
    for (let above = parent; above !== undefined;) {
      const call = this.#view.calls.get(above);
      if (call?.kind === "remote") return true;
      above = call?.parent;
    }
    return false;
  }

  #toSpan(call: CallView, turn: OpenTurn): LogSpan {
    const { place } = turn;
    const {
      requestId,
      callId,
      kind,
      parent,
      startedAt,
      endedAt = startedAt,
      outcome,
      errorCode,
      error,
    } = call;
    const above = parent === undefined ? undefined : this.#view.calls.get(parent);
    const { parent: caller, link } = place;
    const startMs = Date.parse(startedAt);
    const isFailed = outcome === "error";
    const { name, role, attributes } = this.#describe(call, turn);
    return {
      ...this.#placeOf(place, requestId, callId),
      name,
      ...(above !== undefined && { parentSpanId: spanIdOf(this.#runId, requestId, above.callId) }),
      ...(kind === "turn" && caller !== undefined && { parentSpanId: caller.spanId, isParentRemote: true }),
      kind: role,
      startMs,
      endMs: Math.max(startMs, Date.parse(endedAt)),
      attributes: {
        ...attributes,
        ...this.#common(requestId),
        ...(callId !== "" && { [TROUPE.call]: callId }),
        ...(outcome !== undefined && { [TROUPE.outcome]: outcome }),
        ...(call.attempt > 1 && { [TROUPE.attempts]: call.attempt }),
        ...(isFailed && { [ERROR_TYPE]: errorCode ?? "_OTHER" }),
      },
      events: this.#eventsOf(call),
      links: kind === "turn" && link !== undefined ? [link] : [],
      ...(isFailed && { error: error ?? errorCode ?? "failed" }),
    };
  }

  #placeOf({ traceId, isSampled }: RequestPlace, requestId: RequestId, callId: string): SpanIds {
    return { traceId, isSampled, spanId: spanIdOf(this.#runId, requestId, callId) };
  }

  #common(requestId: RequestId): Attributes {
    const runId = this.#runId;
    return { [GEN_AI.conversation]: runId, [TROUPE.run]: runId, [TROUPE.request]: requestId };
  }

  #describe(call: CallView, turn: OpenTurn): Described {
    const { kind, name, callId, functionName = name } = call;
    switch (kind) {
      case "turn":
        return this.#describeTurn(call, turn.view);
      case "agent":
        return this.#describeAgent(call);
      case "model":
        return this.#describeCompletion(call);
      case "remote":
        return { ...this.#describeAgent(call), role: "client" };
      case "actor":
        return describeActor(call);
      case "wait":
        return this.#describeWait(call);
      case "sleep":
        return {
          name: "sleep",
          role: "internal",
          attributes: call.until === undefined ? {} : { [TROUPE.until]: call.until },
        };
      case "call":
      case "tool":
      case "effect":
        return {
          name: `execute_tool ${functionName}`,
          role: "internal",
          attributes: {
            [GEN_AI.operation]: "execute_tool",
            [GEN_AI.tool]: functionName,
            [GEN_AI.toolType]: "function",
            [GEN_AI.toolCall]: callId,
            ...given(TROUPE.server, call.callee?.server),
            ...given(TROUPE.retryOf, call.retryOf),
            ...this.#said(GEN_AI.toolArguments, "arguments", functionName, call.args),
            ...this.#said(GEN_AI.toolResult, "result", functionName, call.result),
          },
        };
      default: {
        const never: never = kind;
        return never;
      }
    }
  }

  #describeTurn(call: CallView, turn: TurnView): Described {
    const { agent, operation, agentVersion, times, usage, outcome } = turn;
    const isWorkflow = this.#view.machines.has(call.key);
    const does = isWorkflow ? "invoke_workflow" : "invoke_agent";
    const answer = turn.output ?? turn.result ?? undefined;
    return {
      name: `${does} ${agent}`,
      role: "internal",
      attributes: {
        [GEN_AI.operation]: does,
        [GEN_AI.provider]: OWN_PROVIDER,
        [GEN_AI.agent]: agent,
        ...(isWorkflow && { [GEN_AI.workflow]: agent }),
        ...given(GEN_AI.agentVersion, agentVersion),
        [TROUPE.operation]: operation,
        ...(times.queuedMs > 0 && { [TROUPE.queuedMs]: times.queuedMs }),
        ...(outcome !== undefined && { [GEN_AI.finishReasons]: [toFinishReason(outcome)] }),
        ...toUsage(usage),
        ...this.#said(GEN_AI.inputMessages, "input", agent, turn.input),
        ...this.#said(GEN_AI.outputMessages, "output", agent, answer),
      },
    };
  }

  #describeAgent(call: CallView): Described {
    const { name, args, result, text } = call;
    const isWorkflow = this.#view.machines.has(call.key);
    const does = isWorkflow ? "invoke_workflow" : "invoke_agent";
    return {
      name: `${does} ${name}`,
      role: "internal",
      attributes: {
        [GEN_AI.operation]: does,
        [GEN_AI.provider]: OWN_PROVIDER,
        [GEN_AI.agent]: name,
        ...(isWorkflow && { [GEN_AI.workflow]: name }),
        ...given(TROUPE.operation, call.functionName),
        ...given(TROUPE.retryOf, call.retryOf),
        ...this.#said(GEN_AI.inputMessages, "input", name, args),
        ...this.#said(GEN_AI.outputMessages, "output", name, result ?? text),
      },
    };
  }

  #describeCompletion(call: CallView): Described {
    const { name, usage = {}, result, outcome } = call;
    const slash = name.indexOf("/");
    const model = name.slice(slash + 1);
    return {
      name: `chat ${model}`,
      role: "client",
      attributes: {
        [GEN_AI.operation]: "chat",
        [GEN_AI.provider]: slash < 1 ? UNKNOWN_PROVIDER : toProvider(name.slice(0, slash)),
        [GEN_AI.requestModel]: model,
        ...(outcome === "success" && { [GEN_AI.responseModel]: model }),
        [GEN_AI.finishReasons]: [finishReasonOf(result) ?? toFinishReason(outcome ?? "success")],
        ...toUsage(usage),
        ...this.#said(GEN_AI.outputMessages, "output", name, result),
      },
    };
  }

  #describeWait(call: CallView): Described {
    const wait = this.#view.waits.findLast((one) => one.call === call.key);
    const approved = isObject(wait?.approval) ? wait.approval["tool"] : undefined;
    const tool = wait?.tool?.name ?? (typeof approved === "string" ? approved : undefined);
    return {
      name: `wait ${tool ?? call.name}`,
      role: "internal",
      attributes: {
        ...(wait && { [TROUPE.wait]: wait.waitId, [TROUPE.waitState]: wait.state }),
        ...given(TROUPE.waitTool, tool),
      },
    };
  }

  /** The transitions of the machine of an actor, and those of the machines inside. */
  #eventsOf({ key, startedId }: CallView): readonly SpanEvent[] {
    const { machines } = this.#view;
    if (machines.size === 0) return NONE;
    const events: SpanEvent[] = [];
    for (const [place, { steps }] of machines) {
      if (place !== key && !place.startsWith(`${key} `)) continue;
      for (const step of steps) if (step.eventId >= startedId) events.push(toStateEvent(step));
    }
    return events;
  }

  #said(
    attribute: string,
    kind: "input" | "output" | "arguments" | "result",
    name: string,
    value: Json | undefined,
  ): Attributes {
    const content = this.#content;
    if (content === "none" || value === undefined) return {};
    const said = content === "all" ? value : content({ kind, name, value });
    return said === undefined ? {} : { [attribute]: toContent(kind, said) };
  }
}

/** A turn that is open. */
interface OpenTurn {
  readonly view: TurnView;
  readonly place: RequestPlace;
  /** Since when it is done this time, and which time that is. */
  fromMs: number;
  attempt: number;
  held: TurnView["held"];
}

/** The newest attempt of a call. */
interface Attempt {
  readonly number: number;
  readonly fromMs: number;
  /** Set if it has failed, and the call rests. */
  readonly end: { readonly atMs: number; readonly error: string; readonly code: string } | undefined;
}

interface MadeAttempt {
  readonly number: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly error: string;
  readonly code: string;
}

type SpanIds = Pick<LogSpan, "traceId" | "spanId" | "isSampled">;

type Described = Pick<LogSpan, "name" | "attributes"> & { readonly role: LogSpan["kind"] };

const NONE: readonly never[] = [];

/** An ask or a tell of another actor, which has the trace that follows in its run. */
function describeActor({ mode = "ask", name, functionName = name, callee, retryOf }: CallView): Described {
  return {
    name: `${mode} ${functionName}`,
    role: mode === "tell" ? "producer" : "client",
    attributes: {
      [GEN_AI.agent]: name,
      ...given(TROUPE.calleeRequest, callee?.request_id),
      ...given(TROUPE.calleeRun, callee?.run_id),
      ...given(TROUPE.calleeKey, callee?.key),
      ...given(TROUPE.retryOf, retryOf),
    },
  };
}

function toUsage(usage: Usage): Attributes {
  return {
    ...given(GEN_AI.inputTokens, usage.input_tokens),
    ...given(GEN_AI.cachedInputTokens, usage.cached_input_tokens),
    ...given(GEN_AI.outputTokens, usage.output_tokens),
    ...given(GEN_AI.reasoningTokens, usage.reasoning_tokens),
    ...given(TROUPE.cost, usage.cost),
    ...given(TROUPE.interruptedAttempts, usage.interrupted_attempts),
  };
}

function toStateEvent({ at, from, event, to }: MachineStep): SpanEvent {
  const attributes = {
    [TROUPE.from]: from,
    ...given(TROUPE.cause, event),
    ...given(TROUPE.to, to),
  };
  return { name: "state", atMs: Date.parse(at), attributes };
}

/** Inputs and outputs as messages of the conventions, everything else as it is; encoded, because an attribute has no parts. */
function toContent(kind: "input" | "output" | "arguments" | "result", value: Json): string {
  if (kind === "arguments" || kind === "result") return JSON.stringify(value);
  const content = typeof value === "string" ? value : JSON.stringify(value);
  const part = { type: "text", content };
  if (kind === "input") return JSON.stringify([{ role: "user", parts: [part] }]);
  return JSON.stringify([{ role: "assistant", parts: [part], finish_reason: "stop" }]);
}

/** Why a model has stopped, where its result says so. */
function finishReasonOf(result: Json | undefined): string | undefined {
  const reason = isObject(result) ? (result["finishReason"] ?? result["finish_reason"]) : undefined;
  return typeof reason === "string" ? reason : undefined;
}

function toFinishReason(outcome: "success" | "error" | "canceled"): string {
  return outcome === "success" ? "stop" : outcome;
}

function given(name: string, value: AttributeValue | undefined): Attributes {
  return value === undefined ? {} : { [name]: value };
}
