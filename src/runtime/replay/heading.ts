import { depthOf, requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import type { SenderRef } from "../../protocol/actors.ts";
import { TOPIC_AGENT } from "../agent/topic.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { HeldTurn } from "../../protocol/answers/status.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { byteLength } from "../journal/json-limits.ts";
import { isRetry, NO_PROGRESS } from "../journal/progress.ts";
import { toPromptMark } from "./prompts.ts";
import { evolve } from "./run-state.ts";
import type {
  CancelingTurn,
  RunState,
  RunStateChange,
  StoppedActor,
  UnreadMessage,
  WatchMessage,
} from "./run-state.ts";
import { SCHEDULE } from "../journal/stored-schedule.ts";
import { WATCH } from "../agent/watchers.ts";
import type { Newest } from "../agent/watchers.ts";
import type { PlacedRecord } from "./entries.ts";

/** The parts of an event that affect the state of a run. */
export interface Heading {
  readonly requestId: RequestId | null;
  readonly type: EventType;
  /** Whether a turn starts or ends with it. */
  readonly edge: boolean;
  /** Whether it repeats a call, which is no progress. */
  readonly isRetry: boolean;
  readonly message?: UnreadMessage & { readonly body: Json };
  /** The change by a message that no turn reads. */
  readonly notice?: NoticedMessage;
  readonly renewedTo?: RunId;
  /** How the turn ends after its cleanup steps, which run from this event on. */
  readonly canceling?: CancelingTurn;
  /** Why the turn is held from this event on. */
  readonly hold?: HeldTurn;
  /** Why the actor takes no requests from this event on. */
  readonly stopped?: StoppedActor;
}

export function toHeading(text: string): Heading {
  const type = typeOf(text);
  const mayBeEdge = type === "RequestStarted" || type === "RequestCompleted";
  const requestId = requestIdOf(text);
  const given = type === "MessageReceived" ? toGiven(text) : undefined;
  return {
    requestId,
    type,
    edge: mayBeEdge && depthOf(text) === 0,
    isRetry: CALLS.has(type) && isRetry(JSON.parse(text) as Event),
    ...(given && { message: given }),
    ...(given && isNoticed(given) && { notice: toNotice(given) }),
    ...(type === "RequestHeld" && { hold: toHold(text) }),
    ...(type === "RequestCanceling" && depthOf(text) === 0 && { canceling: toCanceling(text) }),
    ...(type === "ActorStopped" && { stopped: toStopped(text) }),
    ...(type === "Renewed" && { renewedTo: (JSON.parse(text) as Event & { readonly type: "Renewed" }).to }),
  };
}

function toGiven(text: string): MessageFields {
  const { agent, id, name, body, sender } = JSON.parse(text) as Event & { readonly type: "MessageReceived" };
  return { agent, id, name, body, sender, bytes: byteLength(text) };
}

/** What a message is, as its event has it. */
export interface MessageFields extends UnreadMessage {
  readonly agent: string;
  readonly body: Json;
  readonly sender: SenderRef | undefined;
}

/** A message that changes the run and is not read by a turn. */
export type NoticedMessage =
  | WatchMessage
  | ({ readonly type: "Published" } & Newest)
  | { readonly type: "ScheduleReceived" };

/** Whether no turn reads a message: it begins or ends a watch, makes or removes a schedule, or is published to a topic. */
export function isNoticed({ agent, name }: Pick<MessageFields, "agent" | "name">): boolean {
  return name === WATCH || name === SCHEDULE || agent === TOPIC_AGENT;
}

/** The change by a message that no turn reads. */
export function toNotice({ id, name, body, sender }: MessageFields): NoticedMessage {
  if (name === SCHEDULE) return { type: "ScheduleReceived" };
  return name === WATCH ? { type: "WatchReceived", id, sender, body } : { type: "Published", name, id };
}

function toCanceling(text: string): CancelingTurn {
  const event = JSON.parse(text) as Event & { readonly type: "RequestCanceling" };
  const { id, finish_reason: finishReason, error } = event;
  return { id, finishReason, ...(error && { error }) };
}

function toHold(text: string): HeldTurn {
  const { code, message, scope, expected, found, at, ts } = JSON.parse(text) as Event & {
    readonly type: "RequestHeld";
  };
  return {
    code,
    message,
    ...(scope !== undefined && { scope }),
    ...(expected !== undefined && { expected }),
    ...(found !== undefined && { found }),
    ...(at !== undefined && { at }),
    since: ts,
  };
}

function toStopped(text: string): StoppedActor {
  const { ts: since, error } = JSON.parse(text) as Event & { readonly type: "ActorStopped" };
  return { since, error };
}

/** Events that start a call; few of them need parsing. */
const CALLS: ReadonlySet<EventType> = new Set(["ToolCall", "CompletionCall"]);

/** The state after an event. */
export function withEvent(
  state: RunState,
  { requestId, type, edge, isRetry, message, notice, renewedTo, hold, canceling, stopped }: Heading,
): RunState {
  // A message comes from outside, so it is no progress of the turn.
  if (notice) return evolve(state, notice);
  if (message) return evolve(state, toUnread(message));
  if (renewedTo !== undefined) return evolve(state, { type: "Renewed", to: renewedTo });
  if (stopped) return evolve(state, { type: "ActorStopped", stopped });
  if (type === "ActorResumed") return evolve(state, { type });
  if (requestId === null || isRetry) return state;
  if (canceling) return evolve(state, { type: "RequestCanceling", requestId, canceling });
  if (hold) return evolve(state, { type: "RequestHeld", requestId, hold });
  if (type === "RequestContinued") return evolve(state, { type, requestId });
  if (!edge) return withProgress(state, requestId);
  return evolve(state, { type: type === "RequestStarted" ? type : "RequestCompleted", requestId });
}

function toUnread({ id, name, bytes }: UnreadMessage): RunStateChange {
  return { type: "MessageReceived", id, name, bytes };
}

/** The state after a record. */
export function withRecord(state: RunState, record: PlacedRecord): RunState {
  switch (record.type) {
    case "Accepted":
    case "ConfigRecorded":
    case "Scheduled":
    case "Watchers":
    case "Forked":
    case "MemoryCommitted":
    case "Accompanied":
    case "Dropped":
    case "Held":
    case "Raised":
    case "RecoveryStarted":
    case "Released":
      return evolve(state, record);
    case "Received":
      return withProgress(evolve(state, record));
    case "Checkpoint": {
      const { request_id: requestId, at, n, after } = record;
      return evolve(state, { type: "TurnKept", requestId, base: { at, kept: { n, after } } });
    }
    case "Continued":
      return evolve(state, { type: "TurnContinued", record, at: { n: record.n, after: record.after } });
    case "Prompt":
      return evolve(state, { type: "Prompted", prompt: toPromptMark(record, record) });
    default:
      return NO_PROGRESS.has(record.type) ? state : withProgress(state);
  }
}

/** The state after an event of a request, or a record of the running turn, that is progress if the turn was continued. */
export function withProgress(state: RunState, of?: RequestId | null): RunState {
  const continued = state.open.find(({ recoveries, released = false }) => recoveries > 0 || released);
  if (continued === undefined) return state;
  const { requestId } = continued.accepted;
  return of === undefined || of === requestId ? evolve(state, { type: "Progress", requestId }) : state;
}
