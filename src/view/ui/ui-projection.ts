import type { Event } from "../../protocol/events/events.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { RunFold } from "../fold.ts";
import { rootCall } from "../run-view.ts";
import type { CallView, Change, PartView, TextPart, TurnView, WaitView } from "../run-view.ts";
import { approvalKeyOf, toQuestion } from "../to-answer.ts";
import { mergeUsage } from "../turns.ts";
import type { UiChunk, UiMessageChunk, UiMetadata, UiWaitData } from "./chunks.ts";
import { approvalIdOf, isTextAnswer, messageIdOf, waitToolId, WAIT_TOOL } from "./names.ts";

/** A text or reasoning that is open in a message. */
interface OpenPart {
  readonly kind: TextPart["kind"];
  readonly actor: string;
  readonly completion: CallId | undefined;
  readonly branch: string | undefined;
}

/** A chunk of the current step of a message, and the completion that has said it. */
interface StepChunk {
  readonly chunk: UiChunk;
  readonly completion: CallId | undefined;
}

/** What a called agent or tool has said. */
interface Said {
  readonly call: CallView;
  text: string;
  /** The length of the text that was last sent. */
  sentLength: number;
}

/** A message while it is made. */
interface OpenMessage {
  readonly id: string;
  /** By the id of the part. */
  readonly texts: Map<number, OpenPart>;
  /** The calls that it shows, and whether each is open. */
  readonly calls: Map<CallId, boolean>;
  readonly said: Map<CallId, Said>;
  /** What the current step has said while completions were open, which one of them may have to say again. */
  step: StepChunk[];
  isStepEmpty: boolean;
  /** Whether the current step has nothing but questions. */
  asks: boolean;
  hasText: boolean;
}

/**
 * Turns the events of a request into the chunks of the assistant's messages that answer it, as the AI SDK streams them. The
 * first message begins with the request. An answer to a question continues the message that shows the question, unless a person
 * typed it as a message of their own: then it begins another one. It needs all events of the request from its start. Equal
 * events give equal chunks.
 */
export class UiProjection {
  readonly #fold = new RunFold();
  readonly #messages = new Map<string, OpenMessage>();
  /** The message that shows each question. */
  readonly #shownIn = new Map<number, OpenMessage>();
  /** The completions of the agent itself that are open. */
  readonly #completions = new Set<CallId>();
  #current: OpenMessage | undefined;
  #usage: Usage = {};
  /** What the agent has said in the turn. */
  #said = "";
  #hasEnded = false;

  /** The id of the newest event. */
  get cursor(): number {
    return this.#fold.view.head;
  }

  /** Whether the turn has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Adds the next event of the request, and returns the chunks that it causes. */
  take(event: Event): readonly UiMessageChunk[] {
    const changes = this.#fold.take(event);
    const [first, ...others] = changes;
    const out: UiMessageChunk[] = [];
    // Most events let a text grow, and end none.
    const grows = first?.type === "text" && this.#current?.texts.has(first.part.id) === true;
    if (!grows) this.#endTexts(out);
    if (first !== undefined) this.#add(first, out);
    for (const change of others) this.#add(change, out);
    return out;
  }

