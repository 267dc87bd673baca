import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Event } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { Copy } from "../parts/copy.tsx";
import { JsonTree } from "../json/json-tree.tsx";
import { withQuery } from "../places/place.ts";
import type { RunTabProps } from "../run/tab-props.ts";
import { countUpTo, findRows } from "./event-rows.ts";
import { EventsGrid } from "./events-grid.tsx";

/** All events of a run: filtered, with the details of one below. */
export function EventsTab({ store, view, actor, restarts, isPast, onAt }: RunTabProps): VNode {
  const { place, go } = useConsole();
  const { type = "", agent = "", text = "" } = place.query;
  const { events } = store;
  const count = countUpTo(events, view.head);
  const rows = useMemo(
    () => findRows(events, count, { type, agent, text, actor }),
    [events, count, type, agent, text, actor],
  );
  const again = useMemo(() => new Set(restarts.map(({ after }) => after + 1)), [restarts]);
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
      <EventsGrid
        events={events}
        rows={rows}
        again={again}
        selected={selected}
        isLive={!isPast}
        onSelect={setSelected}
      />
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
  // Read again after many events only: the list is a help, not the truth.
  const step = count < 1_000 ? 50 : 1_000;
  const end = Math.ceil(count / step) * step;
  return useMemo(
    () => [...new Set(events.slice(0, end).map((event) => event[field]))].sort(),
    [events, end, field],
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
