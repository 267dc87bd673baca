import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { Event } from "../../protocol/events/events.ts";
import { useMedia } from "../parts/hooks/media.ts";
import { clockTime, exactTime } from "../parts/time.ts";
import { useVisible } from "../parts/hooks/virtual.ts";
import { gistOf } from "./event-rows.ts";

interface GridProps {
  readonly events: readonly Event[];
  readonly rows: readonly number[];
  /** The ids of the events before which the server was started again. */
  readonly again: ReadonlySet<number>;
  readonly selected: number | undefined;
  readonly isLive: boolean;
  onSelect(at: number): void;
}

/** The events as a grid in which only what is in sight is drawn. */
export function EventsGrid({ events, rows, again, selected, isLive, onSelect }: GridProps): VNode {
  const rowPx = useMedia("(max-width: 759px)") ? 36 : 28;
  const visible = useVisible(rows.length, rowPx, isLive);
  const shown = rows.slice(visible.start, visible.end);
  const move = (step: number): void => {
    const at = selected === undefined ? -1 : rows.indexOf(selected);
    const next = Math.max(0, Math.min(rows.length - 1, at + step));
    const row = rows[next];
    if (row === undefined) return;
    onSelect(row);
    visible.scrollTo(next);
  };
  return (
    <div
      class="grid"
      role="grid"
      aria-label="Events"
      aria-rowcount={rows.length}
      aria-activedescendant={selected === undefined ? undefined : `event-${events[selected]?.id ?? 0}`}
      tabIndex={0}
      ref={visible.ref}
      onClick={({ target }) => {
        const row = (target as Element).closest("[aria-rowindex]")?.getAttribute("aria-rowindex");
        const at = rows[Number(row) - 1];
        if (at !== undefined) onSelect(at);
      }}
      onKeyDown={(event) => {
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        move(step);
      }}
    >
      <div class="grid-rows" role="presentation" style={{ height: `${visible.height}px` }}>
        <div role="presentation" style={{ transform: `translateY(${visible.top}px)` }}>
          {shown.map((at, index) => {
            const event = events[at];
            return (
              event && (
                <Row
                  key={event.id}
                  event={event}
                  index={visible.start + index}
                  isSelected={at === selected}
                  isAgain={again.has(event.id)}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  readonly event: Event;
  readonly index: number;
  readonly isSelected: boolean;
  /** Whether the server was started again before it. */
  readonly isAgain: boolean;
}

function Row({ event, index, isSelected, isAgain }: RowProps): VNode {
  return useMemo(
    () => (
      <div
        class="event-row"
        role="row"
        id={`event-${event.id}`}
        aria-rowindex={index + 1}
        aria-selected={isSelected}
      >
        <span role="gridcell" class="number mono">
          {`${event.id} `}
        </span>
        <span role="gridcell" class="second number mono">
          <time title={exactTime(event.ts)}>{clockTime(event.ts)}</time>
        </span>
        <span
          role="gridcell"
          class="one-line"
          style={{ paddingInlineStart: `${Math.min(event.depth, 8) * 12}px` }}
        >
          {event.agent}
        </span>
        <span role="gridcell" class={`type ${event.role}`}>
          {event.type}
        </span>
        <span role="gridcell" class="second one-line" dir="auto">
          {isAgain && <span class="again">started again</span>}
          {gistOf(event)}
        </span>
      </div>
    ),
    [event, index, isSelected, isAgain],
  );
}
