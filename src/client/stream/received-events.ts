import { AgentError } from "../../errors.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import { isObject } from "../../protocol/json.ts";
import type { AllFollowSettings, ReadPosition } from "./follow-settings.ts";
import type { Wire } from "../wire/wire.ts";
import type { SseFrame } from "./sse-reader.ts";

/** An event as received; only its id and type are checked. */
export interface ReceivedEvent {
  readonly id: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The new events of some frames. */
export interface TakenEvents {
  readonly events: readonly ReceivedEvent[];
  /** The error of the first invalid frame. */
  readonly fault?: AgentError;
}

/** The new events in order, up to the first invalid frame. Moves the position. */
export function takeEvents(
  wire: Wire,
  frames: readonly SseFrame[],
  position: ReadPosition,
  { limits, areRows = false }: Pick<AllFollowSettings, "areRows" | "limits">,
): TakenEvents {
  const events: ReceivedEvent[] = [];
  for (const { data, id = "" } of frames) {
    let event: ReceivedEvent | undefined;
    if (data !== undefined) {
      if (isLarger(data, limits.eventBytes))
        throw new AgentError("too_large", `an event of the stream is larger than ${limits.eventBytes} bytes`);
      const taken = toEvent(wire, data, /^\d{1,15}$/.test(id) ? Number(id) : position.newest + 1, areRows);
      if (taken instanceof AgentError) return { events, fault: taken };
      event = taken;
      position.events += 1;
      position.characters += data.length;
    }
    // What can be sent in a header.
    if (/^[\x21-\x7e]{1,256}$/.test(id)) position.lastEventId = id;
    if (event === undefined) continue;
    if (!areRows) {
      position.newest = event.id;
      if (event.id <= position.after) continue;
      position.after = event.id;
    }
    events.push(event);
  }
  return { events };
}

/** An event whose run id is a text; in the draft of the protocol it is a number. */
export function withTextId<Received extends object>(event: Received): Received {
  const { run_id: run } = event as { readonly run_id?: unknown };
  return typeof run === "number" ? { ...event, run_id: String(run) } : event;
}

/** Whether a text takes more bytes than the limit; a UTF-16 code unit takes at most three. */
function isLarger(text: string, limitBytes: number): boolean {
  return text.length * 3 > limitBytes && new TextEncoder().encode(text).length > limitBytes;
}

/** Parses an event; `position` is its id if it contains none. */
function toEvent(wire: Wire, data: string, position: number, isRow: boolean): ReceivedEvent | AgentError {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    return wire.fault("call_failed", "sent an event that is not JSON", { cause });
  }
  if (isObject(value)) {
    const { id, type } = value;
    if (isRow) return { id: 0, type: "", ...value };
    // In the draft, the `id` of an ArtifactGenerated is the file's id and hides the event's.
    if (type === "ArtifactGenerated" && typeof id === "string")
      return withTextId({ ...value, type, id: position, artifact_id: id });
    if (Number.isSafeInteger(id) && (id as number) >= 0 && typeof type === "string")
      return withTextId(value as unknown as ReceivedEvent);
  }
  return wire.fault("call_failed", "sent an invalid event");
}

/** The end of an operation that only reads, which its server answers at once; it is in no log and so has no id. */
export function endOf(answer: unknown): EventOf<"RequestCompleted"> | undefined {
  const { type, id } = (answer ?? {}) as Partial<ReceivedEvent>;
  return type === "RequestCompleted" && id === 0 ? (answer as EventOf<"RequestCompleted">) : undefined;
}
