import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Event } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { Copy } from "../parts/copy.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { useMedia } from "../parts/media.ts";
import { clockTime, exactTime } from "../parts/time.ts";
import { useVisible } from "../parts/virtual.ts";
import { withQuery } from "../places/place.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { countUpTo, findRows, gistOf } from "./event-rows.ts";

/** All events of a run: filtered, with the details of one below. */
export function EventsTab({ store, view, isPast, onAt }: RunTabProps): VNode {
  const { place, go } = useConsole();
  const { type = "", agent = "", text = "" } = place.query;
  const { events } = store;
  const count = countUpTo(events, view.head);
  const rows = useMemo(
    () => findRows(events, count, { type, agent, text }),
    [events, count, type, agent, text],
  );
  const [selected, setSelected] = useState<number>();
  const chosen = selected === undefined ? undefined : events[selected];
  const change = (changes: Readonly<Record<string, string>>): void =>
    go(withQuery(place, changes), { replace: true });

  return (
    <div class="events">
      <div class="filters">
        <input
          class="input search"
          type="search"
          aria-label="Search in events"
          placeholder="Search"
          value={text}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        />
        <Filter name="type" value={type} values={useNames(events, count, "type")} onValue={change} />
        <Filter name="agent" value={agent} values={useNames(events, count, "agent")} onValue={change} />
        <span class="second number" role="status">
          {rows.length === count ? `${count} events` : `${rows.length} of ${count} events`}
        </span>
      </div>
      <Grid events={events} rows={rows} selected={selected} isLive={!isPast} onSelect={setSelected} />
      {chosen !== undefined && <Detail event={chosen} onAt={onAt} onClose={() => setSelected(undefined)} />}
    </div>
  );
}

interface FilterProps {
  readonly name: string;
  readonly value: string;
  readonly values: readonly string[];
  onValue(changes: Readonly<Record<string, string>>): void;
}

function Filter({ name, value, values, onValue }: FilterProps): VNode {
  return (
    <select
      class="input"
      aria-label={name}
      value={value}
      onChange={({ currentTarget }) => onValue({ [name]: currentTarget.value })}
    >
      <option value="">every {name}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** The values that a field has in the first events, in order. */
function useNames(events: readonly Event[], count: number, field: "type" | "agent"): readonly string[] {
  // Read again at each thousand events only: the list is a help, not the truth.
  return useMemo(
    () => [...new Set(events.slice(0, count).map((event) => event[field]))].sort(),
    [events, Math.min(count, 50), Math.floor(count / 1_000)],
  );
}

interface GridProps {
  readonly events: readonly Event[];
  readonly rows: readonly number[];
  readonly selected: number | undefined;
  readonly isLive: boolean;
  onSelect(at: number): void;
}

function Grid({ events, rows, selected, isLive, onSelect }: GridProps): VNode {
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
                  onSelect={() => onSelect(at)}
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
  onSelect(): void;
}

function Row({ event, index, isSelected, onSelect }: RowProps): VNode {
  return useMemo(
    () => (
      <div
        class="event-row"
        role="row"
        id={`event-${event.id}`}
        aria-rowindex={index + 1}
        aria-selected={isSelected}
        onClick={onSelect}
      >
        <span role="gridcell" class="number mono">
          {`${event.id} `}
        </span>
        <time role="gridcell" class="second number mono" title={exactTime(event.ts)}>
          {clockTime(event.ts)}
        </time>
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
          {gistOf(event)}
        </span>
      </div>
    ),
    [event, index, isSelected],
  );
}

interface DetailProps {
  readonly event: Event;
  onAt(eventId: number): void;
  onClose(): void;
}

function Detail({ event, onAt, onClose }: DetailProps): VNode {
  const json = event as unknown as Json;
  return (
    <section class="detail" aria-label={`Event ${event.id}`}>
      <div class="actions">
        <h2>
          Event {event.id}, {event.type}
        </h2>
        <button type="button" class="button small" onClick={() => onAt(event.id)}>
          Show the run here
        </button>
        <Copy text={JSON.stringify(json, null, 2)} name="the event" />
        <button type="button" class="button quiet small" onClick={onClose}>
          Close
        </button>
      </div>
      <JsonTree key={event.id} value={json} />
    </section>
  );
}
