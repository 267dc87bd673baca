export { checkJson } from "./check-json.ts";
export type { JsonIssue } from "./check-json.ts";
export { eventTypes } from "./event-schemas.ts";
export type { EventOf } from "./event-schemas.ts";
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
  ForkedFrom,
  Questions,
  Role,
  ToolErrorCode,
  TurnError,
  TurnErrorCode,
  Usage,
} from "./events.ts";
export type {
  Caller,
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
export type { Accepted, AgentEntry, ConfigureCompleted, UploadedArtifact } from "./answers.ts";
export type { Problem, ProblemCode } from "./problem.ts";
export type { Issue, Refusal } from "./issue.ts";
export { parseRequest } from "./parse.ts";
export type { IncomingRequest, Parsed } from "./parse.ts";
export { parseCursor, parseFlag } from "./query.ts";
export { components, schemas } from "./json-schema.ts";
export type { Schemas } from "./json-schema.ts";
