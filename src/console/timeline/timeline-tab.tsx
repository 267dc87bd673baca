import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { RunView } from "../../view/run-view.ts";
import { useNow } from "../parts/hooks/clock.ts";
import { useMedia } from "../parts/hooks/media.ts";
import { duration, clockTime } from "../parts/time.ts";
import { useVisible } from "../parts/hooks/virtual.ts";
import { CallDetail } from "../chat/call-card.tsx";
import { callSigns } from "../../view/run-view.ts";
import { kindWord, nameOfCall } from "../run/kinds.ts";
import { callMs, stateOfCall } from "../run/run-facts.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { toAxis, toEventAxis, toRows } from "./axis.ts";
import type { Axis, TimelineRow } from "./axis.ts";

/** Where the time of a run went: a bar for each turn, call, completion, question and sleep. */
export function TimelineTab({ view, store, restarts, isPast, onAt }: RunTabProps): VNode {
  const isOpen = view.turns.some(({ phase }) => phase !== "ended");
  const clock = useNow(isOpen && !isPast);
  const last = store.events[view.head - (store.events[0]?.id ?? 1)]?.ts;
  const now = isOpen && !isPast ? clock : Date.parse(last ?? new Date().toISOString());
  const [zoom, setZoom] = useState(1);
  const [byEvent, setByEvent] = useState(false);
  const [selected, setSelected] = useState<string>();
  const rows = useMemo(() => toRows(view), [view]);
  const axis = useMemo(() => toAxis(rows, now), [rows, now]);
  const rowPx = useMedia("(max-width: 759px)") ? 36 : 28;
  const visible = useVisible(rows.length, rowPx);
  const chosen = selected === undefined ? undefined : view.calls.get(selected);
  const zoomBy = (factor: number): void => setZoom((before) => Math.min(64, Math.max(1, before * factor)));
  const place = toPlace(byEvent, axis, view, now);
  const again = restarts
    .filter(({ after }) => after < view.head)
    .map(({ after, at }) => {
      return { at, share: byEvent ? toEventAxis(view.head)(after + 0.5) : axis.toShare(Date.parse(at)) };
    });

  return (
    <div class="timeline-tab">
      <div class="filters">
        <button type="button" class="button small" aria-label="Zoom out" onClick={() => zoomBy(0.5)}>
          −
        </button>
        <button type="button" class="button small" aria-label="Zoom in" onClick={() => zoomBy(2)}>
          +
        </button>
        <label class="choice">
          <input type="checkbox" checked={byEvent} onChange={() => setByEvent(!byEvent)} />
          one step per event
        </label>
        <Legend />
      </div>
      <div
        class="timeline"
        tabIndex={0}
        role="group"
        aria-label="Timeline"
        ref={visible.ref}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          zoomBy(event.deltaY < 0 ? 1.25 : 0.8);
        }}
        onKeyDown={({ key }) => {
          if (key === "+" || key === "=") zoomBy(2);
          if (key === "-") zoomBy(0.5);
        }}
      >
        <div class="timeline-inner" style={{ width: `${zoom * 100}%` }}>
          <div style={{ height: `${visible.height}px` }}>
            <div style={{ transform: `translateY(${visible.top}px)` }}>
              {rows.slice(visible.start, visible.end).map((row) => (
                <Row
                  key={row.call.key}
                  row={row}
                  view={view}
                  place={place}
                  now={now}
                  isSelected={row.call.key === selected}
                  onSelect={() => setSelected(row.call.key)}
                />
              ))}
            </div>
          </div>
          <RestartLines restarts={again} />
          {!byEvent && <AxisLine axis={axis} />}
        </div>
      </div>
      {chosen !== undefined && (
        <section class="detail beside" aria-label={chosen.functionName ?? chosen.name}>
          <div class="actions">
            <h2>{chosen.functionName ?? chosen.name}</h2>
            <span class="second">{kindWord(chosen.kind)}</span>
            <button type="button" class="button small" onClick={() => onAt(chosen.startedId)}>
              Show the run here
            </button>
            <button type="button" class="button quiet small" onClick={() => setSelected(undefined)}>
              Close
            </button>
          </div>
          <CallDetail call={chosen} />
        </section>
      )}
    </div>
  );
}

/** Where a bar begins and how wide it is, as shares of the axis. */
interface Bar {
  readonly left: number;
  readonly width: number;
}

