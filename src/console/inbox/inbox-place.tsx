import "../styles/inbox.css";
import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { chatItems } from "../chat/chat-items.ts";
import { ChatMessage } from "../chat/message.tsx";
import { Question } from "../chat/question.tsx";
import type { WaitEvent } from "../data/waits.ts";
import { ActButton } from "../parts/act-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { SIGNS, State } from "../parts/state.tsx";
import { exactTime, timeAgo } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { HeldTurnBox } from "../run/held-turn.tsx";
import { stateOfRun } from "../run/run-facts.ts";
import { useRunStore } from "../run/use-run-store.ts";
import { inboxItems, readName, withKept } from "./inbox-items.ts";
import type { InboxItem } from "./inbox-items.ts";

interface InboxPlaceProps {
  readonly place: Extract<ConsolePlace, { readonly name: "inbox" }>;
  /** Absent until they are read. */
  readonly waits: readonly WaitEvent[] | undefined;
  readonly held: readonly RunSummary[] | undefined;
}

/**
 * The open questions of all runs and the turns that are held, oldest first, handled in place. What is shown stays until
 * something else is chosen, also when it is answered: that of the address, else what was the oldest when the Inbox was opened.
 */
export function InboxPlace({ place, waits, held }: InboxPlaceProps): VNode {
  const { go } = useConsole();
  const items = useMemo(() => waits && held && inboxItems(waits, held), [waits, held]);
  const named = place.query["wait"];
  const first = useRef<string>(undefined);
  if (named !== undefined) first.current = undefined;
  else first.current ??= items?.[0]?.name;
  const chosen = named ?? first.current;
  const choose = (name: string): void => {
    go(withQuery(place, { wait: name }), { replace: true });
    // What is shown anew takes the focus itself.
    if (name === chosen) shownPart(name)?.focus({ preventScroll: true });
  };
  /** What is shown, since it was listed. */
  const kept = useRef<InboxItem>(undefined);
  kept.current =
    items?.find(({ name }) => name === chosen) ?? (kept.current?.name === chosen ? kept.current : undefined);

  if (items === undefined) return <div class="page" aria-busy="true" />;
  if (chosen === undefined) {
    return (
      <Empty title="No agent waits for an answer">
        <p>
          When an agent asks a question, or the code of a turn no longer fits, it is listed here until that is
          over, also after a restart.
        </p>
        <p>
          <a href="#/runs">All runs →</a>
        </p>
      </Empty>
    );
  }
  const others = items.filter(({ name }) => name !== chosen);
  const next =
    others.find(({ since }) => kept.current === undefined || since >= kept.current.since) ?? others[0];
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Inbox</h1>
        <span class="second number">{toCount(waits ?? [], held ?? [])}</span>
      </div>
      <div class="inbox">
        <ul class="list" aria-label="Questions">
          {withKept(items, kept.current).map((item) => (
            <li key={item.name}>
              <ItemRow
                item={item}
                isOpen={items.includes(item)}
                isChosen={item.name === chosen}
                onChoose={choose}
              />
            </li>
          ))}
        </ul>
        <ItemDetail key={chosen} name={chosen} next={next?.name} onChoose={choose} />
      </div>
    </div>
  );
}

/** The element of what is shown of an item. */
function shownPart(name: string): HTMLElement | null {
  const { waitId } = readName(name);
  return document.querySelector(waitId === undefined ? ".inbox .held-turn" : `#wait-${waitId}`);
}

/** The lists have at most a hundred of each kind. */
function toCount({ length: open }: readonly unknown[], { length: held }: readonly unknown[]): string {
  const questions = open === 100 ? "100 oldest" : `${open} open`;
  if (held === 0) return questions;
  return `${questions}, ${held === 100 ? "100 newest" : held} held`;
}

interface ItemRowProps {
  readonly item: InboxItem;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  onChoose(name: string): void;
}

function ItemRow({ item, isOpen, isChosen, onChoose }: ItemRowProps): VNode {
  const { kind, name, agent, text, since } = item;
  const state = kind === "question" ? "waiting" : "held";
  return (
    <ActButton class="row wait-row" aria-current={isChosen ? "true" : undefined} onAct={() => onChoose(name)}>
      <span class={isOpen ? `state ${state}` : "second"} aria-hidden="true">
        {isOpen ? SIGNS[state] : "–"}
      </span>
      <span class={isOpen ? "one-line" : "one-line second"} dir="auto">
        {text}
      </span>
      <span class="second number" title={exactTime(since)}>
        {isOpen ? timeAgo(since) : "closed"}
      </span>
      <span class="second one-line from">{agent}</span>
    </ActButton>
  );
}

interface ItemDetailProps {
  readonly name: string;
  /** What to show after this. */
  readonly next: string | undefined;
  onChoose(name: string): void;
}

/** A question, or a turn that is held, with what led to it. */
function ItemDetail({ name, next, onChoose }: ItemDetailProps): VNode {
  const { server } = useConsole();
  const { runId, waitId } = readName(name);
  const { view, connection, error } = useRunStore(server, runId);
  const wait = view.waits.find((one) => one.waitId === waitId);
  const turn = view.turns.find(({ held }) => held !== undefined);
  const isKnown = waitId === undefined ? view.head > 0 : wait !== undefined;
  const isOver = waitId === undefined ? turn === undefined : wait?.state !== "open";
  const before = chatItems(view)
    .flatMap((item) =>
      item.kind === "message" && (waitId === undefined || item.id < waitId) ? [item.message] : [],
    )
    .slice(-BEFORE);
  const label = waitId === undefined ? "Turn" : "Question";
  if (connection.state === "closed" && !isKnown) {
    return (
      <section class="form" aria-label={label}>
        <p class="note">This cannot be shown. {error?.message ?? "Its run has no such question."}</p>
      </section>
    );
  }
  const state = stateOfRun(view);
  return (
    <section class="form" aria-label={label}>
      {turn?.held !== undefined && (
        <HeldTurnBox
          key={turn.requestId}
          turn={turn}
          held={turn.held}
          view={view}
          isPast={false}
          isChosen={waitId === undefined}
        />
      )}
      {wait !== undefined && <Question wait={wait} view={view} isPast={false} isChosen />}
      {waitId === undefined && isKnown && isOver && (
        <p role="status">No turn of this run is held now. {state !== undefined && <State {...state} />}</p>
      )}
      {isKnown && isOver && next !== undefined && (
        <div class="actions">
          <ActButton key={next} class="button" onAct={() => onChoose(next)}>
            {readName(next).waitId === undefined ? "Next held turn" : "Next question"}
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

/** How many of the messages before it are shown. */
const BEFORE = 6;
