import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { PartView, RunView } from "../../view/run-view.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { Markdown } from "../parts/markdown/markdown.tsx";
import { clockTime, exactTime } from "../parts/time.ts";
import { CallCard } from "./call-card.tsx";
import { FileLine } from "./file-line.tsx";
import { Question } from "./question.tsx";

interface MessageProps {
  readonly message: PartView;
  readonly view: RunView;
  readonly isPast: boolean;
}

/** One message of a conversation. A text is drawn again only when it has changed. */
export function ChatMessage({ message, view, isPast }: MessageProps): VNode {
  // Calls, questions and answers are drawn from other parts of the view than the message.
  const basis = message.kind === "text" || message.kind === "reasoning" ? message : view;
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- `basis` stands for the view.
  return useMemo(() => draw(message, view, isPast), [message, basis, isPast]);
}

function draw(message: PartView, view: RunView, isPast: boolean): VNode {
  switch (message.kind) {
    case "input":
      return (
        <Said who="You" message={message} isOwn>
          {message.operation !== "chat" && (
            <p class="mono second">
              {message.agent}.{message.operation}
            </p>
          )}
          {typeof message.input === "string" ? (
            <Plain text={message.input} />
          ) : (
            <JsonTree value={message.input} />
          )}
        </Said>
      );
    case "text":
      return (
        <Said who={message.agent} message={message}>
          <Markdown text={message.text} />
        </Said>
      );
    case "reasoning":
      return (
        <details class="reasoning">
          <summary class="second">{message.agent} thought</summary>
          <Plain text={message.text} />
        </details>
      );
    case "call": {
      const call = view.calls.get(message.call);
      const renderMessage = (inner: PartView): VNode => (
        <ChatMessage key={inner.id} message={inner} view={view} isPast={isPast} />
      );
      return call === undefined ? <></> : <CallCard call={call} view={view} renderMessage={renderMessage} />;
    }
    case "wait": {
      const wait = view.waits.find(({ waitId }) => waitId === message.waitId);
      return wait === undefined ? <></> : <Question wait={wait} view={view} isPast={isPast} />;
    }
    case "answer":
    case "expiry":
    case "end":
      // The question shows its answer, and the conversation the end of each turn.
      return <></>;
    case "file":
      return <FileLine file={message.file} agent={message.agent} />;
    case "received":
      return (
        <Said who={senderOf(message)} message={message}>
          <p class="mono second">{message.name}</p>
          <JsonTree value={message.body} />
        </Said>
      );
    default: {
      const never: never = message;
      return never;
    }
  }
}

interface SaidProps {
  readonly who: string;
  readonly message: PartView;
  readonly isOwn?: boolean;
  readonly children: unknown;
}

function Said({ who, message, isOwn = false, children }: SaidProps): VNode {
  return (
    <div class={isOwn ? "said own" : "said"}>
      <p class="who">
        <span>{who}</span>
        <time class="second" title={exactTime(message.at)}>
          {clockTime(message.at)}
        </time>
      </p>
      <div class="prose" dir="auto">
        {children as VNode}
      </div>
    </div>
  );
}

function Plain({ text }: { readonly text: string }): VNode {
  return (
    <p class="plain" dir="auto">
      {text}
    </p>
  );
}

function senderOf({ sender, by }: Extract<PartView, { readonly kind: "received" }>): string {
  const { agent } = (sender ?? {}) as { readonly agent?: unknown };
  return typeof agent === "string" ? agent : (by?.name ?? by?.id ?? "a message");
}
