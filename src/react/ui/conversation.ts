"use client";
import { createElement as h, useState } from "react";
import type { ComponentType, ReactNode } from "react";
import { callKey } from "../../view/run-view.ts";
import type { CallView, PartView, RunView, TurnView } from "../../view/run-view.ts";
import type { AgentConversation } from "../use-agent.ts";
import { ApprovalButtons } from "./answer-form.ts";

/** Views of tools by the name of the tool, in the place of the one that all others have. */
export type ToolViews = Readonly<Record<string, ComponentType<ToolCallProps>>>;

/** A call of a tool or an agent. */
export interface ToolCallProps {
  readonly call: CallView;
}

/** A conversation as `useAgent` gives it, and own views of tools. */
export interface ConversationProps {
  readonly conversation: AgentConversation;
  readonly tools?: ToolViews;
}

/** A whole chat: what was said, calls of tools, open questions, what is on its way, and a field for the next message. */
export function ConversationPane({ conversation, tools = {} }: ConversationProps): ReactNode {
  const { view, sent, status, error, send, answer, cancel, retry } = conversation;
  const [text, setText] = useState("");
  // What is refused is shown as the error of the state.
  const quietly = (request: Promise<void>): void => void request.catch(() => {});
  const submit = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    if (text === "") return;
    quietly(send(text));
    setText("");
  };
  const isOpen = status === "streaming" || status === "waiting" || status === "held";
  return h(
    "section",
    { className: "troupe-conversation", "data-status": status },
    h(
      "div",
      { className: "troupe-parts", "aria-live": "polite" },
      view.parts.map((part) => h(Part, { key: part.id, part, view, tools })),
      sent.map(({ requestId, input }) =>
        h("p", { key: requestId, className: "troupe-input" }, toText(input)),
      ),
    ),
    view.waits
      .filter(({ state }) => state === "open")
      .map((wait) => h(ApprovalButtons, { key: wait.waitId, wait, answer })),
    error !== undefined &&
      h(
        "p",
        { role: "alert" },
        error.message,
        status === "failed" && h("button", { type: "button", onClick: () => quietly(retry()) }, "Try again"),
      ),
    h(
      "form",
      { onSubmit: submit },
      h("input", {
        "aria-label": "Message",
        value: text,
        // Without the types of a browser an element has no fields.
        onChange: ({ target }: { readonly target: unknown }) =>
          setText((target as { readonly value: string }).value),
      }),
      h("button", { type: "submit" }, "Send"),
      isOpen && h("button", { type: "button", onClick: () => quietly(cancel()) }, "Stop"),
    ),
  );
}

/** A part of what a run shows; what has no view of its own is left out. */
function Part({
  part,
  view,
  tools,
}: {
  readonly part: PartView;
  readonly view: RunView;
  readonly tools: ToolViews;
}): ReactNode {
  switch (part.kind) {
    case "input":
      return h("p", { className: "troupe-input" }, toText(part.input));
    case "text":
    case "reasoning":
      return h("p", { className: `troupe-${part.kind}` }, part.text);
    case "call": {
      const call = view.calls.get(part.call);
      return (
        call && h(Object.hasOwn(tools, call.name) ? (tools[call.name] ?? ToolCallRow) : ToolCallRow, { call })
      );
    }
    case "file":
      return h("p", { className: "troupe-file" }, part.file.name);
    case "end": {
      const turn = view.turns.find(({ requestId }) => requestId === part.requestId);
      return turn === undefined ? null : h(TurnOutput, { turn, view });
    }
    case "wait":
    case "answer":
    case "expiry":
    case "received":
      return null;
    default: {
      const never: never = part;
      return never;
    }
  }
}

/** What a turn returned: formatted JSON, or a text that was not said before. */
function TurnOutput({ turn, view }: { readonly turn: TurnView; readonly view: RunView }): ReactNode {
  const { output, result, root } = turn;
  const value = output ?? result;
  if (value === undefined || value === null || value === "") return null;
  if (typeof value !== "string") return h("pre", { className: "troupe-output" }, toText(value));
  const isSaid = view.parts.some(({ kind, actor }) => kind === "text" && actor === root);
  return isSaid ? null : h("p", { className: "troupe-text" }, value);
}

/** A call of a tool or an agent, with what it was given and what came of it. */
export function ToolCallRow({ call }: ToolCallProps): ReactNode {
  const { name, args, result, error, progress, outcome = "running" } = call;
  return h(
    "details",
    { className: "troupe-call", "data-outcome": outcome },
    h("summary", null, `${name}: ${outcome}`),
    args !== undefined && h("pre", null, toText(args)),
    progress !== "" && h("pre", null, progress),
    result !== undefined && h("pre", null, toText(result)),
    error !== undefined && h("p", { role: "alert" }, error),
  );
}

/** Who works for whom in the turns of a run: agents and tools below their callers. */
export function ActorOutline({ view }: { readonly view: RunView }): ReactNode {
  const branch = (key: string): ReactNode => {
    const call = view.calls.get(key);
    if (call === undefined || call.kind === "wait" || call.kind === "sleep") return null;
    const { name, outcome = "running", children } = call;
    const below = children.map(branch).filter((shown) => shown !== null);
    return h("li", { key, "data-outcome": outcome }, name, below.length > 0 && h("ul", null, below));
  };
  return h(
    "ul",
    { className: "troupe-actors" },
    view.turns.map(({ requestId }) => branch(callKey(requestId))),
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
