import type { VNode } from "preact";
import type { StatisticsRow } from "../../protocol/answers/statistics.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { LineChart } from "../parts/line-chart.tsx";
import { duration } from "../parts/time.ts";
import { toFragment } from "../places/place.ts";
import { SumsTable } from "./sums-table.tsx";
import type { SumColumn } from "./sums-table.tsx";
import { totalCount, newestName, toPoints, toWhen } from "./statistics.ts";
import type { StatisticsRange, SumsProps } from "./statistics.ts";

/** How long turns took by their operation, and models by their name. */
export function LatencyView({ range, of }: SumsProps): VNode {
  const inTime = of(range.step);
  const mean = (what: "turns" | "completions") => (row: StatisticsRow) =>
    totalCount(row[what]) === 0 ? undefined : row[what].ms / totalCount(row[what]);
  const asked = of("model").rows.filter(({ completions }) => totalCount(completions) > 0);
  const drawn = { newest: newestName(range), toText: duration, toWhen: toWhen(range) };
  return (
    <>
      <section class="charts" aria-label="Charts">
        <LineChart
          title="Mean time of a turn, with its waits"
          points={toPoints(inTime, range, mean("turns"), undefined)}
          {...drawn}
        />
        <LineChart
          title="Mean time of a completion"
          points={toPoints(inTime, range, mean("completions"), undefined)}
          {...drawn}
        />
      </section>
      <SumsTable
        title="Turns by operation"
        rows={of("operation").rows}
        keyOf={({ name, agent = "" }) => `${agent} ${name}`}
        columns={operationColumns(range)}
        none="No turn has ended in this time."
      />
      <SumsTable
        title="Completions by model"
        rows={asked}
        keyOf={({ name }) => name}
        columns={MODEL_COLUMNS}
        none="No model was asked in this time."
      />
      <p class="second note-line">
        Half took at most p50, 95 of 100 at most p95: estimated, as if those between two of the bounds that
        the server counts were spread evenly. The bounds are from 10 ms to an hour. The time of a turn is that
        from its acceptance to its end.
      </p>
    </>
  );
}

const TIMES: readonly SumColumn<StatisticsRow>[] = [
  { label: "p50", cell: ({ latency }) => toText(latency?.p50_ms) },
  { label: "p95", cell: ({ latency }) => toText(latency?.p95_ms) },
  { label: "p99", cell: ({ latency }) => toText(latency?.p99_ms) },
];

function operationColumns(range: StatisticsRange): readonly SumColumn<StatisticsRow>[] {
  return [
    { label: "Operation", isText: true, cell: (row) => toOperation(row, range) },
    { label: "Turns", isMinor: true, cell: ({ turns }) => totalCount(turns).toLocaleString() },
    ...TIMES,
  ];
}

const MODEL_COLUMNS: readonly SumColumn<StatisticsRow>[] = [
  { label: "Model", isText: true, cell: ({ name }) => name },
  {
    label: "Completions",
    isMinor: true,
    cell: ({ completions }) => totalCount(completions).toLocaleString(),
  },
  ...TIMES,
];

/** The operation, with the runs of its agent in that time. */
function toOperation({ name, agent = "" }: StatisticsRow, { name: since }: StatisticsRange): VNode {
  return (
    <a class="operation-name" href={toFragment({ name: "runs", query: { agent, since } })}>
      <AgentName name={agent} />
      <span class="one-line">{name}</span>
    </a>
  );
}

function toText(ms: number | undefined): string {
  return ms === undefined ? "–" : duration(ms);
}
