import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { MachineView } from "../../view/run-view.ts";
import type { Statechart } from "../../protocol/answers/statechart.ts";
import { useConsole } from "../app/context.ts";
import { readAgent } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { clockTime } from "../parts/time.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { Chart } from "./chart.tsx";
import { activePaths, possibleEvents } from "./states.ts";

/** The statecharts of the machines of a run, as of the chosen event. */
export function ChartTab({ view, onAt }: RunTabProps): VNode {
  const actors = [...view.machines.keys()];
  const [wanted, setWanted] = useState<string>();
  // The newest machine of an actor is shown until one is chosen.
  const newest = actors.findLast((key) => view.machines.get(key)?.machine === undefined);
  const actor = wanted !== undefined && actors.includes(wanted) ? wanted : newest;
  const machine = actor === undefined ? undefined : view.machines.get(actor);
  const agent = machine?.agent ?? view.agent;
  if (agent === "") return <div />;
  return (
    <div class="chart-tab">
      {actors.length > 1 && (
        <div class="filters">
          <select
            class="input"
            aria-label="Machine"
            value={actor ?? ""}
            onChange={({ currentTarget }) => setWanted(currentTarget.value)}
          >
            {actors.map((key) => (
              <option key={key} value={key}>
                {view.machines.get(key)?.agent} {key.slice(key.indexOf("/") + 1)}
              </option>
            ))}
          </select>
        </div>
      )}
      <AgentChart key={agent} agent={agent} machine={machine} onAt={onAt} />
    </div>
  );
}

interface AgentChartProps {
  readonly agent: string;
  readonly machine: MachineView | undefined;
  onAt(eventId: number): void;
}

function AgentChart({ agent, machine, onAt }: AgentChartProps): VNode {
  const { server } = useConsole();
  const { value, error } = useResource(`${server.url} ${agent}`, (signal) =>
    readAgent(server, agent, signal),
  );
  if (error !== undefined) return <RefusalNote error={error} />;
  if (value === undefined) return <div aria-busy="true" />;
  const { statechart } = value;
  // That of a machine inside the machine is found by its hash.
  const chart = statechart?.machines?.find(({ hash }) => hash === machine?.chart) ?? statechart;
  if (chart === undefined) {
    return <p class="tab-note second">{agent} is a function; only machines have a chart.</p>;
  }
  const isOther = machine?.chart !== undefined && machine.chart !== chart.hash;
  return (
    <div class="chart-and-text">
      {isOther && (
        <p class="note waiting">
          Made by another version of this chart. It is lit as far as its states still exist.
        </p>
      )}
      <Chart agent={agent} chart={chart} machine={machine} />
      <ChartText chart={chart} machine={machine} onAt={onAt} />
    </div>
  );
}

interface ChartTextProps {
  readonly chart: Statechart;
  readonly machine: MachineView | undefined;
  onAt(eventId: number): void;
}

/** The same as the drawing, as text. */
function ChartText({ chart, machine, onAt }: ChartTextProps): VNode {
  if (machine === undefined) return <p class="tab-note second">The machine has not begun.</p>;
  const active = activePaths(machine.value);
  const events = [...new Set(possibleEvents(chart, active).map(({ event }) => event ?? ""))].filter(
    (event) => event !== "",
  );
  const steps = machine.steps.slice(-STEPS).toReversed();
  return (
    <dl class="facts chart-facts">
      <dt>In</dt>
      <dd>
        {[...active].join(", ")}
        {machine.status !== "active" && ` (${machine.status === "done" ? "it is done" : "it failed"})`}
      </dd>
      <dt>Takes</dt>
      <dd>{machine.status !== "active" || events.length === 0 ? "nothing" : events.join(", ")}</dd>
      <dt>Steps</dt>
      <dd>
        <ol class="steps">
          {steps.map(({ eventId, at, from, event, to }, index) => (
            <li key={index}>
              <button type="button" class="button quiet small" onClick={() => onAt(eventId)}>
                <span class="number">{clockTime(at)}</span> {from === "" ? "start" : from} → {to ?? from}
                {event !== undefined && ` on ${event}`}
              </button>
            </li>
          ))}
        </ol>
      </dd>
    </dl>
  );
}

/** How many of the last transitions are listed. */
const STEPS = 50;
