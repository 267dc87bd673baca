import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunStatus } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { Playground } from "../agents/playground.tsx";
import type { ActorFacts } from "../data/actors.ts";
import { useRunChanges } from "../data/changes.ts";
import { readInspectedRun } from "../data/inspect.ts";
import { readAgent } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { DeadLetters } from "../health/dead-letters.tsx";
import { ScheduleList } from "../health/schedules.tsx";
import { JsonTree } from "../json/json-tree.tsx";
import { AgentName } from "../parts/agent-name.tsx";
import { Copy } from "../parts/copy.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import { exactTime, momentTime, timeAgo, timeUntil } from "../parts/time.ts";
import { listedState } from "../runs/run-words.ts";

interface ActorDetailProps {
  readonly runId: string;
  /** What the process says about it; absent if it is not in memory. */
  readonly facts: ActorFacts | undefined;
  onClose(): void;
}

/** One actor: its memory, its mailbox, its schedules, its dead letters, and a form that sends to it. */
export function ActorDetail({ runId, facts, onClose }: ActorDetailProps): VNode {
  const { server } = useConsole();
  const heading = useRef<HTMLHeadingElement>(null);
  const status = useResource(`${server.url} ${runId}`, async (signal) => {
    const { json } = await server.ask("GET", `/runs/${encodeURIComponent(runId)}`, { signal });
    return json as RunStatus;
  });
  const inspected = useResource(`${server.url} ${runId}`, (signal) =>
    readInspectedRun(server, runId, { signal }),
  );
  const { reload: reloadStatus } = status;
  const { reload: reloadState } = inspected;
  const [reload] = useState(() => () => {
    reloadStatus();
    reloadState();
  });
  useRunChanges(server, reload, (row) => row.run_id === runId);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const { value: run, error } = status;
  const { value: now } = inspected;
  const state = run && listedState(run);
  return (
    <section class="actor-detail" aria-label="Actor">
      <div class="heading">
        <h2 tabIndex={-1} ref={heading} dir="auto">
          {run?.key ?? "Actor without a key"}
        </h2>
        {state !== undefined && <State {...state} />}
        <div class="end">
          <button type="button" class="button quiet small" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
      {error !== undefined && run === undefined && <RefusalNote error={error} />}
      {run !== undefined && (
        <>
          <dl class="facts">
            <dt>Agent</dt>
            <dd>
              <AgentName name={run.agent} isLink />
            </dd>
            <dt>Run</dt>
            <dd>
              <a class="mono" href={`#/runs/${runId}`}>
                {runId}
              </a>{" "}
              <Copy label="copy" name="the id of the run" text={runId} />
            </dd>
            <dt>In memory</dt>
            <dd>{facts === undefined ? "no: it is read from the log when something comes" : "yes"}</dd>
            <dt>Changed</dt>
            <dd title={exactTime(run.updated_at)}>{timeAgo(run.updated_at)}</dd>
            {run.wake_at !== undefined && (
              <>
                <dt>Goes on by itself</dt>
                <dd title={exactTime(run.wake_at)}>{momentTime(run.wake_at)}</dd>
              </>
            )}
            {facts?.expires_at !== undefined && (
              <>
                <dt>Expires</dt>
                <dd title={exactTime(facts.expires_at)}>
                  {timeUntil(facts.expires_at)}, unless something comes before
                </dd>
              </>
            )}
          </dl>
          <Part title="Memory">
            {now === undefined ? (
              <p class="second">…</p>
            ) : Object.keys(now.memory).length === 0 && now.machines.length === 0 ? (
              <p class="second">It has remembered nothing.</p>
            ) : (
              <>
                {Object.entries(now.memory).map(([agent, value]) => (
                  <div key={agent} class="actor-memory">
                    {agent !== run.agent && <h3>{agent}</h3>}
                    <JsonTree value={value} />
                  </div>
                ))}
                {now.machines.map((machine) => (
                  <div key={`${machine.request_id} ${machine.call_id}`} class="actor-memory">
                    <h3>State of its chart</h3>
                    <JsonTree value={{ state: machine.value, context: machine.context }} />
                  </div>
                ))}
              </>
            )}
          </Part>
          <Part title="Mailbox">
            {now === undefined || now.queued.length + now.unread.length === 0 ? (
              <p class="second">It is empty.</p>
            ) : (
              <ul class="list" aria-label="Mailbox">
                {now.queued.slice(0, SHOWN).map(({ request_id: id, operation, input, accepted_at: at }) => (
                  <li key={id} class="mail">
                    <span class="name">{operation}</span>
                    <code class="one-line second">{JSON.stringify(input)}</code>
                    <span class="second number" title={exactTime(at)}>
                      {timeAgo(at)}
                    </span>
                  </li>
                ))}
                {now.unread.slice(0, SHOWN).map(({ id, name }) => (
                  <li key={id} class="mail">
                    <span class="name">{name}</span>
                    <span class="second">unread message</span>
                    <a class="second number" href={`#/runs/${runId}/events?at=${id}`}>
                      event {id}
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </Part>
          <SendPart run={run} onSent={reload} />
          <ScheduleList runId={runId} />
          <DeadLetters runId={runId} />
        </>
      )}
    </section>
  );
}

/** How much of a mailbox is on the page. */
const SHOWN = 50;

function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }): VNode {
  return (
    <section class="actor-part" aria-label={title}>
      <h3 class="part-title">{title}</h3>
      {children}
    </section>
  );
}

/** A form for each of its operations. What is sent waits in the mailbox while a turn is open. */
function SendPart({ run, onSent }: { readonly run: RunStatus; onSent(): void }): VNode {
  const { server, say } = useConsole();
  const [name, setName] = useState<string>();
  const { value } = useResource(`${server.url} ${run.agent}`, (signal) =>
    readAgent(server, run.agent, signal),
  );
  const operations = value?.operations ?? [];
  const operation = operations.find((one) => one.name === name) ?? operations[0];
  return (
    <Part title="Send to it">
      {operation === undefined ? (
        <p class="second">Its agent is not served here.</p>
      ) : (
        <>
          {operations.length > 1 && (
            <select
              class="input"
              aria-label="Operation"
              value={operation.name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            >
              {operations.map((one) => (
                <option key={one.name}>{one.name}</option>
              ))}
            </select>
          )}
          <Playground
            key={operation.name}
            agent={run.agent}
            operation={operation}
            runId={run.run_id}
            onSent={({ end }) => {
              say(end === undefined ? "Sent." : answerText(end));
              onSent();
            }}
          />
        </>
      )}
    </Part>
  );
}

function answerText(end: object): string {
  const { output, result } = end as { readonly output?: unknown; readonly result?: unknown };
  return `It answers ${JSON.stringify(output ?? result ?? null).slice(0, 200)}`;
}
