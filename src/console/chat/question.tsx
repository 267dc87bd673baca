import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunView, WaitView } from "../../view/run-view.ts";
import { toAgentError } from "../../errors.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { keepDraft } from "../data/drafts.ts";
import { sendAnswer } from "../data/requests.ts";
import { lazy } from "../parts/lazy.tsx";
import { refusalText } from "../parts/refusal.tsx";
import { clockTime, exactTime, momentTime } from "../parts/time.ts";

const QuestionForm = lazy(async () => (await import("../forms/question-form.tsx")).QuestionForm);

interface QuestionProps {
  readonly wait: WaitView;
  readonly view: RunView;
  readonly isPast: boolean;
  /** Set where a person has chosen the question: it takes the focus from any other element. */
  readonly isChosen?: boolean;
}

/**
 * A question of an agent where it was asked: a form while it is open, then its answer. When another client answers it
 * under the hand of a person, the form stays, disabled, with what has happened. The focus goes to the question itself,
 * never to something that acts.
 */
export function Question({ wait, view, isPast, isChosen = false }: QuestionProps): VNode {
  const { server } = useConsole();
  const box = useRef<HTMLDivElement>(null);
  const [wasOpen, setWasOpen] = useState(false);
  const [isOwn, setOwn] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const { waitId, requestId, state } = wait;
  const draftKey = `question ${view.runId}.${waitId}` as const;
  const isOpen = state === "open";
  const isAnswerable = isOpen && !isPast;
  const isFirst = view.waits.find((other) => other.state === "open")?.waitId === waitId;
  useEffect(() => {
    if (!isAnswerable) return;
    setWasOpen(true);
    if (isChosen || (isFirst && document.activeElement?.matches("body, h1") === true)) {
      box.current?.focus({ preventScroll: true });
    }
  }, [isAnswerable, isChosen, isFirst]);
  useEffect(() => {
    if (!isOpen) keepDraft(draftKey, undefined);
  }, [isOpen, draftKey]);

  const caller = view.turns.find((turn) => turn.requestId === requestId)?.agent ?? view.agent;
  const answer = async (values: JsonObject): Promise<void> => {
    // The buttons are disabled now, so the focus would be lost.
    box.current?.focus({ preventScroll: true });
    setOwn(true);
    setRefusal(undefined);
    try {
      await sendAnswer(server, caller, requestId, waitId, values);
    } catch (thrown) {
      setOwn(false);
      setRefusal(refusalText(toAgentError(thrown)));
      throw thrown;
    }
  };
  const isTaken = wasOpen && !isOpen && !isOwn && !isPast;
  const title = `${wait.agent} ${isOpen ? "asks" : "asked"}${wait.depth > 0 ? `, for ${caller}` : ""}`;
  return (
    <div
      class={isOpen ? "question open" : "question"}
      ref={box}
      id={`wait-${waitId}`}
      role="group"
      aria-label={title}
      tabIndex={-1}
    >
      <p class="who">
        <span class={isOpen ? "state waiting" : "second"}>
          <span aria-hidden="true">? </span>
          {title}
        </span>
        <time class="second" title={exactTime(wait.from)}>
          {clockTime(wait.from)}
        </time>
        {wait.expiresAt !== undefined && isOpen && (
          <span class="second">until {momentTime(wait.expiresAt)}</span>
        )}
      </p>
      {wait.approvers !== undefined && isOpen && (
        <p class="second">{`For ${wait.approvers.join(" or ")} to answer`}</p>
      )}
      {wait.question !== undefined && (
        <p class="asked" dir="auto">
          {wait.question}
        </p>
      )}
      {(isOpen || isTaken) && wait.question === undefined && (
        <QuestionForm
          questions={wait.questions}
          schema={wait.schema}
          draftKey={draftKey}
          isDisabled={!isAnswerable}
          onAnswer={answer}
        />
      )}
      <div role="status">
        {isTaken && (
          <p class="note">
            {TAKEN[state]} {wait.to !== undefined && momentTime(wait.to)}
            {refusal !== undefined && `. Your answer was not taken: ${refusal}`}
          </p>
        )}
      </div>
      {!isOpen && <Answered wait={wait} />}
    </div>
  );
}

/** What has happened to a question that a person had before them. */
const TAKEN: Readonly<Record<WaitView["state"], string>> = {
  open: "",
  answered: "Answered elsewhere at",
  expired: "Nobody answered until",
  ended: "No longer asked: its turn or call ended at",
};

function Answered({ wait }: { readonly wait: WaitView }): VNode {
  const { questions, answer = {}, state, by } = wait;
  const keys = [...new Set([...Object.keys(questions), ...Object.keys(answer)])];
  return (
    <dl class="answered">
      {by !== undefined && (
        <div>
          <dt>Answered by</dt>
          <dd dir="auto">{by.name ?? by.id}</dd>
        </div>
      )}
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
