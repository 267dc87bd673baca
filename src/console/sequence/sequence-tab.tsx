import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { useVisible } from "../parts/hooks/virtual.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { toSequenceDiagram } from "./messages.ts";
import type { SequenceMessage } from "./messages.ts";

/** Who said what to whom: a lifeline for each actor, and a line for each message. */
export function SequenceTab({ view, isPast, onAt }: RunTabProps): VNode {
  const { names, messages } = useMemo(() => toSequenceDiagram(view), [view]);
  const visible = useVisible(messages.length, ROW_PX, !isPast);
  const width = names.length * COLUMN_PX;
  return (
    <div class="sequence" role="group" aria-label="Sequence" tabIndex={0} ref={visible.ref}>
      <div class="sequence-names" style={{ width: `${width}px` }}>
        {names.map((name) => (
          <span key={name} class="one-line" title={name}>
            {name}
          </span>
        ))}
      </div>
      <div class="sequence-body" style={{ height: `${visible.height}px`, width: `${width}px` }}>
        {names.map((name, at) => (
          <span key={name} class="lifeline" aria-hidden="true" style={{ left: `${middle(at)}px` }} />
        ))}
        <div style={{ transform: `translateY(${visible.top}px)` }}>
          {messages.slice(visible.start, visible.end).map((message, at) => (
            <Line key={visible.start + at} message={message} names={names} onAt={onAt} />
          ))}
        </div>
      </div>
    </div>
  );
}

const COLUMN_PX = 152;
const ROW_PX = 44;

interface LineProps {
  readonly message: SequenceMessage;
  readonly names: readonly string[];
  onAt(eventId: number): void;
}

function Line({ message, names, onAt }: LineProps): VNode {
  const { id, from, to, text, kind, call } = message;
  const [left, right] = [Math.min(from, to), Math.max(from, to)];
  const isSelf = from === to;
  const place = isSelf
    ? { left: `${middle(from)}px`, width: `${COLUMN_PX / 3}px` }
    : { left: `${middle(left)}px`, width: `${middle(right) - middle(left)}px` };
  return (
    <button
      type="button"
      class={`sequence-line ${kind}`}
      data-call={call}
      title={`${names[from] ?? ""} → ${names[to] ?? ""}, event ${id}: ${text}`}
      onClick={() => onAt(id)}
    >
      <span class="only-read">
        {names[from]} to {names[to]}, {kind}:
      </span>
      <span class="sequence-text one-line" dir="auto" style={isSelf ? { left: place.left } : place}>
        {text}
      </span>
      <span class={from < to || isSelf ? "arrow right" : "arrow left"} style={place} />
    </button>
  );
}

function middle(at: number): number {
  return at * COLUMN_PX + COLUMN_PX / 2;
}
