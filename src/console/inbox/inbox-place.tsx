import "../styles/inbox.css";
import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { useConsole } from "../app/context.ts";
import { chatItems } from "../chat/chat-items.ts";
import { ChatMessage } from "../chat/message.tsx";
import { Question } from "../chat/question.tsx";
import { countText } from "../data/counts.ts";
import type { Count } from "../data/counts.ts";
import type { InboxSummary } from "../data/inbox.ts";
import { useRunPages, useWaitPages } from "../data/pages.ts";
import type { Pages } from "../data/pages.ts";
import { readAgentNames } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { ActButton } from "../parts/act-button.tsx";
import { AgentMark } from "../parts/agent-name.tsx";
import { Empty } from "../parts/empty.tsx";
import { AgentChoice, TextFilter } from "../parts/filters.tsx";
import { useMedia } from "../parts/hooks/media.ts";
import { LongList } from "../parts/long-list.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { SearchedTo } from "../parts/searched-to.tsx";
import { SIGNS, State } from "../parts/state.tsx";
import { exactTime, momentTime, timeAgo } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { HeldTurnBox } from "../run/held-turn.tsx";
import { stateOfRun } from "../run/run-facts.ts";
import { useRunStore } from "../run/use-run-store.ts";
import { readInbox, readName, withKept } from "./inbox-items.ts";
import type { InboxItem } from "./inbox-items.ts";

interface InboxPlaceProps {
  readonly place: Extract<ConsolePlace, { readonly name: "inbox" }>;
  /** All that waits for a person, without a filter; absent until it is read. */
  readonly inbox: InboxSummary | undefined;
}

/**
 * The open questions of all runs and the turns that are held, oldest first, as far as a person scrolls, handled in place. What is
 * shown stays until something else is chosen, also when it is answered: that of the address, else what was the oldest when the
 * Inbox was opened.
 */
