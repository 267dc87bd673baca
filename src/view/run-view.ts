import type { By, Callee, CallMode, RequestTrace } from "../protocol/actors.ts";
import type { ClientToolCall, Questions } from "../protocol/events/event-body.ts";
import type { TurnError, Usage, FinishReason } from "../protocol/events/outcome-codes.ts";
import type { HeldTurn } from "../protocol/answers/status.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";

/** The state of a run as of one of its events. It is plain data and never changes. */
export interface RunView {
  readonly runId: RunId;
  /** The agent of the first request; empty before it. */
  readonly agent: string;
  /** The id of the newest event. */
  readonly head: number;
  /** `waiting` if every open call of the started turn is parked and at least one is a wait. */
  readonly status: "idle" | "running" | "waiting";
  /** Present if the run was created without a request. `continues`: the run that its actor had before. */
  readonly created?: { readonly input: Json; readonly metadata: JsonObject; readonly continues?: RunId };
  /** The run in which its actor continues; present if the run was renewed. */
  readonly renewedTo?: RunId;
  /** Since when its actor takes no requests, and why; absent unless its supervisor has stopped it. */
  readonly stopped?: { readonly since: string; readonly error?: TurnError } | undefined;
  /** In the order of their starts. */
  readonly turns: readonly TurnView[];
  /** What happened, at all depths, in order. */
  readonly parts: readonly PartView[];
  /** All calls by `callKey`: the turns themselves, calls, completions, waits and sleeps. */
  readonly calls: ReadonlyMap<string, CallView>;
  /** All waits, oldest first, also those that are closed. */
  readonly waits: readonly WaitView[];
  /**
   * The statecharts of machine agents, by the `callKey` of the actor; for a machine inside the machine, that key with a
   * space and its place.
   */
  readonly machines: ReadonlyMap<string, MachineView>;
  readonly files: readonly FileView[];
  readonly usage: Usage;
  readonly times: Times;
  /** The texts that may grow, by the `callKey` of the actor that speaks. */
  readonly speaking: ReadonlyMap<string, readonly OpenText[]>;
}

/** Where the time of ended phases went, in milliseconds. The current phase of an open turn is not in it. */
export interface Times {
  readonly workedMs: number;
  readonly waitedMs: number;
  readonly sleptMs: number;
  /** From acceptance to start. */
  readonly queuedMs: number;
}

/** What a turn does at the moment. A turn that waits for another actor is `running`. */
export type Phase = "running" | "waiting" | "sleeping" | "ended";

/** A turn of a run as of an event. */
export interface TurnView {
  readonly requestId: RequestId;
  readonly agent: string;
  readonly operation: string;
  readonly input: Json;
  readonly attachments: readonly ArtifactId[];
  /** The `callKey` of the turn itself, the root of its calls. */
  readonly root: string;
  /** The ids of its first and last event. */
  readonly startedId: number;
  readonly endedId?: number;
  readonly acceptedAt?: string;
  /** The version of the agent that started it, if the agent has one. */
  readonly agentVersion?: string;
  /** The trace that its request belongs to, if it came with one. */
  readonly trace?: RequestTrace;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly phase: Phase;
  /** The time at which the phase began. */
  readonly since: string;
  /** Why no code that is served can continue it, if it is held. Its phase is as before: it may take answers. */
  readonly held?: HeldTurn | undefined;
  /** Since when its cleanup steps run, because it was canceled or has failed; absent if none run. */
  readonly cancelingSince?: string | undefined;
  /** Who canceled it, if the log says so. */
  readonly canceledBy?: By;
  /** How often it was done again after a failure, and why and when the last time; absent for never. */
  readonly restarted?: RestartView;
  readonly outcome?: FinishReason;
  readonly error?: TurnError;
  readonly result?: string | null;
  /** Whether the result is only the beginning of a longer text. */
  readonly isResultCut?: boolean;
  readonly output?: Json;
  readonly usage: Usage;
  readonly times: Times;
  readonly open: OpenCallCounts;
}

/** A turn that its supervisor has had done again. */
export interface RestartView {
  readonly times: number;
  readonly at: string;
  readonly error?: TurnError;
  /** When it begins again, if there is a pause before. */
  readonly until?: string;
}

