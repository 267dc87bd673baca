import "../styles/runs.css";
import type { VNode } from "preact";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { agentStyle } from "../parts/agent-hue.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { State } from "../parts/state.tsx";
import { duration, exactTime, timeAgo } from "../parts/time.ts";
import { askedIn, foundIn, listedState, troubleOf } from "./run-words.ts";

interface RunListRowProps {
  readonly run: RunSummary;
  readonly isSelected?: boolean;
  /** The words of the search that has found it. */
  readonly search?: string | undefined;
  /** Absent where runs are not selected. */
  onSelect?(isSelected: boolean): void;
}

/** A run in a list: its state, its agent, what was asked, what came of it, and how long its newest turn took. */
export function RunListRow({ run, isSelected = false, search = "", onSelect }: RunListRowProps): VNode {
  const state = listedState(run);
  const took = lastTurnMs(run, Date.now());
  const { input_tokens: into = 0, output_tokens: out = 0 } = run.usage ?? {};
  const tokens = into + out;
  const gist = askedIn(run);
  const trouble = troubleOf(run);
  const came = trouble ?? run.last_turn?.result?.replace(/\s+/g, " ");
  const found = search === "" ? undefined : foundIn(run, search);
  return (
    <div class="run-line" style={agentStyle(run.agent)}>
      {onSelect !== undefined && (
        <label class="pick">
          <input
            type="checkbox"
            checked={isSelected}
            aria-label={`Select ${gist}`}
            onChange={({ currentTarget }) => onSelect(currentTarget.checked)}
          />
        </label>
      )}
      <a class="row run-row" href={`#/runs/${run.run_id}`}>
        {state === undefined ? (
          <span class="state second">{run.forked_from ? "forked" : "no turn"}</span>
        ) : (
          <State {...state} />
        )}
        <AgentName name={run.agent} />
        <span class="what one-line">
          <span class="gist one-line" dir="auto" title={gist}>
            {found !== undefined && <span class="found">{found}</span>}
            {gist}
          </span>{" "}
          <span class={trouble === undefined ? "came one-line" : "trouble one-line"} dir="auto" title={came}>
            {came}
          </span>
        </span>
        <span class="worked second number one-line">
          {took !== undefined && `${run.last_turn?.ended_at === undefined ? "open " : ""}${duration(took)}`}
          {run.turns > 1 && `, ${run.turns} turns`}
        </span>
        <span class="tokens second number">{tokens === 0 ? "" : tokens.toLocaleString()}</span>
        <span class="time second number" title={exactTime(run.updated_at)}>
          {timeAgo(run.updated_at)}
        </span>
      </a>
    </div>
  );
}

/** The time that the newest turn took; until now if it is open. */
function lastTurnMs({ last_turn: last }: RunSummary, now: number): number | undefined {
  if (last === undefined) return undefined;
  const end = last.ended_at === undefined ? now : Date.parse(last.ended_at);
  return Math.max(0, end - Date.parse(last.started_at));
}