  /** The chunks that end a message because its agent waits for an answer. */
  park(messageId: string): readonly UiChunk[] {
    const message = this.#messages.get(messageId);
    if (message === undefined || this.#hasEnded) return [];
    const out: UiMessageChunk[] = [];
    this.#endTexts(out, () => true);
    return [
      ...out.flatMap((one) => (one.messageId === messageId ? one.chunk : [])),
      { type: "finish-step" },
      { type: "message-metadata", messageMetadata: this.#metadata() },
      { type: "finish", finishReason: "tool-calls" },
    ];
  }

  /** The chunk that begins a message, also for a reader that gets only its continuation. */
  start(messageId: string): UiChunk {
    return { type: "start", messageId, messageMetadata: this.#metadata() };
  }

  #add(change: Change, out: UiMessageChunk[]): void {
    switch (change.type) {
      case "input":
        return this.#begin(messageIdOf(change.turn.requestId), out);
      case "text":
        return change.part.depth > 0
          ? this.#addInside(change.part, change.text, out)
          : this.#addText(change.part, change.text, out);
      case "call":
        return this.#addCall(change.call, out);
      case "attempt":
        return this.#repeat(change.call, out);
      case "progress":
        return this.#addSaid(change.call, change.text, out);
      case "result":
        return this.#addResult(change.call, out);
      case "wait":
        return this.#ask(change.wait, out);
      case "answer":
      case "expiry":
        return this.#answer(change.wait, out);
      case "file": {
        const { artifactId, name, sizeBytes, url, mimeType, isGenerated } = change.part.file;
        const troupe = { artifact_id: artifactId, name, size_bytes: sizeBytes };
        if (isGenerated)
          this.#send(out, { type: "file", url, mediaType: mimeType, providerMetadata: { troupe } });
        return undefined;
      }
      case "end":
        return this.#end(change.turn, out);
      case "rest":
      case "received":
        return undefined;
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  #begin(id: string, out: UiMessageChunk[]): void {
    const message: OpenMessage = {
      id,
      texts: new Map(),
      calls: new Map(),
      said: new Map(),
      step: [],
      isStepEmpty: true,
      asks: false,
      hasText: false,
    };
    this.#messages.set(id, message);
    this.#current = message;
    this.#send(out, this.start(id));
    this.#startStep(out);
  }

  #startStep(out: UiMessageChunk[]): void {
    this.#send(out, { type: "start-step" });
    if (this.#current === undefined) return;
    this.#current.step = [];
    this.#current.isStepEmpty = true;
    this.#current.asks = false;
  }

  #nextStep(out: UiMessageChunk[]): void {
    this.#send(out, { type: "finish-step" });
    this.#startStep(out);
  }

  #addText(part: TextPart, text: string, out: UiMessageChunk[]): void {
    const message = this.#current;
    if (message === undefined) return;
    const { id: partId, kind, actor, completion, branch } = part;
    const id = String(partId);
    if (!message.texts.has(partId)) {
      // The thoughts of a completion end where its text begins.
      if (kind === "text")
        this.#endTexts(
          out,
          (open) => open.kind === "reasoning" && open.completion === completion && open.branch === branch,
        );
      message.texts.set(partId, { kind, actor, completion, branch });
      this.#send(out, { type: `${kind}-start`, id }, completion);
    }
    if (kind === "text") {
      message.hasText = true;
      this.#said += text;
    }
    if (text !== "") this.#send(out, { type: `${kind}-delta`, id, delta: text }, completion);
  }

