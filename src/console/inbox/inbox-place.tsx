import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { useConsole } from "../app/context.ts";
import { chatItems } from "../chat/chat-items.ts";
import { ChatMessage } from "../chat/message.tsx";
import { Question } from "../chat/question.tsx";
import type { WaitEvent } from "../data/waits.ts";
import { ActButton } from "../parts/act-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { exactTime, timeAgo } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { useRunStore } from "../run/use-run-store.ts";

interface InboxPlaceProps {
  readonly place: Extract<ConsolePlace, { readonly name: "inbox" }>;
  /** Absent until they are read. */
  readonly waits: readonly WaitEvent[] | undefined;
}

/**
 * The open questions of all runs, oldest first, answered in place. The question that is shown stays until another one is
 * chosen, also when it is answered: that of the address, else the one that was the oldest when the Inbox was opened.
 */
export function InboxPlace({ place, waits }: InboxPlaceProps): VNode {
  const { go } = useConsole();
  const named = place.query["wait"];
  const first = useRef<string>(undefined);
  if (named !== undefined) first.current = undefined;
  else if (first.current === undefined && waits?.[0] !== undefined) first.current = nameOf(waits[0]);
  const chosen = named ?? first.current;
  const choose = (name: string): void => {
    go(withQuery(place, { wait: name }), { replace: true });
    // A question that is shown anew takes the focus itself.
    if (name === chosen) document.getElementById(`wait-${waitIdOf(name)}`)?.focus({ preventScroll: true });
  };
  /** The question that is shown, since it was listed. */
  const kept = useRef<WaitEvent>(undefined);
  kept.current =
    waits?.find((wait) => nameOf(wait) === chosen) ??
    (kept.current && nameOf(kept.current) === chosen ? kept.current : undefined);

  if (waits === undefined) return <div class="page" aria-busy="true" />;
  if (chosen === undefined) {
    return (
      <Empty title="No agent waits for an answer">
        <p>When an agent asks a question, it is listed here until it is answered, also after a restart.</p>
        <p>
          <a href="#/runs">All runs →</a>
        </p>
      </Empty>
    );
  }
  const others = waits.filter((wait) => nameOf(wait) !== chosen);
  const next = others.find((wait) => kept.current === undefined || wait.ts >= kept.current.ts) ?? others[0];
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Inbox</h1>
        <span class="second number">{waits.length === 100 ? "100 oldest" : `${waits.length} open`}</span>
      </div>
      <div class="inbox">
        <ul class="list" aria-label="Questions">
          {withKept(waits, kept.current).map((wait) => (
            <li key={nameOf(wait)}>
              <WaitRow
                wait={wait}
                isOpen={waits.includes(wait)}
                isChosen={nameOf(wait) === chosen}
                onChoose={choose}
              />
            </li>
          ))}
        </ul>
        <WaitDetail key={chosen} name={chosen} next={next && nameOf(next)} onChoose={choose} />
      </div>
    </div>
  );
}

/** The open questions with the one that is shown, in its place also after it was answered. */
function withKept(waits: readonly WaitEvent[], kept: WaitEvent | undefined): readonly WaitEvent[] {
  if (kept === undefined || waits.includes(kept)) return waits;
  const at = waits.findIndex(({ ts }) => ts > kept.ts);
  return waits.toSpliced(at === -1 ? waits.length : at, 0, kept);
}

interface WaitRowProps {
  readonly wait: WaitEvent;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  onChoose(name: string): void;
}

function WaitRow({ wait, isOpen, isChosen, onChoose }: WaitRowProps): VNode {
  const questions = Object.entries(wait.request_keys).map(([key, text]) => (text === "" ? key : text));
  return (
    <ActButton
      class="row wait-row"
      aria-current={isChosen ? "true" : undefined}
      onAct={() => onChoose(nameOf(wait))}
    >
      <span class={isOpen ? "state waiting" : "second"} aria-hidden="true">
        {isOpen ? "?" : "–"}
      </span>
      <span class={isOpen ? "one-line" : "one-line second"} dir="auto">
        {questions.join(" · ")}
      </span>
      <span class="second number" title={exactTime(wait.ts)}>
        {isOpen ? timeAgo(wait.ts) : "closed"}
      </span>
      <span class="second one-line from">{wait.agent}</span>
    </ActButton>
  );
}

interface WaitDetailProps {
  readonly name: string;
  /** The question to show after this one. */
  readonly next: string | undefined;
  onChoose(name: string): void;
}

/** A question with what led to it. */
function WaitDetail({ name, next, onChoose }: WaitDetailProps): VNode {
  const { server } = useConsole();
  const runId = name.slice(0, name.lastIndexOf("."));
  const waitId = waitIdOf(name);
  const { view, connection, error } = useRunStore(server, runId);
  const shown = view.waits.find((wait) => wait.waitId === waitId);
  const before = chatItems(view)
    .flatMap((item) => (item.kind === "message" && item.id < waitId ? [item.message] : []))
    .slice(-BEFORE);
  if (connection.state === "closed" && shown === undefined) {
    return (
      <section class="form" aria-label="Question">
        <p class="note">This question cannot be shown. {error?.message ?? "Its run has no such question."}</p>
      </section>
    );
  }
  return (
    <section class="form" aria-label="Question">
      {shown !== undefined && <Question wait={shown} view={view} isPast={false} isChosen />}
      {shown !== undefined && shown.state !== "open" && next !== undefined && (
        <div class="actions">
          <ActButton key={next} class="button" onAct={() => onChoose(next)}>
            Next question
          </ActButton>
        </div>
      )}
      <h2>How it came here</h2>
      <div class="chat-lines">
        {before.map((message) => (
          <ChatMessage key={message.id} message={message} view={view} isPast={false} />
        ))}
      </div>
      <p>
        <a href={`#/runs/${runId}`}>Open the run →</a>
      </p>
    </section>
  );
}

/** How many of the messages before a question are shown. */
const BEFORE = 6;

function waitIdOf(name: string): number {
  return Number(name.slice(name.lastIndexOf(".") + 1));
}

/** The name of a question in the address. */
function nameOf({ run_id: runId, wait_id: waitId }: WaitEvent): string {
  return `${runId}.${waitId}`;
}
