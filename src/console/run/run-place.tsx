import type { ComponentType, VNode } from "preact";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { useResource } from "../data/resource.ts";
import { Empty } from "../parts/empty.tsx";
import { lazy } from "../parts/lazy.tsx";
import { useMedia } from "../parts/media.ts";
import { Tabs } from "../parts/tabs.tsx";
import { clockTime } from "../parts/time.ts";
import { RUN_TABS } from "../places/place.ts";
import type { Place, RunTab } from "../places/place.ts";
import { Chat } from "../chat/chat.tsx";
import { RunHeader } from "./run-header.tsx";
import { Scrubber } from "../scrubber/scrubber.tsx";
import { useAt } from "../scrubber/use-at.ts";
import { StoreBand } from "./store-band.tsx";
import type { RunTabProps } from "./tab-props.ts";
import { useRun } from "./use-run.ts";

/** One run. Everything that is shown of it is its view as of an event. */
export function RunPlace({ place }: { readonly place: Place & { readonly name: "run" } }): VNode {
  const { server, go } = useConsole();
  const store = useRun(server, place.runId);
  const [at, setAt] = useAt();
  const isWide = useMedia("(min-width: 900px)");
  const { view: live, error, connection } = store;
  const summary = useSummary(place.runId);
  const agent = live.agent === "" ? (summary?.agent ?? "") : live.agent;
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
  const isPast = at !== undefined && at < live.head;
  const view = isPast ? store.at(at) : live;
  // Beside the chat, the address of the chat shows one of the other tabs.
  const first: RunTab = live.machines.size > 0 ? "statechart" : "timeline";
  const tab = isWide && place.tab === "chat" ? first : place.tab;
  const tabs = RUN_TABS.filter((name) => !isWide || name !== "chat");
  const props: RunTabProps = { store, view, isPast, onAt: setAt };
  const shownAt = view.head === 0 ? undefined : store.events[view.head - (store.events[0]?.id ?? 1)]?.ts;
  const chat = <Chat view={view} runId={place.runId} agent={agent} isPast={isPast} />;
  return (
    <div class="run">
      <RunHeader runId={place.runId} agent={agent} origin={summary?.forked_from} view={live} shown={view} />
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
      </div>
      <div class="run-panes">
        {isWide && chat}
        <section class="pane" aria-label="Views of the run">
          <Tabs
            label="Views of the run"
            tabs={tabs.map((name) => ({ name, label: LABELS[name] }))}
            selected={tab}
            onSelect={(name) => go({ ...place, tab: name }, { replace: true })}
          />
          <div class="pane-body" role="tabpanel" aria-label={LABELS[tab]}>
            {tab === "chat" ? chat : <ShownTab tab={tab} {...props} />}
          </div>
        </section>
      </div>
      <Scrubber live={live} at={isPast ? at : undefined} onAt={setAt} />
    </div>
  );
}

/** The row of a run. It says what no event does: the agent of an empty fork, and the run that it was forked from. */
function useSummary(runId: string): RunSummary | undefined {
  const { server } = useConsole();
  return useResource(runId, async (signal) => {
    const { json } = await server.ask("GET", `/runs/${encodeURIComponent(runId)}`, { signal });
    return json as RunSummary;
  }).value;
}

function ShownTab({ tab, ...props }: RunTabProps & { readonly tab: Exclude<RunTab, "chat"> }): VNode {
  const Part = PARTS[tab];
  return <Part {...props} />;
}

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
