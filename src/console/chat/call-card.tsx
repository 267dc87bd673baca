import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CallView, PartView, RunView } from "../../view/run-view.ts";
import { useConsole } from "../app/context.ts";
import { toFragment, withQuery } from "../places/place.ts";
import { useNow } from "../parts/hooks/clock.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { SIGNS } from "../parts/state.tsx";
import { duration } from "../parts/time.ts";
import { messagesOf } from "./chat-items.ts";
import { callMs, stateOfCall, usageText } from "../run/run-facts.ts";
import { callSigns } from "../../view/run-view.ts";
import { kindWord } from "../run/kinds.ts";

interface CallCardProps {
  readonly call: CallView;
  readonly view: RunView;
  /** Draws a message of the called agent. */
  readonly renderMessage: (message: PartView) => VNode;
}

/** A call as one line, which opens to what went in and came out. */
export function CallCard({ call, view, renderMessage }: CallCardProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const now = useNow(call.endedAt === undefined);
  const state = stateOfCall(call, view);
  return (
    <details
      class={`call ${state.name}`}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span class={`state ${state.name}`} title={state.word ?? state.name}>
          <span class="sign" aria-hidden="true">
            {SIGNS[state.name]}
          </span>
          <span class="only-read">{state.word ?? state.name}</span>
        </span>
        <span class="kind" title={kindWord(call.kind)} aria-hidden="true">
          {callSigns[call.kind]}
        </span>
        <span class="name one-line">{call.functionName ?? call.name}</span>
        <span class="gist second one-line mono">{toGist(call)}</span>
        <span class="second number">{duration(callMs(call, now))}</span>
      </summary>
      {isOpen && <Inside call={call} view={view} renderMessage={renderMessage} />}
    </details>
  );
}

function Inside({ call, view, renderMessage }: CallCardProps): VNode {
  // Questions and files are in the conversation itself.
  const inner = messagesOf(view, call.key).filter(
    ({ kind }) => !["wait", "answer", "expiry", "file"].includes(kind),
  );
  return (
    <div class="call-inside">
      <CallDetail call={call}>
        {inner.length > 0 && (
          <>
            <h3>{call.name}</h3>
            {inner.map(renderMessage)}
          </>
        )}
      </CallDetail>
    </div>
  );
}

interface CallDetailProps {
  readonly call: CallView;
  /** What is shown between what went in and what came out. */
  readonly children?: VNode | false;
}

/** What went into a call and what came out. */
export function CallDetail({ call, children = false }: CallDetailProps): VNode {
  const { args, progress, error, outcome, result, text, usage } = call;
  const tokens = usage === undefined ? "" : usageText(usage);
  return (
    <>
      {args !== undefined && (
        <>
          <h3>Input</h3>
          <JsonTree value={args} />
        </>
      )}
      {children}
      {progress !== "" && (
        <>
          <h3>Progress</h3>
          <pre class="code">{progress}</pre>
        </>
      )}
      {error !== undefined && <p class="note failed">{error}</p>}
      {outcome === "success" && (
        <>
          <h3>Result</h3>
          {result === undefined || result === null ? (
            <p class="plain">{text ?? "nothing"}</p>
          ) : (
            <JsonTree value={result} />
          )}
        </>
      )}
      {tokens !== "" && <p class="second number">{tokens}</p>}
      {call.kind === "model" && <PromptLink call={call} />}
    </>
  );
}

/** Leads to what a completion was asked, if its run is open. */
function PromptLink({ call: { key } }: { readonly call: CallView }): VNode | null {
  const { place } = useConsole();
  if (place.name !== "run") return null;
  const state = withQuery({ ...place, tab: "state" }, { completion: key });
  return (
    <p>
      <a href={toFragment(state)}>What it was asked →</a>
    </p>
  );
}

/** What a closed card shows of the result, the error or the input. */
function toGist({ outcome, error, result, text, args }: CallView): string {
  if (error !== undefined) return error;
  if (outcome === "success")
    return `→ ${result === undefined || result === null ? (text ?? "") : JSON.stringify(result)}`.slice(
      0,
      200,
    );
  return args === undefined ? "" : JSON.stringify(args).slice(0, 200);
}
