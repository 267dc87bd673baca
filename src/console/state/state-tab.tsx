import "../styles/state.css";
import type { ComponentChildren, VNode } from "preact";
import { callKey } from "../../view/run-view.ts";
import type { RunView } from "../../view/run-view.ts";
import type { Json } from "../../protocol/json.ts";
import type { InspectedMachine, InspectedRun } from "../../runtime/inspection.ts";
import { useConsole } from "../app/context.ts";
import { readInspectedRun } from "../data/inspect.ts";
import { useResource } from "../data/resource.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { exactTime } from "../parts/time.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { PromptPart } from "./prompt-part.tsx";
import { useEffect, useRef, useState } from "preact/hooks";

/** The state of a run as of the chosen event: what its agents remember, where its machines are, what it is asked. */
export function StateTab(props: RunTabProps): VNode {
  return props.view.head === 0 ? <div aria-busy="true" /> : <State {...props} />;
}

function State({ view, actor, isPast }: RunTabProps): VNode {
  const { server } = useConsole();
  const { runId } = view;
  const at = useThrottled(isPast ? view.head : -view.head, READ_MS);
  const { value: now, error } = useResource(`${server.url} ${runId} ${at}`, (signal) =>
    readInspectedRun(server, runId, { at: at > 0 ? at : undefined, signal }),
  );
  const began = view.turns.at(-1)?.startedId;
  const { value: before } = useResource(`${server.url} ${runId} ${began ?? 0}`, async (signal) =>
    began === undefined ? undefined : readInspectedRun(server, runId, { at: began, signal }),
  );
  if (now === undefined)
    return error === undefined ? <div aria-busy="true" /> : <RefusalNote error={error} />;
  return (
    <div
      class="state-tab"
      tabIndex={0}
      role="group"
      aria-label="State"
      aria-busy={Math.abs(at) !== view.head}
    >
      <p class="tab-note second">
        As of event {now.at}.
        {began !== undefined &&
          began < now.at &&
          ` Marked is what has changed since the turn began at event ${began}.`}
        {!isPast && (now.in_memory ? " The run is in memory." : " The run is not in memory.")}
      </p>
      <Memory now={now} before={before} agents={actor && agentsIn(view)} />
      <Machines now={now} before={before} view={view} />
      <Mailbox now={now} />
      <Configuration now={now} before={before} />
      <PromptPart view={view} />
    </div>
  );
}

/** The pause between two readings while the scrubber moves or the run continues. */
const READ_MS = 500;

/** The agents of a view that is narrowed to an actor. */
function agentsIn({ calls }: RunView): ReadonlySet<string> {
  return new Set([...calls.values()].map(({ name }) => name));
}

interface PartProps {
  readonly now: InspectedRun;
  readonly before: InspectedRun | undefined;
}

interface MemoryProps extends PartProps {
  /** The agents that are shown; all by default. */
  readonly agents: ReadonlySet<string> | undefined;
}

function Memory({ now, before, agents }: MemoryProps): VNode {
  const shown = Object.entries(now.memory).filter(([agent]) => agents?.has(agent) !== false);
  return (
    <Part title="Memory">
      {shown.length === 0 && (
        <p class="second">
          {agents === undefined ? "No agent has remembered anything." : "It has remembered nothing."}
        </p>
      )}
      {shown.map(([agent, value]) => (
        <Named key={agent} name={agent} value={value} before={before && { value: before.memory[agent] }} />
      ))}
    </Part>
  );
}

function Machines({ now, before, view }: PartProps & { readonly view: RunView }): VNode | null {
  const shown = now.machines.filter((machine) => view.machines.has(keyOf(machine)));
  if (shown.length === 0) return null;
  return (
    <Part title="Machines">
      {shown.map((machine) => {
        const key = keyOf(machine);
        const earlier = before?.machines.find((other) => keyOf(other) === key);
        return (
          <Named
            key={key}
            name={view.machines.get(key)?.agent ?? machine.call_id}
            about={machine.status === "active" ? stateText(machine.value) : machine.status}
            value={contextOf(machine)}
            before={before && { value: earlier && contextOf(earlier) }}
          />
        );
      })}
    </Part>
  );
}

/** The key of a call in the view of its run. */
function keyOf({ request_id: requestId, call_id: callId }: InspectedMachine): string {
  return callKey(requestId, callId);
}

/** The context of a machine, with those of the machines inside it. */
function contextOf({ context, children }: Omit<InspectedMachine, "request_id" | "call_id">): Json {
  if (children === undefined) return context;
  const inside = Object.entries(children).map(([id, child]): [string, Json] => [
    id,
    { value: child.value, context: contextOf(child) },
  ]);
  return { context, machines: Object.fromEntries(inside) };
}

function stateText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value).replaceAll('"', "");
}

function Mailbox({ now: { queued, unread } }: { readonly now: InspectedRun }): VNode {
  return (
    <Part title="Mailbox">
      {queued.length + unread.length === 0 && <p class="second">Nothing waits for the next turn.</p>}
      {queued.map((request) => (
        <div key={request.request_id} class="state-item">
          <h3>
            {request.operation}{" "}
            <span class="second mono" title={`accepted ${exactTime(request.accepted_at)}`}>
              {request.request_id}
            </span>
          </h3>
          <JsonTree value={request.input} />
        </div>
      ))}
      {unread.map(({ id, name }) => (
        <p key={id}>
          message {name}, event {id}
        </p>
      ))}
    </Part>
  );
}

function Configuration({ now: { config }, before }: PartProps): VNode {
  return (
    <Part title="Configuration">
      {config === null ? (
        <p class="second">The run is not configured.</p>
      ) : (
        <Named
          name={`version ${config.version}`}
          value={config.args}
          before={before && { value: before.config?.args }}
        />
      )}
    </Part>
  );
}

interface NamedProps {
  readonly name: string;
  readonly about?: string;
  readonly value: Json;
  /** The value when the turn began. */
  readonly before: { readonly value: Json | undefined } | undefined;
}

function Named({ name, about, value, before }: NamedProps): VNode {
  return (
    <div class="state-item">
      <h3>
        {name} {about !== undefined && <span class="second">{about}</span>}
      </h3>
      <JsonTree value={value} open={3} earlier={before} />
    </div>
  );
}

interface TitledProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

function Part({ title, children }: TitledProps): VNode {
  return (
    <section class="state-part" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** A value that changes at most once in a time in milliseconds. The last value is always reached. */
function useThrottled<Value>(value: Value, ms: number): Value {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    const show = (): void => {
      changedAt.current = performance.now();
      setShown(value);
    };
    const leftMs = changedAt.current + ms - performance.now();
    if (leftMs <= 0) {
      show();
      return undefined;
    }
    const timer = setTimeout(show, leftMs);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown;
}
