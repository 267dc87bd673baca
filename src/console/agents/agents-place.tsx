import "../styles/agents.css";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { useRunChanges } from "../data/changes.ts";
import { readInspectedAgent } from "../data/inspect.ts";
import { readAgents } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { readActorSchedules } from "../data/schedules.ts";
import { agentStyle } from "../parts/agent-hue.ts";
import { AgentMark } from "../parts/agent-name.tsx";
import { Empty } from "../parts/empty.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { exactTime, timeAgo, timeUntil } from "../parts/time.ts";
import { RunBars, tally } from "./run-bars.tsx";

/** All agents of the server, each with what its newest runs were like. */
export function AgentsPlace(): VNode {
  const { server } = useConsole();
  const [q, setQ] = useState("");
  const [most, setMost] = useState(PIECE);
  const { value, error } = useResource(server.url, (signal) => readAgents(server, signal));
  const schedules = useResource(`${server.url} schedules`, (signal) =>
    readActorSchedules(server, signal),
  ).value;
  const shown = useMemo(() => {
    const wanted = q.trim().toLowerCase();
    return value?.filter(({ name, purpose }) => `${name} ${purpose}`.toLowerCase().includes(wanted)) ?? [];
  }, [value, q]);
  if (value?.length === 0) {
    return (
      <Empty title="No agents">
        <p>The server found no agent in its directory.</p>
      </Empty>
    );
  }
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Agents</h1>
        <span class="second number" role="status">
          {value !== undefined &&
            (shown.length === value.length ? value.length : `${shown.length} of ${value.length}`)}
        </span>
        {value !== undefined && value.length > FEW && (
          <div class="end">
            <input
              class="input search"
              type="search"
              data-search
              aria-label="Search agents"
              placeholder="Search by name or purpose"
              value={q}
              onInput={({ currentTarget }) => setQ(currentTarget.value)}
            />
          </div>
        )}
      </div>
      {error !== undefined && <RefusalNote error={error} />}
      <ul class="agent-cards" aria-label="Agents">
        {shown.slice(0, most).map((agent) => (
          <li key={agent.name}>
            <AgentCard
              agent={agent}
              schedules={schedules?.filter((one) => one.agent === agent.name) ?? NONE}
            />
          </li>
        ))}
      </ul>
      {value !== undefined && shown.length === 0 && <p class="second">No agent fits the search.</p>}
      {shown.length > most && (
        <button type="button" class="button more-rows" onClick={() => setMost(most + PIECE)}>
          {shown.length - most} more
        </button>
      )}
    </div>
  );
}

const NONE: readonly ScheduleSummary[] = [];
/** How many agents are shown at first: each asks the server for its runs. */
const PIECE = 60;
/** Fewer agents need no search. */
const FEW = 6;
/** How many of its newest runs a card shows. */
const RUNS = 24;

interface AgentCardProps {
  readonly agent: AgentDescriptor;
  readonly schedules: readonly ScheduleSummary[];
}

function AgentCard({ agent: { name, purpose, version, operations }, schedules }: AgentCardProps): VNode {
  const { server } = useConsole();
  const inspected = useResource(`${server.url} ${name}`, (signal) =>
    readInspectedAgent(server, name, signal),
  ).value;
  const { value: runs, reload } = useResource(`${server.url} ${name}`, async (signal) => {
    const { json } = await server.ask("GET", "/runs", { query: { agent: name, limit: RUNS }, signal });
    return json as readonly RunSummary[];
  });
  useRunChanges(server, reload, (row) =>
    "removed" in row ? runs?.some((run) => run.run_id === row.run_id) === true : row.agent === name,
  );
  const own = operations.map((operation) => operation.name).filter((operation) => operation !== "chat");
  const next = schedules.flatMap(({ next_at: at }) => at ?? []).toSorted()[0];
  const { ended, failed } = tally(runs ?? []);
  const newest = runs?.[0];
  return (
    <article class="agent-card" style={agentStyle(name)} aria-label={name}>
      <div class="who-line">
        <AgentMark name={name} />
        <h2 class="one-line">
          <a href={`#/agents/${encodeURIComponent(name)}`} title={name}>
            {name}
          </a>
        </h2>
        {version !== undefined && <span class="second one-line version">v{version}</span>}
      </div>
      <p class="purpose" dir="auto" title={purpose}>
        {purpose}
      </p>
      <p class="second one-line" title={["chat", ...own].join(", ")}>
        {inspected !== undefined && `${kindText(inspected)} · `}
        {["chat", ...own].join(", ")}
      </p>
      <div class="lately">
        <RunBars runs={runs ?? []} most={RUNS} />
        <p class="second number">
          {runs !== undefined && newest === undefined && "No run yet"}
          {newest !== undefined && (
            <>
              <span class={failed > 0 ? "failures" : undefined}>
                {ended === 0 ? "none has ended yet" : `${failed === 0 ? "none" : failed} of ${ended} failed`}
              </span>
              <a
                class="newest"
                href={`#/runs?agent=${encodeURIComponent(name)}`}
                title={exactTime(newest.updated_at)}
              >
                {timeAgo(newest.updated_at)}
              </a>
            </>
          )}
        </p>
      </div>
      {schedules.length > 0 && (
        <p class="second number">
          {schedules.length} {schedules.length === 1 ? "schedule" : "schedules"}
          {next !== undefined && `, next ${timeUntil(next)}`}
        </p>
      )}
    </article>
  );
}

function kindText({ kind, model, statechart }: Awaited<ReturnType<typeof readInspectedAgent>>): string {
  if (kind === "remote") return "on another server";
  if (model !== undefined) return model;
  return statechart === undefined ? "code" : "statechart";
}
