import * as z from "zod";
import { callId, count, ordinal, requestId, runId, timestamp } from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { CallId, RequestId, RunId } from "../ids.ts";
import { bodies } from "./event-body.ts";
import type { EventBody, EventType } from "./event-body.ts";
import { roleOf } from "./roles.ts";

/** The role of an event's speaker, as models name it. */
export type Role = "system" | "assistant" | "user" | "tool";

/** The place of an event in the log of its run, its request, and its speaker. */
export interface EventAddress {
  /** 1, 2, 3 … without a gap in the run. */
  readonly id: number;
  readonly run_id: RunId;
  /** `null` only for events outside any turn: those of the run, and a MessageReceived between two turns. */
  readonly request_id: RequestId | null;
  readonly agent: string;
  readonly role: Role;
  /** 0 for the requested agent, plus one for each call in between. */
  readonly depth: number;
  /** ISO 8601, UTC. */
  readonly ts: string;
  /** The call during which the event occurred; present at depth 1 or more. */
  readonly parent_call_id?: CallId;
  /** The original event, if the run is a fork. */
  readonly forked_from?: ForkedFrom;
}

/** An event in another run. */
export interface ForkedFrom {
  readonly run_id: RunId;
  readonly id: number;
}

/** An event as clients see it. A WaitForInput also has `wait_id`, which is its id. */
export type Event =
  | EventOfRequest<Exclude<EventBody, { readonly type: RunEventType | "WaitForInput" | "MessageReceived" }>>
  | EventOfRequest<Extract<EventBody, { readonly type: "WaitForInput" }> & { readonly wait_id: number }>
  | (EventAddress & { readonly request_id: null } & Extract<EventBody, { readonly type: RunEventType }>)
  | (EventAddress & Extract<EventBody, { readonly type: "MessageReceived" }>);

type EventOfRequest<Body> = EventAddress & { readonly request_id: RequestId } & Body;

/** An event of one type, as clients see it. */
export type EventOf<Type extends EventType> = Event & { readonly type: Type };

/** The answer to a configuration: has the shape of a RequestCompleted, but is not in the log. */
export type ConfigureCompleted = Omit<EventOf<"RequestCompleted">, "id" | "run_id"> & {
  readonly id: 0;
  /** `null` for the configuration of an agent. */
  readonly run_id: RunId | null;
};

const RUN_EVENTS = ["RunCreated", "ArtifactUploaded", "Renewed"] as const;

/** The types of the events that belong to a run, but to no request of it. */
export type RunEventType = (typeof RUN_EVENTS)[number];

/** Whether events of a type belong to a run, but to no request of it. */
export function belongsToRun(type: EventType): type is RunEventType {
  return (RUN_EVENTS as readonly EventType[]).includes(type);
}

/** The types of all events. */
export const eventTypes: readonly EventType[] = Object.keys(bodies) as EventType[];

/** @internal The schema of each type of event. */
export const eventSchemas: { readonly [Type in EventType]: z.ZodType<EventOf<Type>> } = Object.fromEntries(
  eventTypes.map((type) => {
    const [description, fields] = bodies[type];
    return [type, z.object({ ...addressIn(type), ...fields, ...waitIn(type) }).describe(description)];
  }),
) as unknown as { readonly [Type in EventType]: z.ZodType<EventOf<Type>> };

/** @internal The schema of the answer to a configuration. */
export const configureCompletedSchema: z.ZodType<ConfigureCompleted> = z
  .object({
    ...addressIn("RequestCompleted"),
    ...bodies.RequestCompleted[1],
    id: z.literal(0),
    run_id: runId.nullable().describe("null for the configuration of an agent."),
  })
  .describe(
    "The configuration was accepted; it applies from the next request on.",
  ) as unknown as z.ZodType<ConfigureCompleted>;

// What a type of event has is compared with the types of the bodies and of the address, their combination is not.
function addressIn(type: EventType): Shape<EventAddress & { readonly type: EventType }> {
  return {
    id: ordinal.describe("1, 2, 3 … without a gap in the run."),
    run_id: runId,
    request_id: requestIdIn(type),
    agent: z.string().min(1).describe("Who speaks."),
    type: z.literal(type),
    role: z.literal(roleOf(type)),
    depth: count.describe("0 for the requested agent, plus one for each call in between."),
    ts: timestamp,
    parent_call_id: callId
      .exactOptional()
      .describe("The call during which the event occurred, at depth 1 and more."),
    forked_from: z
      .object({ run_id: runId, id: ordinal } satisfies Shape<ForkedFrom>)
      .exactOptional()
      .describe("The original event, if the run is a fork."),
  };
}

function requestIdIn(type: EventType): z.ZodType<RequestId | null> {
  if (belongsToRun(type)) return z.null().describe("The event belongs to no request.");
  if (type !== "MessageReceived") return requestId;
  return requestId.nullable().describe("The request whose turn is open; null if there is none.");
}

function waitIn(type: EventType): { readonly wait_id?: z.ZodType<number> } {
  return type === "WaitForInput"
    ? { wait_id: ordinal.describe("Names the wait in the answer; equal to the event's id.") }
    : {};
}