/** The bar of a call, and the one before it of the time in which its request was queued. */
type PlaceBar = (row: TimelineRow) => Bar & { readonly queued?: Bar };

function toPlace(byEvent: boolean, axis: Axis, view: RunView, now: number): PlaceBar {
  const toEvent = toEventAxis(view.head);
  return ({ call: { startedId, endedId, startedAt, endedAt }, queuedAt }) => {
    const [from, to] = byEvent
      ? [toEvent(startedId), toEvent(endedId ?? view.head)]
      : [
          axis.toShare(Date.parse(startedAt)),
          axis.toShare(endedAt === undefined ? now : Date.parse(endedAt)),
        ];
    const bar = { left: from, width: Math.max(0, to - from) };
    if (queuedAt === undefined || byEvent) return bar;
    const left = axis.toShare(Date.parse(queuedAt));
    return { ...bar, queued: { left, width: Math.max(0, from - left) } };
  };
}

interface RowProps {
  readonly row: TimelineRow;
  readonly view: RunView;
  readonly place: PlaceBar;
  readonly now: number;
  readonly isSelected: boolean;
  onSelect(): void;
}

function Row({ row, view, place, now, isSelected, onSelect }: RowProps): VNode {
  const { call, level } = row;
  const state = stateOfCall(call, view);
  const { queued, ...bar } = place(row);
  const took = duration(callMs(call, now));
  const fill = call.kind === "wait" ? "waiting" : call.kind === "sleep" ? "sleeping" : state.name;
  const isWhole = call.children.length > 0 || call.kind === "turn";
  return (
    <button
      type="button"
      class="timeline-row"
      data-call={call.callId}
      aria-pressed={isSelected}
      onClick={onSelect}
    >
      <span class="timeline-name" style={{ paddingInlineStart: `${8 + Math.min(level, 8) * 12}px` }}>
        <span class="kind second" aria-hidden="true">
          {callSigns[call.kind]}
        </span>
        <span class="one-line">
          {nameOfCall(call)}
          {call.args !== undefined && (
            <span class="second mono args"> {JSON.stringify(call.args).slice(0, 120)}</span>
          )}
        </span>
        <span class="only-read">
          , {kindWord(call.kind)}, {state.word ?? state.name},
        </span>
      </span>
      <span class="timeline-track">
        {queued && <span class="timeline-bar queued" style={toStyle(queued)} />}
        <span class={`timeline-bar ${fill}${isWhole ? " whole" : ""}`} style={toStyle(bar)} />
      </span>
      <span class="timeline-took second number">{took}</span>
    </button>
  );
}

function toStyle({ left, width }: Bar): { readonly left: string; readonly width: string } {
  return { left: `${left * 100}%`, width: `${width * 100}%` };
}

interface RestartLinesProps {
  readonly restarts: readonly { readonly at: string; readonly share: number }[];
}

/** Lines across all bars where the server was started again. */
function RestartLines({ restarts }: RestartLinesProps): VNode {
  return (
    <div class="timeline-restarts">
      {restarts.map(({ at, share }) => (
        <span
          key={at}
          style={{ left: `${share * 100}%` }}
          title={`The server was started again and continued here, ${clockTime(at)}`}
        >
          started again
        </span>
      ))}
    </div>
  );
}

/** The times of the axis, and the pauses that are cut out of it. */
function AxisLine({ axis }: { readonly axis: Axis }): VNode {
  const { cuts } = axis;
  // A time that the length of a pause would cover is left out.
  const ticks = axis.ticks.filter((tick) => cuts.every((cut) => Math.abs(cut.share - tick.share) > NEAR));
  return (
    <div class="timeline-axis" aria-hidden="true">
      <div class="timeline-ticks">
        {ticks.map(({ share, ms }) => (
          <span key={ms} class="tick" style={{ left: `${share * 100}%` }}>
            {duration(ms)}
          </span>
        ))}
        {cuts.map(({ share, ms }) => (
          <span
            key={share}
            class="cut"
            title={`${duration(ms)} in which nothing worked`}
            style={{ left: `${share * 100}%` }}
          >
            {"//"} {duration(ms)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The width of a label, as a share of the axis. */
const NEAR = 0.2;

/** What the bars mean. */
function Legend(): VNode {
  return (
    <span class="legend second" aria-hidden="true">
      <span class="swatch done" /> worked
      <span class="swatch waiting" /> waited
      <span class="swatch sleeping" /> slept
      <span class="swatch queued" /> queued
    </span>
  );
}
