import type { VNode } from "preact";
import type { StatisticsRow } from "../../protocol/answers/statistics.ts";
import { dollars } from "../../view/cost-text.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { Figure } from "../parts/figure.tsx";
import { LineChart } from "../parts/line-chart.tsx";
import { SumsTable } from "./sums-table.tsx";
import type { SumColumn } from "./sums-table.tsx";
import {
  knownCost,
  knownSpend,
  newestName,
  spendText,
  toPoints,
  tokenCount,
  totalCount,
  toWhen,
} from "./statistics.ts";
import type { StatisticsRange, SumsProps } from "./statistics.ts";

/** What models have cost: by time, agent, model and owner. */
export function SpendView({ range, of }: SumsProps): VNode {
  const inTime = of(range.step);
  const { total } = inTime;
  const { input_tokens: into = 0, cached_input_tokens: cached = 0, output_tokens: out = 0 } = total.usage;
  const paid = of("agent").rows.filter(hasCompletions);
  // A server without owners has only the default one.
  const owned = of("owner").rows.filter(hasCompletions);
  const whole = total.usage.cost ?? 0;
  const share = (row: StatisticsRow): number => (whole === 0 ? 0 : (row.usage.cost ?? 0) / whole);
  const days = inTime.rows.filter(hasCompletions).toReversed();
  const when = toWhen(range);
  return (
    <>
      <dl class="figures">
        <Figure
          name="Spend"
          note={total.unknown_costs > 0 && whole > 0 ? "the part that is known" : undefined}
        >
          {knownSpend(total)}
        </Figure>
        <Figure name="Unknown costs" note="completions of models without a price, or interrupted">
          {total.unknown_costs.toLocaleString()}
        </Figure>
        <Figure name="Completions">{totalCount(total.completions).toLocaleString()}</Figure>
        <Figure name="Input tokens" note={`${cached.toLocaleString()} from a cache`}>
          {into.toLocaleString()}
        </Figure>
        <Figure name="Output tokens">{out.toLocaleString()}</Figure>
      </dl>
      <section class="charts" aria-label="Charts">
        <LineChart
          title={`Spend by the ${range.step}`}
          points={toPoints(inTime, range, knownCost, 0)}
          newest={newestName(range)}
          toText={dollars}
          toWhen={when}
        />
        <LineChart
          title={`Tokens by the ${range.step}`}
          points={toPoints(inTime, range, tokenCount, 0)}
          newest={newestName(range)}
          toText={(count) => count.toLocaleString()}
          toWhen={when}
        />
      </section>
      <div class="sums-grid">
        <SumsTable
          title="By agent"
          rows={paid}
          keyOf={nameOf}
          share={share}
          columns={AGENT_COLUMNS}
          none="No agent has asked a model in this time."
        />
        <SumsTable
          title="By model"
          rows={of("model").rows.filter(hasCompletions)}
          keyOf={nameOf}
          share={share}
          columns={namedColumns("Model")}
          none="No model was asked in this time."
        />
        {owned.some(({ name }) => name !== NO_OWNER) && (
          <SumsTable
            title="By owner"
            rows={owned}
            keyOf={nameOf}
            share={share}
            columns={namedColumns("Owner")}
            none=""
          />
        )}
        <SumsTable
          title={`By ${range.step}`}
          rows={days}
          keyOf={nameOf}
          columns={timeColumns(range)}
          none="Nothing was spent in this time."
        />
      </div>
    </>
  );
}

/** The owner of everything where clients are not told apart. */
const NO_OWNER = "default";

const SUMS: readonly SumColumn<StatisticsRow>[] = [
  {
    label: "Completions",
    isMinor: true,
    cell: ({ completions }) => totalCount(completions).toLocaleString(),
  },
  { label: "Tokens", cell: (row) => tokenCount(row).toLocaleString() },
  { label: "Spend", cell: toSpend },
];

const AGENT_COLUMNS: readonly SumColumn<StatisticsRow>[] = [
  { label: "Agent", isText: true, cell: toAgent },
  ...SUMS,
];

function namedColumns(label: string): readonly SumColumn<StatisticsRow>[] {
  return [{ label, isText: true, cell: nameOf }, ...SUMS];
}

function timeColumns(range: StatisticsRange): readonly SumColumn<StatisticsRow>[] {
  const when = toWhen(range);
  const label = range.step === "hour" ? "Hour" : "Day, UTC";
  return [{ label, isText: true, cell: ({ name }) => when(Date.parse(name)) }, ...SUMS];
}

function toAgent({ name }: StatisticsRow): VNode {
  return <AgentName name={name} isLink />;
}

function toSpend(row: StatisticsRow): VNode {
  const unknown = row.unknown_costs;
  return (
    <span title={unknown > 0 ? `${unknown.toLocaleString()} completions of unknown cost` : undefined}>
      {spendText(row)}
    </span>
  );
}

function hasCompletions({ completions }: StatisticsRow): boolean {
  return totalCount(completions) > 0;
}

function nameOf({ name }: StatisticsRow): string {
  return name;
}
