import "../styles/runs.css";
import "../styles/actors.css";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { useConsole } from "../app/context.ts";
import { readActors } from "../data/actors.ts";
import type { ActorFacts } from "../data/actors.ts";
import type { PageServer } from "../data/page-server.ts";
import { readAgentNames } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { readActorSchedules } from "../data/schedules.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { Empty } from "../parts/empty.tsx";
import { useInterval } from "../parts/hooks/interval.ts";
import { useMedia } from "../parts/hooks/media.ts";
import { LongList } from "../parts/long-list.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { State } from "../parts/state.tsx";
import { exactTime, timeAgo, timeUntil } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { listedState } from "../runs/run-words.ts";
import { ActorDetail } from "./actor-detail.tsx";

interface ActorsPlaceProps {
  readonly place: Extract<ConsolePlace, { readonly name: "actors" }>;
}

/** The actors that are in memory, with what each has to do next. One that is not in memory is found by its key. */
export function ActorsPlace({ place }: ActorsPlaceProps): VNode {
  const { server, go } = useConsole();
  const { agent = "", q = "", actor: chosen } = place.query;
  const {
    value: actors,
    error,
    reload,
  } = useResource(`${server.url} actors`, (signal) => readActors(server, signal));
  useInterval(reload, AGAIN_MS);
  const agents = useResource(server.url, (signal) => readAgentNames(server, signal)).value ?? NONE;
  const schedules = useResource(`${server.url} schedules`, (signal) => readActorSchedules(server, signal));
  useInterval(schedules.reload, SCHEDULES_AGAIN_MS);
  const next = useMemo(() => {
    const times = new Map<string, string>();
    for (const { run_id: runId, next_at: at } of schedules.value ?? []) {
      if (at !== undefined && at < (times.get(runId) ?? "~")) times.set(runId, at);
    }
    return times;
  }, [schedules.value]);
  const shown = useMemo(() => select(actors ?? [], agent, q), [actors, agent, q]);
  const sought = useResource(`${server.url} ${agent} ${q} ${agents.length}`, (signal) =>
    findByKey(server, agent === "" ? agents : [agent], q, signal),
  ).value;
  const others = sought?.filter((run) => !shown.some(({ run_id: id }) => id === run.run_id)) ?? [];
  const change = (changes: Readonly<Record<string, string | undefined>>): void =>
    go(withQuery(place, changes), { replace: true });

  if (actors === undefined) {
    return (
      <div class="page" aria-busy={error === undefined}>
        {error !== undefined && <RefusalNote error={error} />}
      </div>
    );
  }
  const isFiltered = agent !== "" || q !== "";
  if (actors.length === 0 && !isFiltered && chosen === undefined) {
    return (
      <Empty title="No actor is in memory">
        <p>
          Every run is an actor with a mailbox. It is in memory while it works, waits or was used a short time
          ago, and is listed here then. What it knows is in the log also when it is not.
        </p>
        <p>
          <a href="#/agents">Ask an agent →</a>
        </p>
        <p>
          <a href="#/runs">All runs →</a>
        </p>
      </Empty>
    );
  }
  return (
    <div class="page actors-page">
      <div class="heading">
        <h1 tabIndex={-1}>Actors</h1>
        <span class="second number" role="status">
          {toCount(shown.length, actors.length)}
        </span>
      </div>
      <div class="filters">
        <SearchField place={place} label="Search by key" />
        <select
          class="input"
          aria-label="Agent"
          value={agent}
          onChange={({ currentTarget }) => change({ agent: currentTarget.value })}
        >
          <option value="">every agent</option>
          {(agent === "" || agents.includes(agent) ? agents : [agent, ...agents]).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {isFiltered && (
          <button
            type="button"
            class="button quiet"
            onClick={() => change({ q: undefined, agent: undefined })}
          >
            Clear
          </button>
        )}
      </div>
      <div class={chosen === undefined ? "actors" : "actors with-detail"}>
        <div class="actors-list">
          {others.length > 0 && (
            <ul class="list" aria-label="Actors with this key">
              {others.map((run) => (
                <li key={run.run_id}>
                  <StoredRow
                    run={run}
                    isChosen={run.run_id === chosen}
                    onChoose={(id) => change({ actor: id })}
                  />
                </li>
              ))}
            </ul>
          )}
          {shown.length === 0 && others.length === 0 && (
            <p class="second">No actor in memory fits, and none has this whole key.</p>
          )}
          {shown.length > 0 && (
            <ActorList
              actors={shown}
              next={next}
              chosen={chosen}
              onChoose={(id) => change({ actor: id === chosen ? undefined : id })}
            />
          )}
        </div>
        {chosen !== undefined && (
          <ActorDetail
            key={chosen}
            runId={chosen}
            facts={actors.find(({ run_id: id }) => id === chosen)}
            onClose={() => change({ actor: undefined })}
          />
        )}
      </div>
    </div>
  );
}

const NONE: readonly string[] = [];
const AGAIN_MS = 2_000;
const SCHEDULES_AGAIN_MS = 10_000;
/** The server lists no more. */
const MOST = 1_000;
/** Agents that are asked for a key. */
const ASKED = 60;
const AT_ONCE = 4;

function toCount(shown: number, all: number): string {
  const total = all === MOST ? `the first ${MOST.toLocaleString()} in memory` : `${all} in memory`;
  return shown === all ? total : `${shown} of ${total}`;
}

/** Those that fit, the ones with a key first, in an order that does not change while they work. */
function select(actors: readonly ActorFacts[], agent: string, q: string): readonly ActorFacts[] {
  const wanted = q.trim().toLowerCase();
  return actors
    .filter((actor) => agent === "" || actor.agent === agent)
    .filter(
      ({ key = "", run_id: id }) => key.toLowerCase().includes(wanted) || id.toLowerCase().includes(wanted),
    )
    .toSorted((a, b) => (toOrder(a) < toOrder(b) ? -1 : 1));
}

function toOrder({ agent, key, run_id: id }: ActorFacts): string {
  return JSON.stringify([key === undefined ? 1 : 0, agent, key ?? id]);
}

/** The actors with a key, of each of the agents, wherever they are. */
async function findByKey(
  server: PageServer,
  agents: readonly string[],
  q: string,
  signal: AbortSignal,
): Promise<readonly RunSummary[]> {
  const key = q.trim();
  if (key === "") return [];
  const found: RunSummary[] = [];
  const ask = async (agent: string): Promise<readonly RunSummary[]> => {
    const { json } = await server.ask("GET", "/runs", { query: { agent, key }, signal });
    return json as readonly RunSummary[];
  };
  for await (const runs of mapConcurrent(agents.slice(0, ASKED), AT_ONCE, ask)) found.push(...runs);
  return found;
}

interface ActorListProps {
  readonly actors: readonly ActorFacts[];
  /** The next time of a schedule, by run. */
  readonly next: ReadonlyMap<string, string>;
  readonly chosen: string | undefined;
  onChoose(runId: string): void;
}

function ActorList({ actors, next, chosen, onChoose }: ActorListProps): VNode {
  const isNarrow = useMedia("(max-width: 759px)");
  const rowPx = isNarrow ? NARROW_PX : ROW_PX;
  return (
    <>
      <div class="live-head" aria-hidden="true">
        <span>State</span>
        <span>Agent</span>
        <span>Key</span>
        <span class="number">Mailbox</span>
        <span class="works">Works on</span>
        <span class="next">Next time</span>
        <span class="expires">Expires</span>
      </div>
      <LongList label="Actors" rows={actors} rowPx={rowPx} nameOf={(actor) => actor.run_id}>
        {(actor) => (
          <ActorRow
            actor={actor}
            next={next.get(actor.run_id)}
            isChosen={actor.run_id === chosen}
            onChoose={onChoose}
          />
        )}
      </LongList>
    </>
  );
}

const ROW_PX = 40;
const NARROW_PX = 64;

interface ActorRowProps {
  readonly actor: ActorFacts;
  readonly next: string | undefined;
  readonly isChosen: boolean;
  onChoose(runId: string): void;
}

function ActorRow({ actor, next, isChosen, onChoose }: ActorRowProps): VNode {
  const { run_id: runId, agent, key, status, queued, unread, expires_at: expires, calls } = actor;
  const letters = queued + unread;
  return (
    <button
      type="button"
      class="row live-row"
      aria-expanded={isChosen}
      aria-current={isChosen ? "true" : undefined}
      onClick={() => onChoose(runId)}
    >
      <ActorState status={status} />
      <AgentName name={agent} />
      {key === undefined ? (
        <span class="key one-line second mono" title={runId}>
          {runId}
        </span>
      ) : (
        <span class="key one-line" dir="auto" title={key}>
          {key}
        </span>
      )}
      <span
        class={letters === 0 ? "letters-count number second" : "letters-count number"}
        title={mailboxText(actor)}
      >
        {letters}
        <span class="only-read"> in the mailbox</span>
      </span>
      <span class="works one-line second">{calls.map(({ name }) => name).join(", ")}</span>
      <span class="next one-line second number" title={next && exactTime(next)}>
        {next !== undefined && timeUntil(next)}
      </span>
      <span class="expires one-line second number" title={expires && exactTime(expires)}>
        {expires !== undefined && timeUntil(expires)}
      </span>
    </button>
  );
}

/** An actor that is found by its key and not in memory. */
function StoredRow({
  run,
  isChosen,
  onChoose,
}: {
  readonly run: RunSummary;
  readonly isChosen: boolean;
  onChoose(runId: string): void;
}): VNode {
  const state = listedState(run);
  return (
    <button
      type="button"
      class="row live-row stored"
      aria-current={isChosen ? "true" : undefined}
      onClick={() => onChoose(run.run_id)}
    >
      {state === undefined ? <span class="second">no turn</span> : <State {...state} />}
      <AgentName name={run.agent} />
      <span class="key one-line" dir="auto">
        {run.key}
      </span>
      <span class="second one-line">not in memory, changed {timeAgo(run.updated_at)}</span>
    </button>
  );
}

/** What an actor does now. */
export function ActorState({ status }: { readonly status: string }): VNode {
  if (status === "running" || status === "held") return <State name={status} />;
  return status === "waiting" ? <State name="waiting" word="waiting" /> : <span class="state">idle</span>;
}

export function mailboxText({ queued, unread }: Pick<ActorFacts, "queued" | "unread">): string {
  const requests = `${queued} ${queued === 1 ? "request" : "requests"} to come`;
  return `${requests}, ${unread} unread ${unread === 1 ? "message" : "messages"}`;
}
