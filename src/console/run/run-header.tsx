import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { RunView } from "../../view/run-view.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useConsole } from "../app/context.ts";
import { AddToDataSet } from "../data-sets/add-to-data-set.tsx";
import { readInspectedProcess } from "../data/inspect.ts";
import { sendCancel, sendResume } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { ActButton } from "../parts/act-button.tsx";
import { AgentName } from "../parts/agent-name.tsx";
import { Copy } from "../parts/copy.tsx";
import { State } from "../parts/state.tsx";
import { momentTime } from "../parts/time.ts";
import { forkBefore, forkPointOf } from "./fork.ts";
import { TraceId } from "./trace-id.tsx";
import { stateOfRun, timesText, usageText } from "./run-facts.ts";

interface RunHeaderProps {
  readonly runId: string;
  readonly agent: string;
  /** The run and event that this run was forked from. */
  readonly origin: RunSummary["forked_from"];
  /** How many requests wait for the turns before them. */
  readonly queued: number;
  /** The newest view of the run. */
  readonly view: RunView;
  /** The view that is shown, which may be an older one. */
  readonly shown: RunView;
  /** Whether its events are not read yet. */
  readonly isReading: boolean;
  /** What was asked first. */
  readonly asked: string;
}

/** What a run is and does, with the button that stops it. */
export function RunHeader({
  runId,
  agent,
  origin,
  queued,
  view,
  shown,
  isReading,
  asked,
}: RunHeaderProps): VNode {
  const { server, go, say } = useConsole();
  const [isStopping, setStopping] = useState(false);
  const [isForking, setForking] = useState(false);
  const [isResuming, setResuming] = useState(false);
  const offers = useResource(server.url, (signal) => readInspectedProcess(server, signal)).value;
  const state = stateOfRun(view);
  const turn = shown.turns.at(-1);
  const isTakenOver = origin !== undefined && turn !== undefined && turn.startedId <= origin.id;
  const open = view.turns.filter(({ phase }) => phase !== "ended");
  const tokens = usageText(view.usage);

  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      await Promise.all(open.map(({ agent, requestId }) => sendCancel(server, agent, requestId)));
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setStopping(false);
  };

  const resume = async (): Promise<void> => {
    setResuming(true);
    try {
      await sendResume(server, runId);
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setResuming(false);
  };

  const point = forkPointOf(shown);
  const tryAgain = async (): Promise<void> => {
    if (point === undefined) return;
    setForking(true);
    try {
      const forked = await forkBefore(server, runId, point);
      go({ name: "run", runId: forked, tab: "chat", query: {} });
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setForking(false);
  };

  return (
    <header class="run-header">
      <div class="run-facts">
        <h1 tabIndex={-1} class="one-line" dir="auto" title={asked}>
          {asked === "" ? "…" : asked}
        </h1>
        {agent !== "" && <AgentName name={agent} isLink />}
        {state !== undefined && <State {...state} />}
        {view.stopped !== undefined && (
          <span title={view.stopped.error?.message}>
            <State name="held" word={`stopped ${momentTime(view.stopped.since)}`} />
          </span>
        )}
        {queued > 0 && <State name="queued" word={`${queued} queued`} />}
        {!isReading && (
          <span class="facts-line second number">
            {view.turns.length === 1 ? "1 turn" : `${view.turns.length} turns`}, {timesText(view)}
            {tokens !== "" && `, ${tokens}`}
          </span>
        )}
        <span class="run-id second">
          <code class="one-line" title={runId}>
            {runId}
          </code>
          <Copy text={runId} name="the id of the run" />
        </span>
        {turn !== undefined && (
          <TraceId runId={isTakenOver ? origin.run_id : runId} turn={turn} url={offers?.trace_url} />
        )}
      </div>
      <div class="end">
        {offers?.data_sets !== undefined && view.turns.some(({ phase }) => phase === "ended") && (
          <AddToDataSet class="button" runIds={[runId]} known={offers.data_sets} offered={agent} />
        )}
        {shown.created?.continues !== undefined && (
          <a
            class="button"
            href={`#/runs/${shown.created.continues}`}
            title="The run that the actor had before"
          >
            Run before
          </a>
        )}
        {shown.renewedTo !== undefined && (
          <a class="button" href={`#/runs/${shown.renewedTo}`} title="The run in which the actor continues">
            Next run
          </a>
        )}
        {origin !== undefined && (
          <a
            class="button"
            href={`#/compare/${origin.run_id}/${runId}`}
            title={`Forked from ${origin.run_id}`}
          >
            Compare
          </a>
        )}
        {point !== undefined && point.turn.held === undefined && (
          <ActButton
            key={`again ${point.turn.requestId}`}
            class="button"
            disabled={isForking}
            title="Creates a run with the history before this turn, and its input to be changed"
            onAct={() => void tryAgain()}
          >
            Try again
          </ActButton>
        )}
        {view.stopped !== undefined && (
          <ActButton
            key={`resume ${view.stopped.since}`}
            class="button primary"
            disabled={isResuming}
            title="The actor takes no requests, because its supervisor has stopped it; this ends that"
            onAct={() => void resume()}
          >
            Resume
          </ActButton>
        )}
        {open.length > 0 && (
          <ActButton
            key={`stop ${open.map(({ requestId }) => requestId).join(" ")}`}
            class="button"
            disabled={isStopping}
            onAct={() => void stop()}
          >
            Stop
          </ActButton>
        )}
      </div>
    </header>
  );
}
