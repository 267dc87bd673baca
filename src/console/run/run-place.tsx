import type { ComponentType, VNode } from "preact";
import { useMemo, useEffect, useRef, useState } from "preact/hooks";
import type { RunStatus, RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { useRunChanges } from "../data/changes.ts";
import { useResource } from "../data/resource.ts";
import { useRestarts } from "../data/restarts.ts";
import { Empty } from "../parts/empty.tsx";
import { lazy } from "../parts/lazy.tsx";
import { useMedia } from "../parts/hooks/media.ts";
import { MomentContext } from "../parts/hooks/clock.ts";
import { PaneDivider, usePaneShare } from "../parts/pane-divider.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { clockTime } from "../parts/time.ts";
import { RUN_TABS, withQuery } from "../places/place.ts";
import type { ConsolePlace, RunTab } from "../places/place.ts";
import { Chat } from "../chat/chat.tsx";
import { nameOfCall } from "./kinds.ts";
import { narrowTo } from "./narrow.ts";
import { RunHeader } from "./run-header.tsx";
import { Scrubber, useAt } from "../scrubber/scrubber.tsx";
import type { RunTabProps } from "./tab-props.ts";
import { useRunStore } from "./use-run-store.ts";
import type { RunStore } from "../../client/store/run-store.ts";
import type { RunView } from "../../view/run-view.ts";
import { askedIn } from "../runs/run-words.ts";
import { useTitle } from "../parts/hooks/title.ts";

/** One run. Everything that is shown of it is its view as of an event. */
export function RunPlace({ place }: { readonly place: ConsolePlace & { readonly name: "run" } }): VNode {
  const { server, go } = useConsole();
  const store = useRunStore(server, place.runId);
  const [at, setAt] = useAt();
  const isWide = useMedia("(min-width: 900px)");
  const panes = useRef<HTMLDivElement>(null);
  const [share, setShare] = usePaneShare();
  const { view: live, error, connection } = store;
  const restarts = useRestarts(server, place.runId, store);
  const status = useRunStatus(place.runId);
  const agent = live.agent === "" ? (status?.agent ?? "") : live.agent;
  const queued = status?.requests.filter((request) => request.status === "queued") ?? [];
  const asked = askedFirst(live, status);
  useTitle(asked === "" ? agent : `${asked.slice(0, TITLE)} · ${agent}`);
  const isPast = at !== undefined && at < live.head;
  const view = isPast ? store.at(at) : live;
  const actor = view.calls.get(place.query["actor"] ?? "");
  const own = useMemo(() => (actor === undefined ? view : narrowTo(view, actor)), [view, actor]);
  if (connection.state === "closed" && live.head === 0) {
    return (
      <Empty title={error?.code === "gone" ? "This run was removed" : "There is no such run"}>
        <p>{error?.message}</p>
        <p>
          <a href="#/runs">All runs →</a>
        </p>
      </Empty>
    );
  }
  // An empty fork has no events, so only its row says that there is nothing to wait for.
  const isReading = live.head === 0 && (status?.last_event_id ?? 1) > 0 && connection.state !== "closed";
  // Beside the chat, the address of the chat shows one of the other tabs.
  const first: RunTab = live.machines.size > 0 ? "statechart" : "timeline";
  const tab = isWide && place.tab === "chat" ? first : place.tab;
  const tabs = RUN_TABS.filter((name) => !isWide || name !== "chat");
  const onActor = (key: string | undefined): void => go(withQuery(place, { actor: key }), { replace: true });
  const props: RunTabProps = {
    store,
    view: own,
    whole: view,
    actor,
    restarts,
    queued,
    isPast,
    onAt: setAt,
    onActor,
  };
  const shownAt = view.head === 0 ? undefined : store.events[view.head - (store.events[0]?.id ?? 1)]?.ts;
  const heldTurn = view.turns.find(({ held }) => held !== undefined);
  const heldNow = isPast ? undefined : heldTurn?.held;
  const moment = isPast && shownAt !== undefined ? Date.parse(shownAt) : undefined;
  const chat = <Chat view={own} whole={view} runId={place.runId} agent={agent} isPast={isPast} />;
  return (
    <MomentContext.Provider value={moment}>
      <div class="run">
        <RunHeader
          runId={place.runId}
          agent={agent}
          origin={status?.forked_from}
          queued={queued.length}
          view={live}
          shown={view}
          isReading={isReading}
          asked={asked}
        />
        <div>
          <StoreBand store={store} />
          {isPast && (
            <div class="band" role="status">
              as of event {view.head}
              {shownAt !== undefined && ` · ${clockTime(shownAt)}`} · read-only
              <button type="button" class="button small" onClick={() => setAt(undefined)}>
                Show the newest
              </button>
            </div>
          )}
          {actor !== undefined && (
            <div class="band" role="status">
              only {nameOfCall(actor)}
              <button type="button" class="button small" onClick={() => onActor(undefined)}>
                Show everything
              </button>
            </div>
          )}
          <p class="only-read" role="status">
            {heldNow !== undefined && `${agent} is held: ${heldNow.message}`}
          </p>
          {heldTurn?.held !== undefined && (
            <HeldPart
              key={heldTurn.requestId}
              turn={heldTurn}
              held={heldTurn.held}
              view={view}
              isPast={isPast}
            />
          )}
        </div>
        <div class="run-panes" ref={panes} style={isWide ? { "--chat": `${share}%` } : undefined}>
          {isWide && chat}
          {isWide && <PaneDivider panes={panes} share={share} onShare={setShare} />}
          <section class="pane" aria-label="Views of the run">
            <Tabs
              label="Views of the run"
              tabs={tabs.map((name) => ({ name, label: LABELS[name] }))}
              selected={tab}
              onSelect={(name) => go({ ...place, tab: name }, { replace: true })}
            />
            <div
              class="pane-body"
              role="tabpanel"
              aria-label={LABELS[tab]}
              aria-busy={isReading ? "true" : undefined}
            >
              {tab === "chat" ? chat : !isReading && <ShownTab tab={tab} {...props} />}
            </div>
          </section>
        </div>
        <Scrubber
          live={live}
          events={store.events}
          restarts={restarts}
          at={isPast ? at : undefined}
          onAt={setAt}
        />
      </div>
    </MomentContext.Provider>
  );
}

/** What was asked first: the title of the run. */
function askedFirst({ turns: [first], created }: RunView, status: RunStatus | undefined): string {
  if (status !== undefined) return askedIn(status);
  const input = first?.input ?? created?.input ?? "";
  return typeof input === "string" ? input.slice(0, 300) : JSON.stringify(input).slice(0, 300);
}

const TITLE = 60;

/**
 * The row of a run with its requests. It says what no event does: the agent of an empty fork, the run that it was forked
 * from, and what is queued.
 */
function useRunStatus(runId: string): RunStatus | undefined {
  const { server } = useConsole();
  const { value, reload } = useResource(`${server.url} ${runId}`, async (signal) => {
    const { json } = await server.ask("GET", `/runs/${encodeURIComponent(runId)}`, { signal });
    return json as RunStatus;
  });
  useRunChanges(server, reload, (row) => row.run_id === runId && !("removed" in row) && isOther(row, value));
  return value;
}

/** Whether a row says something else than the one that is shown. The time of a run changes with its texts too. */
function isOther({ queued, turns, status }: RunSummary, shown: RunStatus | undefined): boolean {
  return queued !== shown?.queued || turns !== shown.turns || status !== shown.status;
}

function ShownTab({ tab, ...props }: RunTabProps & { readonly tab: Exclude<RunTab, "chat"> }): VNode {
  const Part = PARTS[tab];
  return <Part {...props} />;
}

const HeldPart = lazy(async () => (await import("./held-turn.tsx")).HeldTurnBox);

const PARTS: Readonly<Record<Exclude<RunTab, "chat">, ComponentType<RunTabProps>>> = {
  timeline: lazy(async () => (await import("../timeline/timeline-tab.tsx")).TimelineTab),
  sequence: lazy(async () => (await import("../sequence/sequence-tab.tsx")).SequenceTab),
  actors: lazy(async () => (await import("../actors/actors-tab.tsx")).ActorsTab),
  files: lazy(async () => (await import("../files/files-tab.tsx")).FilesTab),
  statechart: lazy(async () => (await import("../chart/chart-tab.tsx")).ChartTab),
  state: lazy(async () => (await import("../state/state-tab.tsx")).StateTab),
  events: lazy(async () => (await import("../events/events-tab.tsx")).EventsTab),
};

const LABELS: Readonly<Record<RunTab, string>> = {
  chat: "Chat",
  timeline: "Timeline",
  sequence: "Sequence",
  actors: "Actors",
  files: "Files",
  statechart: "Statechart",
  events: "Events",
  state: "State",
};

/** Says that the connection to a run was lost, and for some seconds that it is back. */
function StoreBand({ store }: { readonly store: RunStore }): VNode {
  const { connection, view, error } = store;
  const [back, setBack] = useState<number>();
  const wasLost = useRef(false);
  const head = useRef(view.head);
  head.current = view.head;
  const isLost = connection.state === "lost";
  useEffect(() => {
    if (isLost) wasLost.current = true;
    if (connection.state !== "live" || !wasLost.current) return undefined;
    wasLost.current = false;
    setBack(head.current);
    const timer = setTimeout(() => setBack(undefined), BACK_MS);
    return () => clearTimeout(timer);
  }, [connection.state, isLost]);
  const isOver = connection.state === "closed" && error !== undefined;
  return (
    <div role="status">
      {isLost && (
        <div class="band lost">
          No connection since {clockTime(connection.since)}. Nothing is lost; reading continues after event{" "}
          {view.head}.
        </div>
      )}
      {isOver && <div class="band lost">{error.message}</div>}
      {!isLost && back !== undefined && (
        <div class="band">The server was started again. Read on from event {back}.</div>
      )}
    </div>
  );
}

const BACK_MS = 8_000;
