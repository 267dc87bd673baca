import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import { useConsole } from "../app/context.ts";
import { useRequestId } from "../data/request-id.ts";
import { readAgentNames, sendTurn } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { ActButton } from "../parts/act-button.tsx";
import { AgentName } from "../parts/agent-name.tsx";
import { Command } from "../parts/copy.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import type { AgentError } from "../../errors.ts";

/** What a server without runs shows: three runs to begin with, each with one press. */
export function FirstSteps(): VNode {
  const { server } = useConsole();
  const { value: agents, error } = useResource(server.url, (signal) => readAgentNames(server, signal));
  const steps = toSteps(agents ?? []);
  return (
    <div class="page first-steps">
      <h1 tabIndex={-1}>Nothing has run yet</h1>
      <p class="second">
        Every request to an agent becomes a run: its messages, calls and questions are kept, and can be looked
        at as of any moment.
      </p>
      {error !== undefined && <RefusalNote error={error} />}
      {agents?.length === 0 && <p>The server found no agent in its directory.</p>}
      <ol class="steps-list">
        {steps.map((step, at) => (
          <Step key={step.agent} number={at + 1} {...step} />
        ))}
      </ol>
      <p class="second">Or ask one from a terminal:</p>
      <Command
        text={`curl ${location.origin}/process -H 'content-type: application/json' -d '{"input":"hello"}'`}
      />
    </div>
  );
}

interface FirstStep {
  readonly agent: string;
  readonly title: string;
  readonly input: string;
}

function Step({ number, agent, title, input }: FirstStep & { readonly number: number }): VNode {
  const { server, go } = useConsole();
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<AgentError>();
  const requestId = useRequestId(agent, input);
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      const { runId } = await sendTurn(server, requestId, agent, "chat", input);
      go({ name: "run", runId, tab: "chat", query: {} });
    } catch (thrown) {
      setError(toAgentError(thrown));
      setSending(false);
    }
  };
  return (
    <li>
      <span class="step-number" aria-hidden="true">
        {number}
      </span>
      <div class="form">
        <h2>{title}</h2>
        <p>
          <AgentName name={agent} isLink />
        </p>
        <p class="said own" dir="auto">
          {input}
        </p>
        <div class="actions">
          <ActButton
            key={agent}
            class={number === 1 ? "button primary" : "button"}
            disabled={isSending}
            onAct={() => void send()}
          >
            Send it
          </ActButton>
        </div>
        {error !== undefined && <RefusalNote error={error} />}
      </div>
    </li>
  );
}

/** Up to three steps: those of the demo agents that are served, then others. */
function toSteps(agents: readonly string[]): readonly FirstStep[] {
  const known = DEMOS.filter(({ agent }) => agents.includes(agent));
  const others = agents
    .filter((name) => !DEMOS.some(({ agent }) => agent === name))
    .map((agent) => ({ agent, title: `Ask ${agent}`, input: "hello" }));
  return [...known, ...others].slice(0, 3);
}

const DEMOS: readonly FirstStep[] = [
  {
    agent: "assistant",
    title: "An agent that asks before it pays",
    input: "what is 6 / 3, and pay bob that much",
  },
  { agent: "order", title: "A state machine that lights up", input: "a lamp" },
  { agent: "team", title: "Agents that call agents", input: "the weather in Paris" },
  { agent: "echo", title: "An agent that answers at once", input: "hello" },
];
