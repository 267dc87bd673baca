import type { Interrupt } from "@ag-ui/core";
import type { Json } from "../../protocol/json.ts";
import type { CallView, FileView, RunView, TextPart, WaitView } from "../../view/run-view.ts";
import { toWireId } from "./place.ts";
import type { SegmentPlace } from "./place.ts";
import { toInterrupt } from "./event.ts";
import type { AgUiEvent } from "./event.ts";

/** A message that may grow. */
interface OpenMessage {
  readonly id: string;
  readonly part: TextPart;
  readonly owner: string | undefined;
}

/** A completion of a model, as a step. */
interface OpenStep {
  readonly name: string;
  readonly owner: string | undefined;
}

/**
 * The messages, steps, tool calls and sub-agents of one run, in the words of the protocol. What the asked agent does has no owner,
 * everything else that of the sub-agent: the call of an agent, by its `callKey`.
 */
export class RunParts {
  readonly #place: SegmentPlace;
  readonly #view: RunView;
  /** By what speaks: an actor or one of its branches, its text or its reasoning. */
  readonly #messages = new Map<string, OpenMessage>();
  readonly #steps = new Map<string, OpenStep>();
  /** The sub-agents that have begun in this run, in order, and whether they go on. */
  readonly #children = new Map<string, boolean>();

  constructor(place: SegmentPlace, view: RunView) {
    this.#place = place;
    this.#view = view;
  }

