import "../styles/state.css";
import type { VNode } from "preact";
import type { InspectedAgent, InspectedCallee } from "../../runtime/inspection.ts";
import { useConsole } from "../app/context.ts";
import { readInspectedAgent } from "../data/inspect.ts";
import { useResource } from "../data/resource.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { lazy } from "../parts/lazy.tsx";
import { Links } from "../parts/links.tsx";
import { RefusalNote } from "../parts/refusal.tsx";

const ChartPart = lazy(async () => (await import("../chart/chart.tsx")).Chart);

/** What an agent is made of: its tools, the agents it works with, its chart. */
export function About({ agent }: { readonly agent: string }): VNode {
  const { server } = useConsole();
  const { value, error } = useResource(`${server.url} ${agent}`, (signal) =>
    readInspectedAgent(server, agent, signal),
  );
  if (error !== undefined) return <RefusalNote error={error} />;
  if (value === undefined) return <div aria-busy="true" />;
  const { tools, away = [], collaborators, called_by: callers, statechart } = value;
  return (
    <div class="form">
      <Facts agent={value} />
      <Callees title="Tools" callees={tools} none="It calls no tools." />
      {away.length > 0 && <p role="status">Not available now: {away.join("; ")}.</p>}
      <Callees title="Works with" callees={collaborators} none="It calls no other agents." />
      {callers.length > 0 && (
        <>
          <h2>Called by</h2>
          <p>
            <Links names={callers} toHref={toHref} />
          </p>
        </>
      )}
      {statechart !== undefined && (
        <>
          <h2>Statechart</h2>
          <ChartPart agent={agent} chart={statechart} />
        </>
      )}
    </div>
  );
}

function Facts({ agent: { kind, model, memory, effect } }: { readonly agent: InspectedAgent }): VNode {
  const facts = [
    kind === "remote"
      ? "An agent on another server"
      : model === undefined
        ? "Made of code"
        : `Asks the model ${model}`,
    memory === "run" ? "remembers the run also when other agents call it" : "",
    effect === "unsafe" ? "is not repeated after a crash" : "",
  ];
  return <p class="second">{facts.filter((fact) => fact !== "").join(" · ")}</p>;
}

interface CalleesProps {
  readonly title: string;
  readonly callees: readonly InspectedCallee[];
  /** The sentence for an empty list. */
  readonly none: string;
}

function Callees({ title, callees, none }: CalleesProps): VNode {
  return (
    <>
      <h2>{title}</h2>
      {callees.length === 0 ? (
        <p class="second">{none}</p>
      ) : (
        <ul class="list" aria-label={title}>
          {callees.map((callee) => (
            <li key={callee.name}>
              <Callee callee={callee} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Callee({ callee }: { readonly callee: InspectedCallee }): VNode {
  const { name, agent, kind, purpose, effect, operations, served, instead_of: insteadOf } = callee;
  const marks = [
    name === agent ? "" : `the agent ${agent}`,
    insteadOf === undefined ? "" : `bound in place of ${insteadOf}`,
    kind === "remote" ? "on another server" : "",
    kind === "tool" && effect === "unsafe" ? "not repeated after a crash" : "",
  ].filter((mark) => mark !== "");
  return (
    <details class="callee">
      <summary>
        <span class="name">{name}</span>
        {marks.length > 0 && <span class="second"> {marks.join(", ")}</span>}
        <span class="second" dir="auto">
          {" "}
          {purpose}
        </span>
      </summary>
      {operations.map(({ name: operation, description, input_schema: input, output_schema: output }) => (
        <div key={operation} class="state-item">
          <h3>{operation}</h3>
          {description !== "" && description !== purpose && (
            <p class="second" dir="auto">
              {description}
            </p>
          )}
          {input !== undefined && <JsonTree value={{ input }} open={4} />}
          {output !== undefined && <JsonTree value={{ output }} open={2} />}
        </div>
      ))}
      {served && (
        <p>
          <a href={toHref(agent)}>Open {agent} →</a>
        </p>
      )}
    </details>
  );
}

function toHref(agent: string): string {
  return `#/agents/${encodeURIComponent(agent)}`;
}
