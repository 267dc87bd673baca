import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { QueryParameters } from "../../client/wire/wire.ts";
import { useConsole } from "../app/context.ts";
import { hoursAgo, useRunCount, useRunPages } from "../data/pages.ts";
import { readAgentNames } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { Command } from "../parts/copy.tsx";
import { Empty } from "../parts/empty.tsx";
import { refusalText } from "../parts/refusal.tsx";
import { AgentChoice, Choice, toOption, TextFilter } from "../parts/filters.tsx";
import type { Option } from "../parts/filters.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { SearchedTo } from "../parts/searched-to.tsx";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { RunList } from "./run-list.tsx";
import { SavedViews } from "./saved-views.tsx";

type RunsAddress = ConsolePlace & { readonly name: "runs" };

/** All runs, the newest first, as far as a person scrolls. The filters are in the address. */
export function RunsPlace({ place }: { readonly place: RunsAddress }): VNode {
  const { server } = useConsole();
  const query = useMemo(() => toQuery(place), [place]);
  const pages = useRunPages(server, query);
  const count = useRunCount(server, query, pages);
  const { rows: runs, error } = pages;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const isFiltered = Object.values(place.query).some((value) => value !== "");
  const chosen = useMemo(() => runs?.filter((run) => selected.has(run.run_id)) ?? [], [runs, selected]);
  if (runs?.length === 0 && !isFiltered && !pages.isStale) return <NoRuns />;
  const select = (runId: string, isSelected: boolean): void => {
    const next = new Set(selected);
    if (isSelected) next.add(runId);
    else next.delete(runId);
    setSelected(next);
  };
  return (
    <div class="page runs-page">
      <div class="heading">
        <h1 tabIndex={-1}>Runs</h1>
        <span class={pages.isStale ? "count second number stale" : "count second number"} role="status">
          {count !== undefined && `${count} ${count === "1" ? "run" : "runs"}`}
        </span>
        <SavedViews place={place} />
      </div>
      <Filters place={place} />
      {error !== undefined && (
        <p class="note failed" role="alert">
          {refusalText(error)}
          {pages.isStale && ". What is below is the list before this filter."}
        </p>
      )}
      {chosen.length > 0 && <BulkBar runs={chosen} onDone={() => setSelected(new Set())} />}
      {runs?.length === 0 && !pages.hasMore && <p class="second">No run fits the filter.</p>}
      {runs?.length === 0 && pages.hasMore && pages.searchedTo === undefined && (
        <p class="second" role="status">
          Searching older runs…
        </p>
      )}
      {runs !== undefined && (runs.length > 0 || pages.hasMore) && (
        <>
          <div class="run-list-head" aria-hidden="true">
            <span />
            <span>State</span>
            <span>Agent</span>
            <span>What was asked</span>
            <span>Output</span>
            <span>Last turn</span>
            <span>Tokens</span>
            <span>Changed</span>
          </div>
          <RunList
            pages={pages}
            selected={selected}
            search={pages.isStale ? undefined : place.query["q"]}
            onSelect={select}
          />
        </>
      )}
      <SearchedTo pages={pages} isOldestFirst={place.query["order"] === "oldest"} />
    </div>
  );
}

function toQuery({ query }: RunsAddress): QueryParameters {
  const { agent, state = "", q, error, since, meta, order, owner } = query;
  const hours = SINCE[since ?? ""];
  const [name, value] = meta?.split("=", 2) ?? [];
  return {
    agent: agent || undefined,
    q: q || undefined,
    owner: owner || undefined,
    error_code: error || undefined,
    updated_after: hours === undefined ? undefined : hoursAgo(hours),
    metadata: name && value ? `${name}=${value}` : undefined,
    order: order || undefined,
    ...FILTERS[state],
  };
}

/** The states that the list can be filtered by. */
const FILTERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  running: { status: "running" },
  waiting: { status: "waiting" },
  held: { status: "held" },
  done: { finish_reason: "success", status: "idle" },
  failed: { finish_reason: "error", status: "idle" },
  canceled: { finish_reason: "canceled", status: "idle" },
};

/** Hours back, by the name in the address. */
const SINCE: Readonly<Record<string, number>> = { hour: 1, day: 24, week: 168, month: 720 };

function Filters({ place }: { readonly place: RunsAddress }): VNode {
  const { server, go } = useConsole();
  const { agent = "", state = "", error = "", since = "", meta = "", order = "", owner = "" } = place.query;
  const agents = useResource(server.url, (signal) => readAgentNames(server, signal)).value ?? [];
  const change = (changes: Readonly<Record<string, string>>): void =>
    go(withQuery(place, changes), { replace: true });
  const isFiltered = Object.values(place.query).some((value) => value !== "");
  return (
    <div class="filters">
      <SearchField place={place} label="Search in runs" hint="Search in runs" />
      <AgentChoice agents={agents} value={agent} onChange={(value) => change({ agent: value })} />
      <Choice
        label="State"
        value={state}
        options={[["", "every state"], ...Object.keys(FILTERS).map(toOption)]}
        onChange={(value) => change({ state: value })}
      />
      <Choice label="Time" value={since} options={TIMES} onChange={(value) => change({ since: value })} />
      <details class="more-filters" open={order !== "" || error !== "" || meta !== "" || owner !== ""}>
        <summary class="button quiet">More filters</summary>
        <div class="filters">
          <Choice
            label="Order"
            value={order}
            options={ORDERS}
            onChange={(value) => change({ order: value })}
          />
          <TextFilter label="Owner" value={owner} onChange={(value) => change({ owner: value })} />
          <TextFilter label="Error code" value={error} onChange={(value) => change({ error: value })} />
          <TextFilter
            label="Metadata name=value"
            value={meta}
            onChange={(value) => change({ meta: value })}
          />
        </div>
      </details>
      {isFiltered && (
        <button
          type="button"
          class="button quiet"
          onClick={() => go({ name: "runs", query: {} }, { replace: true })}
        >
          Clear
        </button>
      )}
    </div>
  );
}

const TIMES: readonly Option[] = [
  ["", "any time"],
  ["hour", "last hour"],
  ["day", "last day"],
  ["week", "last week"],
  ["month", "last 30 days"],
];

const ORDERS: readonly Option[] = [
  ["", "newest first"],
  ["oldest", "oldest first"],
];

function NoRuns(): VNode {
  return (
    <Empty title="Nothing has run yet">
      <p>Every request to an agent becomes a run: its messages, calls and questions are kept here.</p>
      <p>
        <a href="#/agents">Ask an agent →</a>
      </p>
      <p class="second">Or ask one from a terminal:</p>
      <Command
        text={`curl ${location.origin}/process -H 'content-type: application/json' -d '{"input":"hello"}'`}
      />
    </Empty>
  );
}