  /** Adds to a text or a piece of reasoning. */
  say(part: TextPart, delta: string): readonly AgUiEvent[] {
    const key = `${part.actor} ${part.kind} ${part.branch ?? ""}`;
    const known = this.#messages.get(key);
    if (known?.part.id === part.id) return toContent(known, delta);
    const owner = this.#ownerOf(part.actor);
    // What a tool says by itself is told by its result.
    if (part.depth > 0 && owner === undefined) return [];
    // Branches speak at the same time; everything else is said one after the other.
    const closed = this.#closeMessages(
      (open, openKey) =>
        openKey === key ||
        (part.branch === undefined && open.part.branch === undefined && open.part.actor === part.actor),
    );
    const message = { id: this.#idOf(this.#view.head), part, owner };
    this.#messages.set(key, message);
    return [...closed, ...this.#begin(owner), ...this.#open(message), ...toContent(message, delta)];
  }

  /** A text of the asked agent that is there as a whole. */
  sayWhole(delta: string): readonly AgUiEvent[] {
    const messageId = this.#idOf(this.#view.head);
    return [
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
      { type: "TEXT_MESSAGE_END", messageId },
    ];
  }

  /** A call has begun. */
  call(call: CallView): readonly AgUiEvent[] {
    const closed = this.#closeOf(call.parent);
    if (isChild(call)) return [...closed, ...this.#begin(call.key)];
    const { parent = "", kind, key, name, functionName, args } = call;
    if (!this.#isAgent(parent)) return closed;
    const owner = this.#ownerOf(parent);
    if (kind === "model") return [...closed, ...this.#begin(owner), ...this.#beginStep(key, name, owner)];
    if (!isTool(call)) return closed;
    const tool = { id: this.#idOf(call.startedId), name: functionName ?? name, args: args ?? {} };
    return [...closed, ...this.#begin(owner), ...toToolCall(tool, toTag(this.#tagOf(owner)))];
  }

  /** A call is made again: what a model has said before stays, as a message that has ended. */
  attempt({ kind, parent, callId }: CallView): readonly AgUiEvent[] {
    if (kind !== "model") return [];
    return this.#closeMessages(({ part }) => part.actor === parent && part.completion === callId);
  }

  /** A call has ended. */
  result(call: CallView): readonly AgUiEvent[] {
    const { key, parent = "", kind, callId } = call;
    if (isChild(call)) return [...this.#begin(key), ...this.#endChild(key)];
    if (!this.#isAgent(parent)) return [];
    if (kind === "model") {
      const said = this.#closeMessages(({ part }) => part.actor === parent && part.completion === callId);
      return [...said, ...this.#endStep(key)];
    }
    if (!isTool(call)) return [];
    const { startedId, endedId = 0, outcome, text, result, error, errorCode } = call;
    const owner = this.#ownerOf(parent);
    return [
      ...this.#begin(owner),
      {
        type: "TOOL_CALL_RESULT",
        messageId: this.#idOf(endedId),
        toolCallId: this.#idOf(startedId),
        content: outcome === "success" ? (text ?? toText(result)) : (error ?? ""),
        role: "tool",
        ...toTag(this.#tagOf(owner)),
        ...(outcome !== "success" && { metadata: { is_error: true, code: errorCode ?? outcome ?? "error" } }),
      },
    ];
  }

  /** An agent asks. A tool that the client runs is called; other questions stand at the end of the run. */
  ask({ waitId, actor, tool }: WaitView): readonly AgUiEvent[] {
    const closed = this.#closeOf(actor);
    const owner = this.#ownerOf(actor);
    const begun = this.#begin(owner);
    if (tool === undefined) return [...closed, ...begun];
    const called = toToolCall({ ...tool, id: this.#idOf(waitId) }, toTag(this.#tagOf(owner)));
    return [...closed, ...begun, ...called];
  }

  /** An agent has made a file. */
  file({ file, actor }: { readonly file: FileView; readonly actor: string }): readonly AgUiEvent[] {
    if (!file.isGenerated) return [];
    const { artifactId, name, mimeType, sizeBytes, url, eventId } = file;
    const owner = this.#ownerOf(actor);
    return [
      ...this.#closeOf(actor),
      ...this.#begin(owner),
      {
        type: "ACTIVITY_SNAPSHOT",
        messageId: this.#idOf(eventId),
        activityType: "artifact",
        content: { artifact_id: artifactId, name, mime_type: mimeType, size_bytes: sizeBytes, url },
        ...toTag(this.#tagOf(owner)),
      },
    ];
  }

  /** Ends everything that is open, because the run ends. */
  closeAll(): readonly AgUiEvent[] {
    const events = [...this.#closeMessages(() => true)];
    for (const key of this.#steps.keys()) events.push(...this.#endStep(key));
    for (const [key, goesOn] of [...this.#children].toReversed())
      if (goesOn) events.push(...this.#endChild(key));
    return events;
  }

  /** The questions as interrupts; the calls of tools of the client are none. */
  interruptsOf(waits: readonly WaitView[]): Interrupt[] {
    return waits
      .filter(({ tool }) => tool === undefined)
      .map((wait) => {
        const { waitId, actor, call } = wait;
        const tool = this.#toolOf(call);
        return toInterrupt(wait, this.#idOf(waitId), {
          ...toTag(this.#tagOf(this.#ownerOf(actor))),
          ...(tool !== undefined && { toolCallId: this.#idOf(tool.startedId) }),
        });
      });
  }

  /** The ids of the calls of tools of the client. */
  toolCallsOf(waits: readonly WaitView[]): string[] {
    return waits.flatMap(({ tool, waitId }) => (tool === undefined ? [] : [this.#idOf(waitId)]));
  }

  /** Begins a sub-agent, and those in which it was called, unless they have begun in this run. */
  #begin(key: string | undefined): readonly AgUiEvent[] {
    const call = key === undefined || this.#children.has(key) ? undefined : this.#view.calls.get(key);
    if (key === undefined || call === undefined) return [];
    const owner = this.#ownerOf(call.parent);
    const above = this.#begin(owner);
    this.#children.set(key, true);
    const parent = this.#tagOf(owner);
    const tool = this.#toolOf(call.parent);
    return [
      ...above,
      {
        type: "SUBAGENT_STARTED",
        subagentRunId: this.#idOf(call.startedId),
        name: call.name,
        ...(parent !== undefined && { parentSubagentRunId: parent }),
        ...(tool !== undefined && { parentToolCallId: this.#idOf(tool.startedId) }),
      },
    ];
  }

  /** Ends a sub-agent and what is open in it, or suspends it while it goes on. */
  #endChild(key: string): readonly AgUiEvent[] {
    const call = this.#view.calls.get(key);
    if (call === undefined || this.#children.get(key) !== true) return [];
    const events = [...this.#closeMessages(({ owner }) => owner === key)];
    for (const [step, { owner }] of this.#steps) if (owner === key) events.push(...this.#endStep(step));
    for (const [child, goesOn] of [...this.#children].toReversed())
      if (goesOn && child !== key && this.#isIn(child, key)) events.push(...this.#endChild(child));
    this.#children.set(key, false);
    const subagentRunId = this.#idOf(call.startedId);
    const { outcome, result, text, error, errorCode } = call;
    if (outcome === undefined) {
      const waits = this.#view.waits.filter((wait) => wait.state === "open" && this.#isIn(wait.actor, key));
      const interruptIds = waits.map(({ waitId }) => this.#idOf(waitId));
      const suspended = { type: "suspended", ...(interruptIds.length > 0 && { interruptIds }) } as const;
      return [...events, { type: "SUBAGENT_FINISHED", subagentRunId, outcome: suspended }];
    }
    const value = result ?? text;
    if (outcome === "success") {
      const given = value !== undefined && value !== null && { result: value };
      return [
        ...events,
        { type: "SUBAGENT_FINISHED", subagentRunId, ...given, outcome: { type: "success" } },
      ];
    }
    const message = error ?? `the agent has ended with ${outcome}`;
    return [...events, { type: "SUBAGENT_ERROR", subagentRunId, message, code: errorCode ?? outcome }];
  }

  #beginStep(key: string, model: string, owner: string | undefined): readonly AgUiEvent[] {
    const isTaken = (name: string): boolean =>
      [...this.#steps.values()].some((step) => step.owner === owner && step.name === name);
    // Branches ask a model at the same time.
    let stepName = model;
    for (let count = 2; isTaken(stepName); count += 1) stepName = `${model} ${count}`;
    this.#steps.set(key, { name: stepName, owner });
    return [{ type: "STEP_STARTED", stepName, ...toTag(this.#tagOf(owner)) }];
  }

  #endStep(key: string): readonly AgUiEvent[] {
    const step = this.#steps.get(key);
    if (step === undefined) return [];
    this.#steps.delete(key);
    return [{ type: "STEP_FINISHED", stepName: step.name, ...toTag(this.#tagOf(step.owner)) }];
  }

  #open({ id: messageId, part, owner }: OpenMessage): readonly AgUiEvent[] {
    const tag = toTag(this.#tagOf(owner));
    if (part.kind === "text") {
      const name = owner === undefined ? {} : { name: part.agent };
      return [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant", ...name, ...tag }];
    }
    return [
      { type: "REASONING_START", messageId, ...tag },
      { type: "REASONING_MESSAGE_START", messageId, role: "reasoning", ...tag },
    ];
  }

  #closeMessages(isClosed: (open: OpenMessage, key: string) => boolean): readonly AgUiEvent[] {
    const events: AgUiEvent[] = [];
    for (const [key, open] of this.#messages) {
      if (!isClosed(open, key)) continue;
      this.#messages.delete(key);
      const { id: messageId, part } = open;
      if (part.kind === "text") events.push({ type: "TEXT_MESSAGE_END", messageId });
      else events.push({ type: "REASONING_MESSAGE_END", messageId }, { type: "REASONING_END", messageId });
    }
    return events;
  }

  /** Ends what an actor says, because it does something else. */
  #closeOf(actor: string | undefined): readonly AgUiEvent[] {
    return this.#closeMessages(({ part }) => part.actor === actor);
  }

  #idOf(event: number): string {
    return toWireId(this.#place.requestId, event);
  }

  #tagOf(owner: string | undefined): string | undefined {
    const call = owner === undefined ? undefined : this.#view.calls.get(owner);
    return call && this.#idOf(call.startedId);
  }

  /** The sub-agent in which an actor works, or which it is; undefined for the asked agent. */
  #ownerOf(actor: string | undefined): string | undefined {
    for (let key = actor; key !== undefined;) {
      const call = this.#view.calls.get(key);
      if (call !== undefined && isChild(call)) return key;
      key = call?.parent;
    }
    return undefined;
  }

  /** The call of a tool by an agent in which a call was made, or which it is. */
  #toolOf(call: string | undefined): CallView | undefined {
    for (let key = call; key !== undefined;) {
      const one = this.#view.calls.get(key);
      if (one === undefined || isChild(one)) return undefined;
      if (isTool(one) && this.#isAgent(one.parent ?? "")) return one;
      key = one.parent;
    }
    return undefined;
  }

  /** Whether an actor is an agent; what tools call is not shown. */
  #isAgent(actor: string): boolean {
    const call = this.#view.calls.get(actor);
    return call !== undefined && (call.kind === "turn" || isChild(call));
  }

  #isIn(actor: string, child: string): boolean {
    for (let key: string | undefined = actor; key !== undefined; key = this.#view.calls.get(key)?.parent)
      if (key === child) return true;
    return false;
  }
}

function isChild({ kind }: CallView): boolean {
  return kind === "agent" || kind === "remote" || kind === "actor";
}

function isTool({ kind }: CallView): boolean {
  return kind === "tool" || kind === "effect" || kind === "call";
}

function toTag(subagentRunId: string | undefined): { readonly subagentRunId?: string } {
  return subagentRunId === undefined ? {} : { subagentRunId };
}

function toContent({ id: messageId, part }: OpenMessage, delta: string): readonly AgUiEvent[] {
  if (delta === "") return [];
  return [
    part.kind === "text"
      ? { type: "TEXT_MESSAGE_CONTENT", messageId, delta }
      : { type: "REASONING_MESSAGE_CONTENT", messageId, delta },
  ];
}

function toToolCall(
  tool: { readonly id: string; readonly name: string; readonly args: Json },
  tag: { readonly subagentRunId?: string },
): readonly AgUiEvent[] {
  const { id: toolCallId, name: toolCallName, args } = tool;
  return [
    { type: "TOOL_CALL_START", toolCallId, toolCallName, ...tag },
    { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(args) },
    { type: "TOOL_CALL_END", toolCallId },
  ];
}

function toText(result: Json | undefined): string {
  return typeof result === "string" ? result : JSON.stringify(result ?? null);
}
