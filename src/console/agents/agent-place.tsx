import "../styles/agents.css";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AgentDescriptor, OperationDescriptor } from "../../protocol/answers/descriptor.ts";
import { useConsole } from "../app/context.ts";
import { readAgent, readAgentNames } from "../data/requests.ts";
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
  const { place } = useConsole();
  const { operations } = described;
  const wanted = place.query["operation"] ?? CHAT;
  const operation = operations.find(({ name }) => name === wanted) ?? operations[0];
  const beside = operation?.name === CHAT ? place.query["beside"] : undefined;
  return (
    <Trial
      key={`${operation?.name} ${beside}`}
      described={described}
      operation={operation}
      beside={beside || undefined}
    />
  );
}

const CHAT = "chat";

/** What is shown of a request, or of the run of a chat. */
type Shown = Pick<SentRequest, "runId"> & Partial<Pick<SentRequest, "requestId" | "end">>;

interface TrialProps {
  readonly described: AgentDescriptor;
  readonly operation: OperationDescriptor | undefined;
  /** The agent that gets each message too, to compare. */
  readonly beside: string | undefined;
}

/** A form, and what comes of it: the answer of an operation, or a chat with one agent or with two at once. */
function Trial({ described, operation, beside }: TrialProps): VNode {
  const { place, go } = useConsole();
  const [sent, setSent] = useState<readonly SentRequest[]>([]);
  const isChat = operation?.name === CHAT;
  // The address has the runs of a chat, so that it is there after a reload.
  const runs = (place.query["chat"] ?? "").split(",").filter((runId) => runId !== "");
  const answers: readonly Shown[] = isChat ? runs.map((runId) => ({ runId })) : sent;
  const [own, other] = answers;
  const talk = (runIds: readonly string[]): void =>
    go(withQuery(place, { chat: runIds.length > 0 ? runIds.join(",") : undefined }), { replace: true });
  const agents = beside === undefined ? [described.name] : [described.name, beside];
  return (
    <div class={beside === undefined ? "playground" : "playground both"}>
      <section aria-label="Operations">
        <Tabs
          label="Operations"
          tabs={described.operations.map(({ name }) => ({ name, label: name }))}
          selected={operation?.name ?? ""}
          onSelect={(name) =>
            go(withQuery(place, { operation: name === CHAT ? undefined : name, chat: undefined }), {
              replace: true,
            })
          }
        />
        {operation !== undefined && (
          <Playground
            agent={described.name}
            operation={operation}
            {...(isChat && own !== undefined && { runId: own.runId })}
            {...(beside !== undefined && {
              beside: { agent: beside, ...(other !== undefined && { runId: other.runId }) },
            })}
            onSent={(...next) => {
              const made = next.filter((one) => one !== undefined);
              if (isChat) talk(made.map(({ runId }) => runId));
              else setSent(made);
            }}
          />
        )}
        {isChat && (
          <div class="actions">
            <Beside own={described.name} chosen={beside} />
            {own !== undefined && (
              <button type="button" class="button quiet" onClick={() => talk([])}>
                New chat
              </button>
            )}
          </div>
        )}
      </section>
      {agents.map((agent, at) => {
        const answer = answers[at];
        return (
          <section key={agent} aria-label={at === 0 ? "Answer" : `Answer of ${agent}`}>
            {answer === undefined && beside !== undefined && <h2>{agent}</h2>}
            {answer === undefined && <About agent={agent} />}
            {answer?.end !== undefined && !isChat && (
              <Answered title="Answer" view={project([answer.end])} runId={undefined} />
            )}
            {answer !== undefined && (isChat || answer.end === undefined) && (
              <Answer
                key={answer.requestId ?? answer.runId}
                title={isChat ? agent : "Answer"}
                runId={answer.runId}
                followed={answer.requestId ?? answer.runId}
              />
            )}
          </section>
        );
      })}
    </div>
  );
}

/** Chooses the agent beside which this one is tried. */
function Beside({ own, chosen }: { readonly own: string; readonly chosen: string | undefined }): VNode {
  const { server, place, go } = useConsole();
  const names = useResource(server.url, (signal) => readAgentNames(server, signal)).value ?? [];
  const others = names.filter((name) => name !== own);
  return (
    <select
      class="input beside"
      aria-label="Compare with"
      value={chosen ?? ""}
      onChange={({ currentTarget }) =>
        go(withQuery(place, { beside: currentTarget.value || undefined, chat: undefined }), { replace: true })
      }
    >
      <option value="">Compare with…</option>
      {others.map((name) => (
        <option key={name} value={name}>
          compare with {name}
        </option>
      ))}
    </select>
  );
}

interface AnswerProps {
  readonly title: string;
  readonly runId: string;
  /** The request that is shown, or the run. */
  readonly followed: string;
}

/** What an operation answered, or what was said in a chat, as it comes. */
function Answer({ title, runId, followed }: AnswerProps): VNode {
  const { server } = useConsole();
  const { view } = useRunStore(server, followed);
  return <Answered title={title} view={view} runId={runId} />;
}

interface AnsweredProps {
  readonly title: string;
  readonly view: RunView;
  /** Absent for an operation that only reads. */
  readonly runId: string | undefined;
}

function Answered({ title, view, runId }: AnsweredProps): VNode {
  const state = stateOfRun(view);
  return (
    <div class="form">
      <div class="actions">
        <h2>{title}</h2>
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