/** The open calls of a turn that have no open calls themselves, by what they do. */
export interface OpenCallCounts {
  readonly working: number;
  readonly waits: number;
  /** Asks of other actors. */
  readonly asks: number;
  /** The keys of the sleeps, and of the completions whose model is away. */
  readonly sleeps: readonly string[];
}

/** `turn` is the root of a turn's calls. `call` is a call of an unknown kind. */
export type CallKind = "turn" | "call" | "model" | "wait" | "sleep" | Callee["kind"];

/** A call of an agent, a tool, an effect, a model or a wait, as of an event. */
export interface CallView {
  readonly key: string;
  readonly requestId: RequestId;
  /** Empty for the turn itself. */
  readonly callId: CallId;
  readonly kind: CallKind;
  /** The name of the agent, tool or model. */
  readonly name: string;
  /** The caller's name for it, with the operation, if the caller has one. */
  readonly functionName?: string;
  /** The agent that made the call. */
  readonly caller: string;
  readonly depth: number;
  /** The key of the call in which it was made; absent for the turn itself. */
  readonly parent?: string;
  /** The keys of its calls, in order. */
  readonly children: readonly string[];
  /** The number of its open calls. */
  readonly openCalls: number;
  readonly args?: Json;
  /** Above 1 after a retry by the server. */
  readonly attempt: number;
  /** The key of the call that this one retries. */
  readonly retryOf?: string;
  /** What it calls, as the event says it; it names another actor's run and request. */
  readonly callee?: Callee;
  /** How an actor is called. */
  readonly mode?: CallMode;
  readonly startedId: number;
  readonly endedId?: number;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** For a sleep its end; for a completion whose model is away, the next attempt. */
  readonly until?: string;
  /** Absent while the call is open. */
  readonly outcome?: FinishReason;
  readonly errorCode?: string;
  /** The text of its error; while it rests, that of its last attempt. */
  readonly error?: string;
  readonly result?: Json;
  readonly text?: string;
  /** What a tool reported while it worked. */
  readonly progress: string;
  readonly usage?: Usage;
}

/** The fields that all parts have. */
interface PartBase {
  /** The id of its first event. */
  readonly id: number;
  /** `null` for an upload, and for a message to an idle run. */
  readonly requestId: RequestId | null;
  /** Who speaks. */
  readonly agent: string;
  readonly depth: number;
  /** The `callKey` of the actor that speaks or is spoken to. */
  readonly actor: string;
  readonly at: string;
}

/**
 * A part of what a run shows: an input, a text, reasoning, a call of a tool or of a child, a question, its answer or its
 * expiry, a file, a message that was received, or the end of a turn. Parts name calls, waits and turns, whose state is
 * in the view.
 */
export type PartView = PartBase &
  (
    | { readonly kind: "input"; readonly operation: string; readonly input: Json }
    | {
        readonly kind: "text" | "reasoning";
        readonly text: string;
        readonly branch?: string;
        /** The completion that it comes from. */
        readonly completion?: CallId;
        readonly attempt: number;
      }
    | { readonly kind: "call"; readonly call: string }
    | { readonly kind: "wait"; readonly waitId: number }
    | { readonly kind: "answer"; readonly waitId: number; readonly values: JsonObject }
    | { readonly kind: "expiry"; readonly waitId: number }
    | { readonly kind: "file"; readonly file: FileView }
    | {
        readonly kind: "received";
        readonly messageId: string;
        readonly name: string;
        readonly body: Json;
        readonly sender?: Json;
        /** Who sent it, if a client did and the log says so. */
        readonly by?: By;
      }
    | { readonly kind: "end"; readonly outcome: FinishReason }
  );

/** A text or a piece of reasoning. */
export type TextPart = Extract<PartView, { readonly kind: "text" | "reasoning" }>;

/** A text that grows with the next event of its kind, branch and completion. */
export interface OpenText {
  readonly kind: TextPart["kind"];
  readonly branch: string | undefined;
  readonly completion: CallId | undefined;
  /** The id of the part. */
  readonly part: number;
}

/**
 * What an event changed in a view. Its objects are those of the view after the event, and may change with the next one.
 * Calls, waits and texts inside a call or turn that ends are over with it and are not reported one by one.
 */
