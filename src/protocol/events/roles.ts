import type { EventType } from "./event-body.ts";
import type { Role } from "./events.ts";

/** The role that goes with a type of event. */
export function roleOf(type: EventType): Role {
  switch (type) {
    case "TextOutput":
    case "WaitForInput":
    case "ArtifactGenerated":
      return "assistant";
    case "ToolCall":
    case "ToolResult":
    case "ToolError":
    case "ToolTextOutput":
      return "tool";
    case "ResumeWithInput":
    case "CancelRequest":
    case "MessageReceived":
    case "ArtifactUploaded":
      return "user";
    case "RequestStarted":
    case "RequestCompleted":
    case "WaitExpired":
    case "CompletionCall":
    case "CompletionResult":
    case "ReasoningOutput":
    case "StateChanged":
    case "Sleeping":
    case "RequestHeld":
    case "RequestContinued":
    case "RequestCanceling":
    case "RequestRestarted":
    case "ActorStopped":
    case "ActorResumed":
    case "CompletionRetry":
    case "Custom":
    case "RunCreated":
    case "Renewed":
      return "system";
    default: {
      const never: never = type;
      return never;
    }
  }
}
