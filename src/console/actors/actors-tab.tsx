import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { CallKind, CallView, RunView } from "../../view/run-view.ts";
import { CallDetail } from "../chat/call-card.tsx";
import { useNow } from "../parts/hooks/clock.ts";
import { useMedia } from "../parts/hooks/media.ts";
import { State } from "../parts/state.tsx";
import { duration, exactTime, timeAgo } from "../parts/time.ts";
import { useVisible } from "../parts/hooks/virtual.ts";
import { callSigns } from "../../view/run-view.ts";
import { kindWord, nameOfCall } from "../run/kinds.ts";
import { callMs, stateOfCall } from "../run/run-facts.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { toRows } from "../timeline/axis.ts";
import type { TimelineRow } from "../timeline/axis.ts";
import type { RunRequest } from "../../protocol/answers/status.ts";

/** The actors of a run as a tree: each turn, and the agents and tools that were called in it. */
export function ActorsTab({ whole: view, actor, queued, isPast, onAt, onActor }: RunTabProps): VNode {
  const rows = useMemo(() => toRows(view).filter(({ call }) => isActor(call.kind)), [view]);
  const now = useNow(!isPast && view.status === "running");
  const rowPx = useMedia("(max-width: 759px)") ? 36 : 28;
  const visible = useVisible(rows.length, rowPx);
  const move = (step: number): void => {
    const at = rows.findIndex(({ call }) => call.key === actor?.key);
    const next = Math.max(0, Math.min(rows.length - 1, at + step));
    onActor(rows[next]?.call.key);
    visible.scrollTo(next);
  };
  return (
    <div class="timeline-tab actors">
      <p class="tab-note second">Every turn and call is an actor. Choose one, and all tabs show it alone.</p>
      <div
        class="timeline"
        role="tree"
        aria-label="Actors"
        aria-activedescendant={actor === undefined ? undefined : idOf(actor)}
        tabIndex={0}
        ref={visible.ref}
        onClick={({ target }) => {
          const id = (target as Element).closest("[role=treeitem]")?.id;
          const row = rows.find(({ call }) => idOf(call) === id);
          if (row !== undefined) onActor(row.call.key);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          move(step);
        }}
      >
        <div role="presentation" style={{ height: `${visible.height}px` }}>
          <div role="presentation" style={{ transform: `translateY(${visible.top}px)` }}>
            {rows.slice(visible.start, visible.end).map((row) => (
              <Actor
                key={row.call.key}
                row={row}
                view={view}
                now={now}
                isSelected={row.call.key === actor?.key}
              />
            ))}
          </div>
        </div>
      </div>
      {!isPast && queued.length > 0 && <Mailbox queued={queued} />}
      {actor !== undefined && <ActorDetail call={actor} onAt={onAt} onClose={() => onActor(undefined)} />}
    </div>
  );
}

interface ActorProps {
  readonly row: TimelineRow;
  readonly view: RunView;
  readonly now: number;
  readonly isSelected: boolean;
}

function Actor({ row: { call, level }, view, now, isSelected }: ActorProps): VNode {
  const state = stateOfCall(call, view);
  return (
    <div
      class="actor-row"
      role="treeitem"
      id={idOf(call)}
      aria-level={level + 1}
      aria-selected={isSelected}
      data-call={call.callId}
    >
      <span class="one-line" style={{ paddingInlineStart: `${Math.min(level, 10) * 16}px` }}>
        <span class="second" aria-hidden="true">
          {callSigns[call.kind]}{" "}
        </span>
        {nameOfCall(call)}
        <span class="only-read">, {kindWord(call.kind)},</span>
      </span>
      <State {...state} />
      <span class="second number">{call.openCalls > 0 && `${call.openCalls} open`}</span>
      <span class="second number">{duration(callMs(call, now))}</span>
    </div>
  );
}

/** The id of the row of an actor on the page. */
function idOf({ key }: CallView): string {
  return `actor-${key}`;
}

interface ActorDetailProps {
  readonly call: CallView;
  onAt(eventId: number): void;
  onClose(): void;
}

function ActorDetail({ call, onAt, onClose }: ActorDetailProps): VNode {
  return (
    <section class="detail" aria-label={call.functionName ?? call.name}>
      <div class="actions">
        <h2>{call.name}</h2>
        <span class="second">{kindWord(call.kind)}</span>
        <button type="button" class="button small" onClick={() => onAt(call.startedId)}>
          Show the run here
        </button>
        <button type="button" class="button quiet small" onClick={onClose}>
          Close
        </button>
      </div>
      <CallDetail call={call} />
    </section>
  );
}

function isActor(kind: CallKind): boolean {
  return kind !== "model" && kind !== "wait" && kind !== "sleep";
}

/** The mailbox of a run: the requests that wait for the turns before them. */
function Mailbox({ queued }: { readonly queued: readonly RunRequest[] }): VNode {
  return (
    <section class="detail" aria-label="Mailbox">
      <h2>Mailbox of the run</h2>
      <ol class="list">
        {queued.toReversed().map(({ request_id: requestId, created_at: acceptedAt }) => (
          <li key={requestId} class="mailbox-row">
            <State name="queued" />
            <code class="one-line" title={requestId}>
              {requestId}
            </code>
            <span class="second number" title={exactTime(acceptedAt)}>
              {timeAgo(acceptedAt)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
