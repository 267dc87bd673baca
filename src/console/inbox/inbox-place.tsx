import "../styles/inbox.css";
import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { chatItems } from "../chat/chat-items.ts";
import { ChatMessage } from "../chat/message.tsx";
import { Question } from "../chat/question.tsx";
import { MOST_OPEN } from "../data/waits.ts";
import type { WaitEvent } from "../data/waits.ts";
import { ActButton } from "../parts/act-button.tsx";
import { AgentMark } from "../parts/agent-name.tsx";
import { Empty } from "../parts/empty.tsx";
import { SIGNS, State } from "../parts/state.tsx";
import { exactTime, momentTime, timeAgo } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { HeldTurnBox } from "../run/held-turn.tsx";
import { stateOfRun } from "../run/run-facts.ts";
import { useRunStore } from "../run/use-run-store.ts";
import { inboxItems, isSelected, readName, withKept } from "./inbox-items.ts";
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
  const { agent = "", role = "" } = place.query;
  const all = useMemo(() => waits && held && inboxItems(waits, held), [waits, held]);
  const items = useMemo(() => all?.filter((item) => isSelected(item, { agent, role })), [all, agent, role]);
  const named = place.query["wait"];
  const first = useRef<string>(undefined);
  const filter = `${agent} ${role}`;
  const lastFilter = useRef(filter);
  if (named !== undefined || lastFilter.current !== filter) first.current = undefined;
  if (named === undefined) first.current ??= items?.[0]?.name;
  lastFilter.current = filter;
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

  const list = useRef<HTMLUListElement>(null);
  if (items === undefined || all === undefined) return <div class="page" aria-busy="true" />;
  const isFiltered = agent !== "" || role !== "";
  if (chosen === undefined && !isFiltered) {
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
        <InboxFilters place={place} items={all} />
      </div>
      {chosen === undefined ? (
        <p class="second">Nothing that is open fits the filter.</p>
      ) : (
        <div class="inbox">
          <ul
            class="list"
            aria-label="Questions"
            ref={list}
            onKeyDown={(event) => {
              const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
              if (step !== 0 && focusRow(list.current, step)) event.preventDefault();
            }}
          >
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
      )}
    </div>
  );
}

/** Narrows the queue to an agent, or to what a role may answer. Shown when there is something to narrow. */
function InboxFilters({
  place,
  items,
}: Pick<InboxPlaceProps, "place"> & { readonly items: readonly InboxItem[] }): VNode {
  const { go } = useConsole();
  const { agent = "", role = "" } = place.query;
  const agents = toNames(
    items.map((item) => item.agent),
    agent,
  );
  const roles = toNames(
    items.flatMap(({ approvers = [] }) => approvers),
    role,
  );
  // The item in the address would stay, whether it fits or not.
  const change = (changes: Readonly<Record<string, string>>): void =>
    go(withQuery(place, { wait: undefined, ...changes }), { replace: true });
  return (
    <div class="end">
      {agents.length > 1 && (
        <select
          class="input"
          aria-label="Agent"
          value={agent}
          onChange={({ currentTarget }) => change({ agent: currentTarget.value })}
        >
          <option value="">every agent</option>
          {agents.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      {roles.length > 0 && (
        <select
          class="input"
          aria-label="Who may answer"
          value={role}
          onChange={({ currentTarget }) => change({ role: currentTarget.value })}
        >
          <option value="">for every role</option>
          {roles.map((name) => (
            <option key={name} value={name}>
              for {name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

/** Names without repetitions, with the one that is chosen. */
function toNames(names: readonly string[], chosen: string): readonly string[] {
  return [...new Set(chosen === "" ? names : [...names, chosen])].toSorted();
}

/** Moves the focus from a row to its neighbour; returns whether there is one. */
function focusRow(list: HTMLElement | null, step: 1 | -1): boolean {
  const rows = [...(list?.querySelectorAll<HTMLElement>(".wait-row") ?? [])];
  const row = rows[rows.indexOf(document.activeElement as HTMLElement) + step];
  row?.focus();
  return row !== undefined;
}

/** The element of what is shown of an item. */
function shownPart(name: string): HTMLElement | null {
  const { waitId } = readName(name);
  return document.querySelector(waitId === undefined ? ".inbox .held-turn" : `#wait-${waitId}`);
}

function toCount({ length: open }: readonly unknown[], { length: held }: readonly unknown[]): string {
  const questions = open >= MOST_OPEN ? `${MOST_OPEN} oldest` : `${open} open`;
  if (held === 0) return questions;
  return `${questions}, ${held >= MOST_OPEN ? `${MOST_OPEN} newest` : held} held`;
}

interface ItemRowProps {
  readonly item: InboxItem;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  onChoose(name: string): void;
}

function ItemRow({ item, isOpen, isChosen, onChoose }: ItemRowProps): VNode {
  const { kind, name, agent, text, since, approvers, expiresAt } = item;
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
      <span class="second one-line from">
        <AgentMark name={agent} /> {agent}
        {approvers !== undefined && ` · for ${approvers.join(" or ")}`}
        {expiresAt !== undefined && isOpen && ` · until ${momentTime(expiresAt)}`}
      </span>
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
      {isKnown && next !== undefined && (
        <div class="actions">
          <ActButton key={next} class={isOver ? "button" : "button quiet"} onAct={() => onChoose(next)}>
            {isOver
              ? readName(next).waitId === undefined
                ? "Next held turn"
                : "Next question"
              : "Leave it, show the next one"}
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
