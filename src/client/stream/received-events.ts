import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { FollowLimits, ReadPosition } from "./follow-settings.ts";
import type { SseFrame } from "./sse-reader.ts";

/** An event as received; only its id and type are checked. */
export interface ReceivedEvent {
  readonly id: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The state of one connection. */
interface ConnectionState {
  readonly position: ReadPosition;
  readonly limits: FollowLimits;
  readonly areRows?: true | undefined;
  /** The id of the newest event of this connection. */
  readonly newest: number;
}

/** The new events of some frames. */
export interface TakenEvents {
  readonly events: readonly ReceivedEvent[];
  /** The id of the newest event of the connection. */
  readonly last: number;
  /** The error of the first invalid frame. */
  readonly fault?: AgentError;
}

/** The new events in order, up to the first invalid frame. */
export function takeEvents(
  subject: string,
  frames: readonly SseFrame[],
  { position, limits, newest, areRows }: ConnectionState,
): TakenEvents {
  const events: ReceivedEvent[] = [];
  let last = newest;
  for (const { data, id } of frames) {
    if (data !== undefined && isLarger(data, limits.eventBytes))
      throw new AgentError("too_large", `an event of the stream is larger than ${limits.eventBytes} bytes`);
    const event = data === undefined ? undefined : toEvent(subject, data, ordinalOf(id) ?? last + 1, areRows);
    if (event instanceof AgentError) return { events, last, fault: event };
    if (id !== undefined && SENDABLE.test(id)) position.lastEventId = id;
    if (event === undefined) continue;
    position.events += 1;
    position.characters += data?.length ?? 0;
    if (areRows) {
      events.push(event);
      continue;
    }
    last = event.id;
    // A server without cursors starts again from the first event.
    if (event.id <= position.after) continue;
    position.after = event.id;
    events.push(event);
  }
  return { events, last };
}

/** Whether a text takes more bytes than the limit; a UTF-16 code unit takes at most three. */
function isLarger(text: string, limitBytes: number): boolean {
  return text.length * 3 > limitBytes && new TextEncoder().encode(text).length > limitBytes;
}

/** Characters that are allowed in a header. */
const SENDABLE = /^[\x21-\x7e]{1,256}$/;

/** The id of a frame as a number. */
function ordinalOf(id: string | undefined): number | undefined {
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

/** Parses an event; `position` is its id if it contains none. */
function toEvent(
  subject: string,
  data: string,
  position: number,
  isRow: boolean = false,
): ReceivedEvent | AgentError {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    return new AgentError("call_failed", `${subject} sent an event that is not JSON`, { cause });
  }
  if (isDraftedArtifact(value)) return { ...value, id: position, artifact_id: value.id };
  if (isRow && isObject(value)) return { id: 0, type: "", ...value };
  return isEvent(value) ? value : new AgentError("call_failed", `${subject} sent an invalid event`);
}

/** In the draft, the `id` of an ArtifactGenerated is the file's id and hides the event's. */
function isDraftedArtifact(value: unknown): value is { readonly id: string; readonly type: string } {
  const { id, type } = (value ?? {}) as { readonly id?: unknown; readonly type?: unknown };
  return type === "ArtifactGenerated" && typeof id === "string";
}

function isEvent(value: unknown): value is ReceivedEvent {
  if (typeof value !== "object" || value === null) return false;
  const { id, type } = value as Partial<ReceivedEvent>;
  return Number.isSafeInteger(id) && (id as number) >= 0 && typeof type === "string";
}
