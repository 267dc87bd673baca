import { agentOf, depthOf, idOf, ofRequest, typeOf } from "../../protocol/events/encode.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { LoggingLevel } from "../../protocol/requests/requests.ts";
import type { Address, EventFilter } from "../feeds.ts";

/** Whether a reader wants an encoded event, or texts: all of them or none. */
export type EventSelector = (item: string | Texts) => boolean;

/** The filter for an address; `undefined` if it passes all events of the run. */
export function toWanted(
  address: Address,
  filter: EventFilter | undefined,
  level: LoggingLevel,
): EventSelector | undefined {
  const chosen = toChosen(filter, filter?.types ? "all" : level);
  if (address.kind === "run") return chosen;
  const { messageEvent, runId, requestId } = address;
  // The event of a message belongs to another request, or to none.
  if (messageEvent !== undefined) return (item) => typeof item === "string" && idOf(item) === messageEvent;
  const ofEvent = ofRequest(runId, requestId);
  const belongs: EventSelector = (item) =>
    typeof item === "string" ? ofEvent(item) : item.speaker.address.request_id === requestId;
  return chosen ? (item) => belongs(item) && chosen(item) : belongs;
}

function toChosen(
  { types, maxDepth, agent }: EventFilter = {},
  level: LoggingLevel,
): EventSelector | undefined {
  const ofLevel = LEVELS[level];
  if (types === undefined && maxDepth === undefined && agent === undefined && ofLevel === undefined)
    return undefined;
  const wanted = types && new Set(types);
  return (item) => {
    const { type, depth } = headingOf(item);
    if (isNeeded(type, depth)) return true;
    if (wanted && !wanted.has(type)) return false;
    if (maxDepth !== undefined && depth > maxDepth) return false;
    if (agent !== undefined && speakerOf(item) !== agent) return false;
    return ofLevel === undefined || ofLevel(type, depth);
  };
}

function headingOf(item: string | Texts): { readonly type: EventType; readonly depth: number } {
  if (typeof item === "string") return { type: typeOf(item), depth: depthOf(item) };
  return { type: "TextOutput", depth: item.speaker.address.depth };
}

function speakerOf(item: string | Texts): string {
  return typeof item === "string" ? agentOf(item) : item.speaker.address.agent;
}

/** Events that are never filtered out: a reader needs them to see where a turn starts, waits or ends, and what came in. */
function isNeeded(type: EventType, depth: number): boolean {
  switch (type) {
    case "WaitForInput":
    case "RequestStarted":
    case "ResumeWithInput":
    case "WaitExpired":
    case "CancelRequest":
    case "MessageReceived":
    case "RequestHeld":
    case "RequestCanceling":
    case "RequestContinued":
    case "RequestRestarted":
    case "ActorStopped":
    case "ActorResumed":
      return true;
    case "RequestCompleted":
      return depth === 0;
    default:
      return false;
  }
}

const isAnswer = (type: EventType, depth: number): boolean =>
  depth === 0 && (type === "TextOutput" || type === "ArtifactGenerated");

/** What each level passes in addition to those; `undefined` for everything. */
const LEVELS: Readonly<Record<LoggingLevel, ((type: EventType, depth: number) => boolean) | undefined>> = {
  minimal: isAnswer,
  tools: (type, depth) => isAnswer(type, depth) || type.startsWith("Tool"),
  llm: (type, depth) => isAnswer(type, depth) || type.startsWith("Completion") || type === "ReasoningOutput",
  agents: (type, depth) =>
    isAnswer(type, depth) ||
    type === "StateChanged" ||
    type === "Sleeping" ||
    (depth > 0 && type !== "Custom"),
  default: undefined,
  all: undefined,
};