export type Change =
  /** A turn began. */
  | { readonly type: "input"; readonly turn: TurnView }
  /** A text or reasoning began, if the id of the part is that of the event, or grew by `text`. */
  | { readonly type: "text"; readonly part: TextPart; readonly text: string }
  /** A call of a tool, child or model, or a sleep, began. */
  | { readonly type: "call"; readonly call: CallView }
  /** A call was made again after an interruption. What its earlier attempts said is no longer in the view. */
  | { readonly type: "attempt"; readonly call: CallView }
  /** The model of a completion is away: its `until` is the next attempt, and its `error` says why. */
  | { readonly type: "rest"; readonly call: CallView }
  /** A tool reported `text` while it works. */
  | { readonly type: "progress"; readonly call: CallView; readonly text: string }
  /** A call of a tool, child or model ended, with a result or an error. */
  | { readonly type: "result"; readonly call: CallView }
  | { readonly type: "wait"; readonly wait: WaitView }
  | { readonly type: "answer"; readonly wait: WaitView }
  | { readonly type: "expiry"; readonly wait: WaitView }
  | { readonly type: "file"; readonly part: Extract<PartView, { readonly kind: "file" }> }
  | { readonly type: "received"; readonly part: Extract<PartView, { readonly kind: "received" }> }
  /** A turn ended. */
  | { readonly type: "end"; readonly turn: TurnView };

/** A question as of an event. */
export interface WaitView {
  /** The id of the event that asks. */
  readonly waitId: number;
  readonly requestId: RequestId;
  /** Who asks. */
  readonly agent: string;
  readonly depth: number;
  /** The `callKey` of the wait. */
  readonly call: string;
  /** The `callKey` of the actor that asks. */
  readonly actor: string;
  readonly questions: Questions;
  readonly schema?: JsonObject;
  /** The tool call that is to be approved. */
  readonly approval?: Json;
  /** The call of a tool that the client is to run. */
  readonly tool?: ClientToolCall;
  /** The roles that may answer; absent if everyone may who sees it. */
  readonly approvers?: readonly string[];
  /** What is asked, if this reader may not answer; there are no `questions` and no schema then. */
  readonly question?: string;
  readonly expiresAt?: string;
  /** `ended` if its turn or call ended before an answer. */
  readonly state: "open" | "answered" | "expired" | "ended";
  readonly from: string;
  readonly to?: string;
  readonly answer?: JsonObject;
  /** The event that answered it. */
  readonly answeredId?: number;
  /** The id that the client chose for its answer. */
  readonly resumeId?: string;
  /** Who answered. */
  readonly by?: By;
}

/** The statechart of one actor, or of a machine inside its machine. */
export interface MachineView {
  readonly agent: string;
  /** The place of a machine inside the machine of its actor: the ids of actors that lead to it, joined by `/`. */
  readonly machine?: string;
  /** The state value, as XState writes it. */
  readonly value: Json;
  readonly status: "active" | "done" | "error";
  /** Which version of the chart it is. */
  readonly chart?: string;
  /** All transitions so far, oldest first. */
  readonly steps: readonly MachineStep[];
}

/** A transition of a statechart. */
export interface MachineStep {
  /** The event that reports it. */
  readonly eventId: number;
  readonly at: string;
  readonly from: string;
  readonly event?: string;
  readonly to?: string;
}

/** A file of a run. */
export interface FileView {
  readonly artifactId: ArtifactId;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly url: string;
  /** Whether an agent made it; otherwise a client uploaded it. */
  readonly isGenerated: boolean;
  readonly eventId: number;
}

/** The key of a call in `RunView.calls`; without a call id that of the turn itself. */
export function callKey(requestId: string, callId: string = ""): string {
  if (requestId !== last.requestId || callId !== last.callId)
    last = { requestId, callId, key: `${requestId}/${callId}` };
  return last.key;
}

/** The newest key. Most events have the one of the event before, and a known text is found faster in a map. */
let last = { requestId: "", callId: "", key: "/" };

/** The call of the asked agent itself in which a call was made. */
export function rootCall({ calls }: Pick<RunView, "calls">, call: CallView): CallView {
  let root = call;
  while (root.depth > 1) {
    const parent = root.parent === undefined ? undefined : calls.get(root.parent);
    if (parent === undefined) break;
    root = parent;
  }
  return root;
}

/** The sign of each kind of call, in texts and pictures. */
export const callSigns: Readonly<Record<CallKind, string>> = {
  turn: "●",
  agent: "●",
  actor: "●",
  call: "○",
  tool: "○",
  model: "◇",
  effect: "□",
  remote: "⇄",
  wait: "?",
  sleep: "◌",
};
