export { isId } from "./ids.ts";
export type { ArtifactId, Branded, CallId, RequestId, RunId } from "./ids.ts";
export type { Json, JsonObject } from "./json.ts";
export { roleOf } from "./events.ts";
export type {
  Event,
  EventAddress,
  EventBody,
  EventType,
  FinishReason,
  Questions,
  Role,
  ToolErrorCode,
  TurnError,
  TurnErrorCode,
  Usage,
} from "./events.ts";
export type {
  CancelRequest,
  ChatRequest,
  ConfigureRequest,
  Delivery,
  LoggingLevel,
  OnBusy,
  OperationRequest,
  Request,
  ResumeWithInput,
  TurnRequest,
  TurnRequestFields,
  Wait,
} from "./requests.ts";
export type { AgentDescriptor, OperationDescriptor } from "./descriptor.ts";
export type { RequestPhase, RequestStatus, RunPhase, RunSummary } from "./status.ts";
export type { Issue } from "./issue.ts";
export type { Parsed } from "./parse.ts";
