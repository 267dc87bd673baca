import type { VNode } from "preact";
import { useConsole } from "../app/context.ts";
import type { Sent } from "../data/requests.ts";
import { chatItems } from "../chat/chat-items.ts";
import { Message } from "../chat/message.tsx";
import { stateOfRun } from "../run/run-facts.ts";
import { TurnEnd } from "../chat/turn-end.tsx";
import { useRun } from "../run/use-run.ts";
import { State } from "../parts/state.tsx";

/** What an operation answered, as it comes. */
export function Answer({ sent }: { readonly sent: Sent }): VNode {
  const { server } = useConsole();
  const { view } = useRun(server, sent.requestId);
  const state = stateOfRun(view);
  return (
    <div class="form">
      <div class="actions">
        <h2>Answer</h2>
        {state !== undefined && <State {...state} />}
        <span class="second number">
          {view.head} {view.head === 1 ? "event" : "events"}
        </span>
        <a href={`#/runs/${sent.runId}`}>Open the run →</a>
      </div>
      <div class="chat-lines" role="log" aria-label="Conversation">
        {chatItems(view).map((item) =>
          item.kind === "end" ? (
            <TurnEnd key={`end ${item.id}`} turn={item.turn} view={view} />
          ) : (
            <Message key={item.id} message={item.message} view={view} isPast={false} />
          ),
        )}
      </div>
    </div>
  );
}
