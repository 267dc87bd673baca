import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { RunView, TurnView } from "../../view/run-view.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { Markdown } from "../parts/markdown/markdown.tsx";
import { State } from "../parts/state.tsx";
import { hasOutput, unsaidResult } from "./chat-items.ts";
import { stateOfTurn, timesText, usageText } from "../run/run-facts.ts";

/** How a turn ended: its output or error, and where its time went. */
export function TurnSummary({ turn, view }: { readonly turn: TurnView; readonly view: RunView }): VNode {
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- The turn has ended, so that nothing more of the view changes.
  return useMemo(() => drawEnd(turn, view), [turn]);
}

function drawEnd(turn: TurnView, view: RunView): VNode {
  const unsaid = unsaidResult(view, turn);
  const tokens = usageText(turn.usage);
  return (
    <div class="turn-end">
      {unsaid !== undefined && (
        <div class="said">
          <p class="who">{turn.agent}</p>
          <div class="prose" dir="auto">
            <Markdown text={unsaid} />
          </div>
        </div>
      )}
      {turn.output !== undefined && hasOutput(turn) && (
        <div class="output">
          <h3>Output</h3>
          <JsonTree value={turn.output} />
        </div>
      )}
      {turn.error !== undefined && (
        <p class="note failed" dir="auto">
          {turn.error.message}
        </p>
      )}
      <p class="turn-line number">
        <State {...stateOfTurn(turn, view)} />
        <span class="second">
          {timesText(turn)}
          {tokens !== "" && `, ${tokens}`}
        </span>
        {turn.canceledBy !== undefined && (
          <span class="second" dir="auto">{`by ${turn.canceledBy.name ?? turn.canceledBy.id}`}</span>
        )}
      </p>
    </div>
  );
}