export function InboxPlace({ place, inbox }: InboxPlaceProps): VNode {
  const { server, go } = useConsole();
  const { agent = "", role = "" } = place.query;
  const waits = useWaitPages(server, { asked_by: agent || undefined, approver: role || undefined });
  const held = useRunPages(server, { status: "held", order: "oldest", agent: agent || undefined });
  const read = useMemo(() => readInbox(waits, held), [waits, held]);
  const isStale = waits.isStale || held.isStale;
  const items = read?.items;
  const named = place.query["wait"];
  /** What is shown without a name in the address. With another filter it stays until the list is there. */
  const first = useRef<string>(undefined);
  const filter = JSON.stringify([agent, role, named === undefined]);
  const lastFilter = useRef(filter);
  if (named !== undefined) first.current = named;
  else if (!isStale) {
    if (lastFilter.current !== filter) first.current = undefined;
    first.current ??= items?.[0]?.name;
  }
  if (!isStale) lastFilter.current = filter;
  const chosen = named ?? first.current;
  const choose = (name: string): void => {
    go(withQuery(place, { wait: name }), { replace: true });
    // What is shown anew takes the focus itself.
    if (name === chosen) shownPart(name)?.focus({ preventScroll: true });
  };
  /** What is shown, since it was listed. */
  const kept = useRef<InboxItem>(undefined);
  const listed = items?.find(({ name }) => name === chosen);
  kept.current = listed ?? (kept.current?.name === chosen ? kept.current : undefined);

  const isNarrow = useMedia("(max-width: 759px)");
  const error = waits.error ?? held.error;
  if (read === undefined || items === undefined) {
    return (
      <div class="page" aria-busy={error === undefined}>
        {error !== undefined && <RefusalNote error={error} />}
      </div>
    );
  }
  const isFiltered = agent !== "" || role !== "";
  const isEmpty = items.length === 0 && !read.hasMore && kept.current === undefined;
  if (isEmpty && chosen === undefined && !isFiltered && !isStale) {
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
  const all = isFiltered ? undefined : inbox;
  return (
    <div class="page inbox-page">
      <div class="heading">
        <h1 tabIndex={-1}>Inbox</h1>
        <span class={isStale ? "second number stale" : "second number"} role="status">
          {toCounts(countOf(waits, all?.waits.count), countOf(held, all?.held.count))}
        </span>
        <InboxFilters place={place} items={items} hasMore={read.hasMore} />
      </div>
      {error !== undefined && <RefusalNote error={error} />}
      {isEmpty && chosen === undefined ? (
        <p class="second">Nothing that is open fits the filter.</p>
      ) : (
        <div class="inbox">
          <div class="inbox-list">
            <LongList
              label="Questions"
              of={waits.key}
              rows={withKept(items, kept.current)}
              rowPx={isNarrow ? NARROW_PX : ROW_PX}
              shown={chosen}
              nameOf={({ name }) => name}
              isStale={isStale}
              hasMore={read.hasMore}
              more={read.more}
            >
              {(item) => (
                <ItemRow
                  item={item}
                  isOpen={item !== kept.current || listed !== undefined}
                  isChosen={item.name === chosen}
                  onChoose={choose}
                />
              )}
            </LongList>
            <SearchedTo pages={waits} isOldestFirst />
          </div>
          {chosen !== undefined && (
            <ItemDetail
              key={chosen}
              name={chosen}
              isNamed={named !== undefined}
              next={next?.name}
              onChoose={choose}
            />
          )}
        </div>
      )}
    </div>
  );
}

const ROW_PX = 60;
const NARROW_PX = 64;

/** How many rows a list has: all those of its pages, or what the server has counted. */
function countOf({ rows = [], hasMore }: Pages<unknown>, counted: Count | undefined): Count {
  return hasMore && counted !== undefined ? counted : { rows: rows.length, isOpen: hasMore };
}

function toCounts(open: Count, held: Count): string {
  const questions = `${countText(open)} open`;
  return held.rows === 0 && !held.isOpen ? questions : `${questions}, ${countText(held)} held`;
}

interface InboxFiltersProps extends Pick<InboxPlaceProps, "place"> {
  readonly items: readonly InboxItem[];
  readonly hasMore: boolean;
}

/** Narrows the queue to what an agent asks, or to what a role may answer. */
function InboxFilters({ place, items, hasMore }: InboxFiltersProps): VNode {
  const { server, go } = useConsole();
  const { agent = "", role = "" } = place.query;
  const agents = useResource(server.url, (signal) => readAgentNames(server, signal)).value ?? [];
  const roles = [...new Set(items.flatMap(({ approvers = [] }) => approvers))].toSorted();
  // The item in the address would stay, whether it fits or not.
  const change = (changes: Readonly<Record<string, string>>): void =>
    go(withQuery(place, { wait: undefined, ...changes }), { replace: true });
  return (
    <div class="end">
      <AgentChoice agents={agents} value={agent} onChange={(value) => change({ agent: value })} />
      {(roles.length > 0 || hasMore || role !== "") && (
        <TextFilter
          label="Who may answer"
          value={role}
          known={roles}
          onChange={(value) => change({ role: value })}
        />
      )}
    </div>
  );
}

/** The element of what is shown of an item. */
function shownPart(name: string): HTMLElement | null {
  const { waitId } = readName(name);
  return document.querySelector(waitId === undefined ? ".inbox .held-turn" : `#wait-${waitId}`);
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
    <button
      type="button"
      class="row wait-row"
      aria-current={isChosen ? "true" : undefined}
      onClick={() => onChoose(name)}
    >
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
    </button>
  );
}

interface ItemDetailProps {
  readonly name: string;
  /** Whether a person has chosen it: it takes the focus then. */
  readonly isNamed: boolean;
  /** What to show after this. */
  readonly next: string | undefined;
  onChoose(name: string): void;
}

/** A question, or a turn that is held, with what led to it. */
function ItemDetail({ name, isNamed, next, onChoose }: ItemDetailProps): VNode {
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
          isChosen={isNamed && waitId === undefined}
        />
      )}
      {wait !== undefined && <Question wait={wait} view={view} isPast={false} isChosen={isNamed} />}
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
