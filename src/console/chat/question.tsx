import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { RunView, WaitView } from "../../view/run-view.ts";
import type { Json } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { answerWait } from "../data/requests.ts";
import { QuestionForm } from "../forms/question-form.tsx";
import { clockTime, exactTime, momentTime } from "../parts/time.ts";

interface QuestionProps {
  readonly wait: WaitView;
  readonly view: RunView;
  readonly isPast: boolean;
}

/** A question of an agent where it was asked: a form while it is open, then its answer. */
export function Question({ wait, view, isPast }: QuestionProps): VNode {
  const { server } = useConsole();
  const box = useRef<HTMLDivElement>(null);
  const isOpen = wait.state === "open";
  const isFirst = view.waits.find(({ state }) => state === "open")?.waitId === wait.waitId;
  useEffect(() => {
    // The question that is asked first gets the focus; a person who types elsewhere keeps it.
    if (!isOpen || !isFirst || isPast || isTyping()) return;
    box.current
      ?.querySelector<HTMLElement>("button, input, textarea, select")
      ?.focus({ preventScroll: true });
  }, [isOpen, isFirst, isPast]);
  const caller = view.turns.find(({ requestId }) => requestId === wait.requestId)?.agent ?? view.agent;
  return (
    <div class={isOpen ? "question open" : "question"} ref={box} id={`wait-${wait.waitId}`}>
      <p class="who">
        <span class={isOpen ? "state waiting" : "second"}>
          <span aria-hidden="true">? </span>
          {wait.agent} {isOpen ? "asks" : "asked"}
          {wait.depth > 0 && `, for ${caller}`}
        </span>
        <time class="second" title={exactTime(wait.from)}>
          {clockTime(wait.from)}
        </time>
        {wait.expiresAt !== undefined && isOpen && (
          <span class="second">until {momentTime(wait.expiresAt)}</span>
        )}
      </p>
      {isOpen ? (
        <QuestionForm
          key={wait.waitId}
          questions={wait.questions}
          schema={wait.schema}
          isDisabled={isPast}
          onAnswer={(values) => answerWait(server, caller, wait.requestId, wait.waitId, values)}
        />
      ) : (
        <Answered wait={wait} />
      )}
    </div>
  );
}

function Answered({ wait }: { readonly wait: WaitView }): VNode {
  const { questions, answer = {}, state } = wait;
  const keys = [...new Set([...Object.keys(questions), ...Object.keys(answer)])];
  return (
    <dl class="answered">
      {keys.map((key) => (
        <div key={key}>
          <dt dir="auto">{questions[key] === "" ? key : (questions[key] ?? key)}</dt>
          <dd dir="auto">{state === "answered" ? toWords(answer[key]) : WORDS[state]}</dd>
        </div>
      ))}
    </dl>
  );
}

const WORDS: Readonly<Record<WaitView["state"], string>> = {
  open: "",
  answered: "",
  expired: "expired",
  ended: "not answered",
};

function toWords(value: Json | undefined): string {
  if (value === undefined) return "not answered";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Whether a field that contains a text has the focus. */
function isTyping(): boolean {
  const active = document.activeElement;
  const isField = active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement;
  return isField && active.value !== "";
}
