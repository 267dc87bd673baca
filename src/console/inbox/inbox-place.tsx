import type { VNode } from "preact";
import { useConsole } from "../app/context.ts";
import { chatItems } from "../chat/chat-items.ts";
import { Message } from "../chat/message.tsx";
import { Question } from "../chat/question.tsx";
import type { OpenWait } from "../data/waits.ts";
import { Empty } from "../parts/empty.tsx";
import { exactTime, timeAgo } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { Place } from "../places/place.ts";
import { useRun } from "../run/use-run.ts";

type InboxAddress = Extract<Place, { readonly name: "inbox" }>;

interface InboxPlaceProps {
  readonly place: InboxAddress;
  /** Absent until they are read. */
  readonly waits: readonly OpenWait[] | undefined;
}

/** The open questions of all runs, oldest first, answered in place. */
export function InboxPlace({ place, waits }: InboxPlaceProps): VNode {
  if (waits === undefined) return <div class="page" aria-busy="true" />;
  const wanted = place.query["wait"];
  const chosen = waits.find((wait) => nameOf(wait) === wanted) ?? waits[0];
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
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Inbox</h1>
        <span class="second number">{waits.length === 100 ? "100 oldest" : `${waits.length} open`}</span>
      </div>
      <div class="inbox">
        <ul class="list" aria-label="Questions">
          {waits.map((wait) => (
            <WaitRow key={nameOf(wait)} wait={wait} place={place} isChosen={wait === chosen} />
          ))}
        </ul>
        <WaitDetail key={nameOf(chosen)} wait={chosen} />
      </div>
    </div>
  );
}

interface WaitRowProps {
  readonly wait: OpenWait;
  readonly place: InboxAddress;
  readonly isChosen: boolean;
}

function WaitRow({ wait, place, isChosen }: WaitRowProps): VNode {
  const { go } = useConsole();
  const questions = Object.entries(wait.request_keys).map(([key, text]) => (text === "" ? key : text));
  return (
    <li>
      <button
        type="button"
        class="row wait-row"
        aria-current={isChosen ? "true" : undefined}
        onClick={() => go(withQuery(place, { wait: nameOf(wait) }), { replace: true })}
      >
        <span class="state waiting" aria-hidden="true">
          ?
        </span>
        <span class="one-line" dir="auto">
          {questions.join(" · ")}
        </span>
        <span class="second number" title={exactTime(wait.ts)}>
          {timeAgo(wait.ts)}
        </span>
        <span class="second one-line from">{wait.agent}</span>
      </button>
    </li>
  );
}

/** A question with what led to it. */
function WaitDetail({ wait }: { readonly wait: OpenWait }): VNode {
  const { server } = useConsole();
  const { view } = useRun(server, wait.run_id);
  const shown = view.waits.find(({ waitId }) => waitId === wait.wait_id);
  const before = chatItems(view)
    .flatMap((item) => (item.kind === "message" && item.id < wait.wait_id ? [item.message] : []))
    .slice(-BEFORE);
  return (
    <section class="form" aria-label="Question">
      {shown !== undefined && <Question wait={shown} view={view} isPast={false} />}
      <h2>How it came here</h2>
      <div class="chat-lines">
        {before.map((message) => (
          <Message key={message.id} message={message} view={view} isPast={false} />
        ))}
      </div>
      <p>
        <a href={`#/runs/${wait.run_id}`}>Open the run →</a>
      </p>
    </section>
  );
}

/** How many of the messages before a question are shown. */
const BEFORE = 6;

function nameOf({ run_id: runId, wait_id: waitId }: OpenWait): string {
  return `${runId}.${waitId}`;
}
