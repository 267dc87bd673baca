import type { VNode } from "preact";
import type { StatisticsRow } from "../../protocol/answers/statistics.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { Figure } from "../parts/figure.tsx";
import { LineChart } from "../parts/line-chart.tsx";
import { Links } from "../parts/links.tsx";
import { toFragment } from "../places/place.ts";
import { SumsTable } from "./sums-table.tsx";
import type { SumColumn } from "./sums-table.tsx";
import { totalCount, newestName, toPoints, toWhen } from "./statistics.ts";
import type { StatisticsRange, SumsProps } from "./statistics.ts";

/** Turns that failed, by agent and error, with the runs where they did. */
export function FailuresView({ range, of }: SumsProps): VNode {
  const inTime = of(range.step);
  const { turns, completions } = inTime.total;
  const all = totalCount(turns);
  const whole = Math.max(1, turns.error);
  return (
    <>
      <dl class="figures">
        <Figure name="Failed turns" tone={turns.error > 0 ? "failed" : undefined}>
          {turns.error.toLocaleString()}
        </Figure>
        <Figure name="Of all turns" note={`of ${all.toLocaleString()}`}>
          {all === 0 ? "–" : percent(turns.error / all)}
        </Figure>
        <Figure name="Canceled turns">{turns.canceled.toLocaleString()}</Figure>
        <Figure name="Failed completions" note="some were tried again">
          {completions.error.toLocaleString()}
        </Figure>
      </dl>
      <section class="charts" aria-label="Charts">
        <LineChart
          title={`Turns by the ${range.step}`}
          points={toPoints(inTime, range, (row) => totalCount(row.turns), 0)}
          failed={toPoints(inTime, range, (row) => row.turns.error, 0)}
          newest={newestName(range)}
          toText={(count) => count.toLocaleString()}
          toWhen={toWhen(range)}
        />
      </section>
      <SumsTable
        title="By error"
        rows={of("error").rows}
        keyOf={({ name, agent = "" }) => `${agent} ${name}`}
        share={(row) => row.turns.error / whole}
        columns={toColumns(range)}
        none="No turn has failed in this time."
      />
    </>
  );
}

function toColumns(range: StatisticsRange): readonly SumColumn<StatisticsRow>[] {
  return [
    { label: "Error", isText: true, cell: (row) => toError(row, range) },
    { label: "Agent", isText: true, cell: toAgent },
    { label: "Turns", cell: (row) => row.turns.error.toLocaleString() },
    { label: "Newest runs", isMinor: true, isText: true, cell: toNewest },
  ];
}

function toError(row: StatisticsRow, range: StatisticsRange): VNode {
  return (
    <a class="state failed" href={toRuns(row, range)}>
      {row.name}
    </a>
  );
}

function toAgent({ agent = "" }: StatisticsRow): VNode {
  return <AgentName name={agent} isLink />;
}

function toNewest({ run_ids: ids = [] }: StatisticsRow): VNode {
  return <Links names={ids.slice(0, RUNS)} toHref={(id) => `#/runs/${encodeURIComponent(id)}`} />;
}

const RUNS = 3;

/** The list of the runs that failed so. */
function toRuns({ name, agent = "" }: StatisticsRow, { name: since }: StatisticsRange): string {
  return toFragment({ name: "runs", query: { state: "failed", agent, error: name, since } });
}

function percent(part: number): string {
  return part > 0 && part < 0.001 ? "< 0.1 %" : `${(part * 100).toFixed(1)} %`;
}
