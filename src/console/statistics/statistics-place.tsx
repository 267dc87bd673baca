import "../styles/overview.css";
import "../styles/statistics.css";
import type { ComponentType, VNode } from "preact";
import type { StatisticsAnswer } from "../../protocol/answers/statistics.ts";
import { useConsole } from "../app/context.ts";
import { readInspectedProcess } from "../data/inspect.ts";
import { useResource } from "../data/resource.ts";
import { useInterval } from "../parts/hooks/interval.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { EvaluationView } from "./evaluation-view.tsx";
import { FailuresView } from "./failures-view.tsx";
import { LatencyView } from "./latency-view.tsx";
import { SpendView } from "./spend-view.tsx";
import { RANGES, readSums, totalCount } from "./statistics.ts";
import type { RangeName, StatisticsRange, SumsProps } from "./statistics.ts";

type StatisticsAddress = ConsolePlace & { readonly name: "statistics" };

type ViewName = "spend" | "failures" | "latency";

/**
 * What turns and completions have cost, why they failed, how long they took: sums of the server by the hour. Beside them what evaluations have
 * found, for who may see the data sets of the project.
 */
export function StatisticsPlace({ place }: { readonly place: StatisticsAddress }): VNode {
  const { server, go } = useConsole();
  const { value: offers, error } = useResource(server.url, (signal) => readInspectedProcess(server, signal));
  const { name: view } = VIEWS.find(({ name }) => name === place.query["view"]) ?? VIEWS[0];
  const range = RANGES.find(({ name }) => name === place.query["range"]) ?? RANGES[0];
  const names = offers?.data_sets;
  const isEvaluation = place.query["view"] === "evaluation";
  return (
    <div class="page statistics">
      <div class="heading">
        <h1 tabIndex={-1}>Statistics</h1>
        {!isEvaluation && (
          <select
            class="input"
            aria-label="Time"
            value={range.name}
            onChange={({ currentTarget }) => {
              const name = currentTarget.value as RangeName;
              go(withQuery(place, { range: name === "day" ? "" : name }), { replace: true });
            }}
          >
            {RANGES.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        )}
      </div>
      <Tabs<ViewName | "evaluation">
        label="Views"
        tabs={names === undefined && !isEvaluation ? VIEWS : [...VIEWS, EVALUATION]}
        selected={isEvaluation ? "evaluation" : view}
        onSelect={(name) => go(withQuery(place, { view: name === "spend" ? "" : name }))}
      />
      {isEvaluation &&
        offers === undefined &&
        (error ? <RefusalNote error={error} /> : <div aria-busy="true" />)}
      {isEvaluation && offers !== undefined && (
        <EvaluationView
          names={names ?? []}
          name={names?.find((one) => one === place.query["set"]) ?? names?.[0] ?? ""}
          onSelect={(set) => go(withQuery(place, { set }), { replace: true })}
        />
      )}
      {!isEvaluation && <Sums key={view} view={view} range={range} />}
    </div>
  );
}

const VIEWS = [
  { name: "spend", label: "Spend" },
  { name: "failures", label: "Failures" },
  { name: "latency", label: "Latency" },
] as const;

const EVALUATION = { name: "evaluation", label: "Evaluation" } as const;

/** What each view groups by, beside the hour or the day. */
const GROUPS: Readonly<Record<ViewName, readonly string[]>> = {
  spend: ["agent", "model", "owner"],
  failures: ["error"],
  latency: ["operation", "model"],
};

function Sums({ view, range }: { readonly view: ViewName; readonly range: StatisticsRange }): VNode {
  const { server } = useConsole();
  const key = `${server.url} ${view} ${range.name}`;
  const { value, error, reload } = useResource(key, async (signal) => {
    const groups = [range.step, ...GROUPS[view]];
    const answers = await Promise.all(groups.map((by) => readSums(server, by, range, signal)));
    const known = new Map(groups.map((by, at) => [by, answers[at]]));
    return { range, of: (by: string) => known.get(by) ?? NOTHING };
  });
  useInterval(reload, AGAIN_MS);
  const View = PARTS[view];
  if (value === undefined)
    return error === undefined ? <div aria-busy="true" /> : <RefusalNote error={error} />;
  const isStale = value.range !== range || error !== undefined;
  const { turns, completions } = value.of(value.range.step).total;
  return (
    <>
      {error !== undefined && (
        <>
          <RefusalNote error={error} />
          <p class="second">What is below was read before.</p>
        </>
      )}
      <div class={isStale ? "sums-body stale" : "sums-body"} aria-busy={value.range !== range}>
        {totalCount(turns) + totalCount(completions) === 0 && (
          <p class="nothing second">
            Nothing was counted in this time. <a href="#/agents">Ask an agent →</a>
          </p>
        )}
        <View {...value} />
        <Since answer={value.of(value.range.step)} />
      </div>
    </>
  );
}

const PARTS: Readonly<Record<ViewName, ComponentType<SumsProps>>> = {
  spend: SpendView,
  failures: FailuresView,
  latency: LatencyView,
};

/** Says if a part of the time is not known. */
function Since({ answer: { since, from } }: { readonly answer: StatisticsAnswer }): VNode {
  if (since === undefined || since <= from) return <></>;
  return (
    <p class="second note-line">
      Counted since {SINCE.format(new Date(since))}. What was before is not known.
    </p>
  );
}

const SINCE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const AGAIN_MS = 10_000;

const NO_TURNS = { success: 0, error: 0, canceled: 0, ms: 0 };
const NOTHING: StatisticsAnswer = {
  by: "agent",
  from: "",
  until: "",
  total: { name: "", turns: NO_TURNS, completions: NO_TURNS, usage: {}, unknown_costs: 0 },
  rows: [],
};
