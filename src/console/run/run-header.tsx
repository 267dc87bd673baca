import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { RunView } from "../../client/view/run-view.ts";
import { useConsole } from "../app/context.ts";
import { cancelTurn } from "../data/requests.ts";
import { Copy } from "../parts/copy.tsx";
import { State } from "../parts/state.tsx";
import { stateOfRun, timesText, usageText } from "./run-facts.ts";

/** What a run is and does, with the button that stops it. */
export function RunHeader({ runId, view }: { readonly runId: string; readonly view: RunView }): VNode {
  const { server, say } = useConsole();
  const [isStopping, setStopping] = useState(false);
  const state = stateOfRun(view);
  const open = view.turns.filter(({ phase }) => phase !== "ended");
  const tokens = usageText(view.usage);

  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      await Promise.all(open.map(({ agent, requestId }) => cancelTurn(server, agent, requestId)));
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setStopping(false);
  };

  return (
    <header class="run-header">
      <h1 tabIndex={-1} class="one-line">
        <a href={`#/agents/${encodeURIComponent(view.agent)}`}>{view.agent === "" ? "…" : view.agent}</a>
      </h1>
      {state !== undefined && <State {...state} />}
      <span class="facts-line second number">
        {view.turns.length === 1 ? "1 turn" : `${view.turns.length} turns`}, {timesText(view)}
        {tokens !== "" && `, ${tokens}`}
      </span>
      <span class="run-id second">
        <code class="one-line" title={runId}>
          {runId}
        </code>
        <Copy text={runId} name="the id of the run" />
      </span>
      <div class="end">
        {open.length > 0 && (
          <button type="button" class="button" disabled={isStopping} onClick={() => void stop()}>
            Stop
          </button>
        )}
      </div>
    </header>
  );
}