  /** Ends the texts that do not grow any more. */
  #endTexts(out: UiMessageChunk[], isOver: (open: OpenPart, partId: number) => boolean = this.#isOver): void {
    const { texts } = this.#current ?? {};
    if (texts === undefined || texts.size === 0) return;
    for (const [partId, open] of texts) {
      if (!isOver(open, partId)) continue;
      texts.delete(partId);
      this.#send(out, { type: `${open.kind}-end`, id: String(partId) }, open.completion);
    }
  }

  readonly #isOver = ({ actor }: OpenPart, partId: number): boolean =>
    this.#fold.view.speaking.get(actor)?.some(({ part }) => part === partId) !== true;

  /** What a called agent says belongs to its call. */
  #addInside({ kind, actor }: PartView, text: string, out: UiMessageChunk[]): void {
    const call = kind === "text" ? this.#fold.view.calls.get(actor) : undefined;
    if (call !== undefined) this.#addSaid(call, text, out);
  }

  /**
   * Adds to what a called agent or tool has said. Each chunk repeats all of it, so one is sent when it has grown by a quarter; the
   * bytes of all are then at most five times those of the last.
   */
  #addSaid(call: CallView, text: string, out: UiMessageChunk[]): void {
    const message = this.#current;
    if (message === undefined) return;
    const said = message.said.get(call.callId) ?? { call, text: "", sentLength: 0 };
    message.said.set(call.callId, said);
    said.text += text;
    if (said.text.length >= said.sentLength * 1.25) this.#sendSaid(said, out);
  }

  #sendSaid(said: Said, out: UiMessageChunk[]): void {
    const { call, text, sentLength } = said;
    if (text.length === sentLength) return;
    said.sentLength = text.length;
    const data = { agent: call.name, tool_call_id: rootCall(this.#fold.view, call).callId, text };
    this.#send(out, { type: "data-agent", id: call.callId, data });
  }

  /** Only calls of the agent itself are shown. */
  #addCall(call: CallView, out: UiMessageChunk[]): void {
    if (call.depth > 1 || call.kind === "sleep") return;
    if (call.kind === "model") {
      // A step is a completion, so that one that is repeated can be taken back.
      if (this.#completions.size === 0 && this.#current?.isStepEmpty === false) this.#nextStep(out);
      this.#completions.add(call.callId);
      return;
    }
    this.#show(call, out);
  }

  #show({ callId, functionName, name, args = {} }: CallView, out: UiMessageChunk[]): void {
    this.#current?.calls.set(callId, true);
    const toolName = functionName ?? name;
    this.#send(out, { type: "tool-input-available", toolCallId: callId, toolName, input: args, ...OWN });
  }

  /** Takes back what earlier attempts of a completion have said, and shows again what others have said in the step. */
  #repeat(call: CallView, out: UiMessageChunk[]): void {
    const message = this.#current;
    if (message === undefined || call.kind !== "model" || call.depth > 1) return;
    const { step } = message;
    if (!step.some(({ completion }) => completion === call.callId)) return;
    for (const [partId, { completion }] of message.texts)
      if (completion === call.callId) message.texts.delete(partId);
    message.step = [];
    this.#send(out, { type: "reset-step" });
    for (const { chunk, completion } of step)
      if (completion !== call.callId) this.#send(out, chunk, completion);
  }

  #addResult(call: CallView, out: UiMessageChunk[]): void {
    if (call.kind === "model") {
      this.#usage = mergeUsage(this.#usage, call.usage ?? {});
      this.#completions.delete(call.callId);
      return;
    }
    const said = this.#current?.said.get(call.callId);
    if (said !== undefined) this.#sendSaid(said, out);
    if (call.depth > 1 || call.kind === "sleep") return;
    const { callId: toolCallId, outcome, result, text = "", error = "" } = call;
    // Its call is in an earlier message.
    if (this.#current?.calls.has(toolCallId) === false) this.#show(call, out);
    this.#current?.calls.set(toolCallId, false);
    if (outcome === "success")
      this.#send(out, { type: "tool-output-available", toolCallId, output: result ?? text, ...OWN });
    else {
      const errorText = outcome === "canceled" && error === "" ? "canceled" : error;
      this.#send(out, { type: "tool-output-error", toolCallId, errorText, ...OWN });
    }
  }

  #ask(wait: WaitView, out: UiMessageChunk[]): void {
    const { waitId, requestId, questions, approval, approvers, tool } = wait;
    const toolCallId = waitToolId(waitId);
    const input = tool?.args ?? {
      question: toQuestion(wait),
      ...(Object.keys(questions).length > 1 && { questions }),
      ...(approval !== undefined && { approval }),
      ...(approvers && { approvers }),
    };
    const message = this.#current;
    if (message === undefined) return;
    this.#shownIn.set(waitId, message);
    // A page sends its answers when the last step has nothing open, and the call that asks may be.
    if (!message.isStepEmpty && !message.asks) this.#nextStep(out);
    const asks = message.isStepEmpty || message.asks;
    const call = { type: "tool-input-available", toolCallId, input } as const;
    // The part of a tool that the page has is typed, all others are dynamic.
    this.#send(
      out,
      tool ? { ...call, toolName: tool.name } : { ...call, toolName: WAIT_TOOL, dynamic: true },
    );
    if (isApproval(wait))
      this.#send(out, {
        type: "tool-approval-request",
        approvalId: approvalIdOf(requestId, waitId),
        toolCallId,
      });
    else if (hasData(wait)) this.#send(out, toDataChunk(wait));
    message.asks = asks;
  }

  /** Ends a question in the message that shows it, and goes on there or in a new message. */
  #answer(wait: WaitView, out: UiMessageChunk[]): void {
    const shownIn = this.#shownIn.get(wait.waitId);
    const isNew = wait.state === "answered" && isTextAnswer(wait.resumeId);
    if (!isNew && shownIn !== undefined) {
      this.#current = shownIn;
      this.#nextStep(out);
    }
    this.#endWait(wait, out);
    if (isNew) this.#begin(messageIdOf(wait.requestId, this.#fold.view.head), out);
  }

  #endWait(wait: WaitView, out: UiMessageChunk[]): void {
    const message = this.#shownIn.get(wait.waitId);
    if (message === undefined) return;
    const { waitId, requestId, state, answer = {}, tool } = wait;
    const toolCallId = waitToolId(waitId);
    if (state !== "answered") {
      if (hasData(wait)) this.#send(out, toDataChunk(wait), message);
      this.#send(out, { type: "tool-output-error", toolCallId, errorText: ENDED[state] ?? "" }, message);
      return;
    }
    if (tool !== undefined) {
      const { result = null, is_error: isError } = answer;
      const end: UiChunk =
        isError === true
          ? { type: "tool-output-error", toolCallId, errorText: toText(result) }
          : { type: "tool-output-available", toolCallId, output: result };
      this.#send(out, end, message);
      return;
    }
    const isApproved = answer[approvalKeyOf(wait) ?? ""] === true;
    if (isApproval(wait)) {
      const { reason } = answer;
      this.#send(
        out,
        {
          type: "tool-approval-response",
          approvalId: approvalIdOf(requestId, waitId),
          approved: isApproved,
          ...(typeof reason === "string" && { reason }),
        },
        message,
      );
      if (!isApproved) return this.#send(out, { type: "tool-output-denied", toolCallId }, message);
    } else this.#send(out, toDataChunk(wait), message);
    this.#send(out, { type: "tool-output-available", toolCallId, output: answer, dynamic: true }, message);
  }

  #end(turn: TurnView, out: UiMessageChunk[]): void {
    const message = this.#current;
    if (message === undefined) return;
    const { outcome = "success", result = null, isResultCut = false, output = null, error } = turn;
    for (const wait of this.#fold.view.waits) if (wait.state === "ended") this.#endWait(wait, out);
    for (const [toolCallId, isOpen] of message.calls)
      if (isOpen) this.#send(out, { type: "tool-output-error", toolCallId, errorText: "canceled", ...OWN });
    if (outcome === "success") {
      // An agent can return its text instead of sending it.
      const isUnsaid = !message.hasText && result !== this.#said && !isResultCut;
      if (isUnsaid && result !== null && result !== "") {
        const id = String(this.#fold.view.head);
        this.#send(out, { type: "text-start", id });
        this.#send(out, { type: "text-delta", id, delta: result });
        this.#send(out, { type: "text-end", id });
      }
      if (output !== null && typeof output === "object")
        this.#send(out, { type: "data-output", id: turn.requestId, data: output });
    }
    this.#hasEnded = true;
    this.#usage = turn.usage;
    this.#send(out, { type: "finish-step" });
    this.#send(out, {
      type: "message-metadata",
      messageMetadata: { ...this.#metadata(), finish_reason: outcome },
    });
    if (outcome === "canceled") this.#send(out, { type: "abort", reason: "canceled" });
    // A reader stops at an error, so nothing of worth follows.
    if (outcome === "error")
      this.#send(out, { type: "error", errorText: error?.message ?? "the agent failed" });
    this.#send(out, { type: "finish", finishReason: outcome === "error" ? "error" : "stop" });
  }

  #metadata(): UiMetadata {
    const { runId, turns } = this.#fold.view;
    const { requestId: request_id = "", agent = "" } = turns.at(-1) ?? {};
    const hasUsage = Object.keys(this.#usage).length > 0;
    return { run_id: runId, request_id, agent, ...(hasUsage && { usage: this.#usage }) };
  }

  /** Sends a chunk of the current message or of another one; `from` names that, or the completion that has said the chunk. */
  #send(out: UiMessageChunk[], chunk: UiChunk, from?: OpenMessage | CallId): void {
    const isMessage = typeof from === "object";
    const message = isMessage ? from : this.#current;
    if (message === undefined) return;
    out.push({ messageId: message.id, chunk });
    if (STRUCTURE.has(chunk.type)) return;
    message.isStepEmpty = false;
    message.asks = false;
    if (this.#completions.size > 0) message.step.push({ chunk, completion: isMessage ? undefined : from });
  }
}

/** Set on the tools that the agent calls itself. */
const OWN = { dynamic: true, providerExecuted: true } as const;

/** The chunks that are no content of a step. */
const STRUCTURE: ReadonlySet<UiChunk["type"]> = new Set([
  "start",
  "start-step",
  "finish-step",
  "reset-step",
  "message-metadata",
  "finish",
  "error",
  "abort",
]);

/** Why a question has no answer. */
const ENDED: { readonly [State in WaitView["state"]]?: string } = {
  expired: "the question has expired",
  ended: "the turn has ended without an answer",
};

/** Whether a question is shown as a request for approval. Who may not answer it is not asked. */
function isApproval(wait: WaitView): boolean {
  return wait.question === undefined && wait.tool === undefined && approvalKeyOf(wait) !== undefined;
}

/** Whether a page needs the schema of a question to ask it. */
function hasData(wait: WaitView): boolean {
  return wait.tool === undefined && !isApproval(wait);
}

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toDataChunk(wait: WaitView): UiChunk {
  return { type: "data-wait", id: waitToolId(wait.waitId), data: toWaitData(wait) };
}

function toWaitData(wait: WaitView): UiWaitData {
  const { waitId: wait_id, requestId: request_id, agent, questions, schema, approvers, state } = wait;
  return {
    wait_id,
    request_id,
    agent,
    question: toQuestion(wait),
    questions,
    ...(schema && { schema }),
    ...(approvers && { approvers }),
    ...(wait.expiresAt !== undefined && { expires_at: wait.expiresAt }),
    state,
  };
}
