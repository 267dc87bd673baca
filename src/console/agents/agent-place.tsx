import "../styles/agents.css";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import { useConsole } from "../app/context.ts";
import { readAgent } from "../data/requests.ts";
import type { SentRequest } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { withQuery } from "../places/place.ts";
import { About } from "./about.tsx";
import { Playground } from "./playground.tsx";
import { chatItems } from "../chat/chat-items.ts";
import { ChatMessage } from "../chat/message.tsx";
import { stateOfRun } from "../run/run-facts.ts";
import { TurnSummary } from "../chat/turn-summary.tsx";
import { useRunStore } from "../run/use-run-store.ts";
import { State } from "../parts/state.tsx";
import { project } from "../../view/fold.ts";
import type { RunView } from "../../view/run-view.ts";

/** One agent: what it is for, its operations to try, whom it works with. */
export function AgentPlace({ agent }: { readonly agent: string }): VNode {
  const { server } = useConsole();
  const { value, error } = useResource(`${server.url} ${agent}`, (signal) =>
    readAgent(server, agent, signal),
  );
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>{agent}</h1>
        {value?.version !== undefined && <span class="second">version {value.version}</span>}
        <span class="second" dir="auto">
          {value?.purpose}
        </span>
        <div class="end">
          <a class="button" href={`#/runs?agent=${encodeURIComponent(agent)}`}>
            Its runs
          </a>
        </div>
      </div>
      {error !== undefined && <RefusalNote error={error} />}
      {value !== undefined && <Operations described={value} />}
    </div>
  );
}

function Operations({ described }: { readonly described: AgentDescriptor }): VNode {
  const { place, go } = useConsole();
  const [sent, setSent] = useState<SentRequest>();
  const { operations } = described;
  const wanted = place.query["operation"] ?? "chat";
  const operation = operations.find(({ name }) => name === wanted) ?? operations[0];
  return (
    <div class="playground">
      <section aria-label="Operations">
        <Tabs
          label="Operations"
          tabs={operations.map(({ name }) => ({ name, label: name }))}
          selected={operation?.name ?? ""}
          onSelect={(name) =>
            go(withQuery(place, { operation: name === "chat" ? undefined : name }), { replace: true })
          }
        />
        {operation !== undefined && (
          <Playground
            key={operation.name}
            agent={described.name}
            operation={operation}
            onSent={(next) => {
              if (operation.name !== "chat") setSent(next);
              else go({ name: "run", runId: next.runId, tab: "chat", query: {} });
            }}
          />
        )}
      </section>
      <section aria-label="Answer">
        {sent === undefined && <About agent={described.name} />}
        {sent?.end !== undefined && <Answered view={project([sent.end])} runId={undefined} />}
        {sent !== undefined && sent.end === undefined && <Answer key={sent.requestId} sent={sent} />}
      </section>
    </div>
  );
}

/** What an operation answered, as it comes. */
function Answer({ sent }: { readonly sent: SentRequest }): VNode {
  const { server } = useConsole();
  const { view } = useRunStore(server, sent.requestId);
  return <Answered view={view} runId={sent.runId} />;
}

interface AnsweredProps {
  readonly view: RunView;
  /** Absent for an operation that only reads. */
  readonly runId: string | undefined;
}

function Answered({ view, runId }: AnsweredProps): VNode {
  const state = stateOfRun(view);
  return (
    <div class="form">
      <div class="actions">
        <h2>Answer</h2>
        {state !== undefined && <State {...state} />}
        {runId !== undefined && (
          <>
            <span class="second number">
              {view.head} {view.head === 1 ? "event" : "events"}
            </span>
            <a href={`#/runs/${runId}`}>Open the run →</a>
          </>
        )}
      </div>
      <div class="chat-lines" role="log" aria-label="Conversation">
        {chatItems(view).map((item) =>
          item.kind === "end" ? (
            <TurnSummary key={`end ${item.id}`} turn={item.turn} view={view} />
          ) : (
            <ChatMessage key={item.id} message={item.message} view={view} isPast={false} />
          ),
        )}
      </div>
    </div>
  );
}
