import type { EventType } from "../../src/protocol/events/event-body.ts";
import type { Event } from "../../src/protocol/events/events.ts";
import type { RequestId } from "../../src/protocol/ids.ts";

/** The events of one type, in order. */
export function ofType<Type extends EventType>(
  events: readonly Event[],
  type: Type,
): readonly Extract<Event, { readonly type: Type }>[] {
  return events.filter((event): event is Extract<Event, { readonly type: Type }> => event.type === type);
}

/** The texts of the requested agent. */
export function textsOf(events: readonly Event[]): readonly string[] {
  return ofType(events, "TextOutput")
    .filter((event) => event.depth === 0)
    .map((event) => event.content);
}

/** The only event of a type. */
export function theOne<Type extends EventType>(
  events: readonly Event[],
  type: Type,
): Extract<Event, { readonly type: Type }> {
  const [event, ...others] = ofType(events, type);
  if (event === undefined || others.length > 0) throw new Error(`there is not one ${type}`);
  return event;
}

/** The request of the events. */
export function requestOf([event]: readonly Event[]): RequestId {
  const requestId = event?.request_id;
  if (!requestId) throw new Error("there is no event of a request");
  return requestId;
}
