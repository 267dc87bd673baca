import type { VNode } from "preact";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { useRunChanges } from "../data/changes.ts";
import { useResource } from "../data/resource.ts";
import { Command } from "../parts/copy.tsx";
import { Empty } from "../parts/empty.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import type { StateName } from "../parts/state.tsx";
import { duration, exactTime, timeAgo } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";

/** All runs, the newest first. */
export function RunsPlace({ place }: { readonly place: ConsolePlace & { readonly name: "runs" } }): VNode {
  const { server, go } = useConsole();
  const { agent = "", state = "", q = "" } = place.query;
  const runs = useResource(`${server.url} ${agent} ${state} ${q}`, async (signal) => {
    const query = { limit: 100, agent: agent || undefined, q: q || undefined, ...FILTERS[state] };
    return (await server.ask("GET", "/runs", { query, signal })).json as readonly RunSummary[];
  });
  const { value, error, reload } = runs;
  useRunChanges(server, reload);

  const isFiltered = agent !== "" || state !== "" || q !== "";
  if (value?.length === 0 && !isFiltered) return <NoRuns />;
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Runs</h1>
      </div>
      <div class="filters">
        <input
          class="input search"
          type="search"
          aria-label="Search in runs"
          placeholder="Search by input or id"
          value={q}
          onInput={({ currentTarget }) => go(withQuery(place, { q: currentTarget.value }), { replace: true })}
        />
        <select
          class="input"
          aria-label="State"
          value={state}
          onChange={({ currentTarget }) =>
            go(withQuery(place, { state: currentTarget.value }), { replace: true })
          }
        >
          <option value="">every state</option>
          {Object.keys(FILTERS).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {agent !== "" && (
          <button
            type="button"
            class="button"
            onClick={() => go(withQuery(place, { agent: undefined }), { replace: true })}
          >
            of {agent} ✕
          </button>
        )}
      </div>
      {error !== undefined && value === undefined && <RefusalNote error={error} />}
      {value?.length === 0 && <p class="second">No run fits the filter.</p>}
      {value !== undefined && value.length > 0 && (
        <>
          <div class="run-list-head" aria-hidden="true">
            <span>State</span>
            <span>Agent</span>
            <span>First input</span>
            <span>Last turn</span>
            <span>Tokens</span>
            <span>Changed</span>
          </div>
          <ul class="list" aria-label="Runs">
            {value.map((run) => (
              <RunRow key={run.run_id} run={run} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
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

function RunRow({ run }: { readonly run: RunSummary }): VNode {
  const state = stateOf(run);
  const took = lastTurnMs(run, Date.now());
  const { input_tokens: into = 0, output_tokens: out = 0 } = run.usage ?? {};
  const tokens = into + out;
  return (
    <li>
      <a class="row run-row" href={`#/runs/${run.run_id}`}>
        {state === undefined ? (
          <span class="second">{run.forked_from ? "forked" : "no turn"}</span>
        ) : (
          <State {...state} />
        )}
        <span class="agent one-line">{run.agent}</span>
        <span class="what one-line" dir="auto">
          {toGist(run.initial_input)}
        </span>
        <span class="worked second number">
          {took !== undefined && duration(took)}
          {run.turns > 1 && `, ${run.turns} turns`}
        </span>
        <span class="tokens second number">{tokens === 0 ? "" : tokens}</span>
        <span class="time second number" title={exactTime(run.updated_at)}>
          {timeAgo(run.updated_at)}
        </span>
      </a>
    </li>
  );
}

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

/** A run's state as a sign shows it, with a word instead of the usual one. */
interface ShownState {
  readonly name: StateName;
  readonly word?: string;
}

/** The state of a run in the list. */
function stateOf(run: RunSummary): ShownState | undefined {
  switch (run.status) {
    case "running":
      return { name: "running" };
    case "waiting":
    case "held":
      return { name: run.status };
    case "idle":
      return endOf(run);
    default: {
      const never: never = run.status;
      return never;
    }
  }
}

/** How the newest turn ended; unknown for a run that has had none. */
function endOf({ last_turn: last }: RunSummary): ShownState | undefined {
  if (last?.stopped) return { name: "held", word: "stopped" };
  switch (last?.finish_reason) {
    case "success":
      return { name: "done" };
    case "canceled":
      return { name: "canceled" };
    case "error":
      return { name: "failed", ...(last?.error_code !== undefined && { word: last.error_code }) };
    case undefined:
      return undefined;
    default:
      return undefined;
  }
}

/** The time that the newest turn took; until now if it is open. */
function lastTurnMs({ last_turn: last }: RunSummary, now: number): number | undefined {
  if (last === undefined) return undefined;
  const end = last.ended_at === undefined ? now : Date.parse(last.ended_at);
  return Math.max(0, end - Date.parse(last.started_at));
}

/** The first line of a run's first input, for the list. */
function toGist(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return text.slice(0, 300);
}
