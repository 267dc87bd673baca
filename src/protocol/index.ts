export { checkJson } from "./schema/check-json.ts";
export type { JsonIssue } from "./schema/check-json.ts";
export { eventTypes } from "./events/events.ts";
export type { EventOf } from "./events/events.ts";
export type { ActorRef, Caller, CallMode, Hops, SenderRef } from "./actors.ts";
export { isId } from "./ids.ts";
export type { ArtifactId, Branded, CallId, RequestId, RunId } from "./ids.ts";
export type { Json, JsonObject } from "./json.ts";
export { roleOf } from "./events/roles.ts";
export type { ConfigureCompleted, Event, EventAddress, ForkedFrom, Role } from "./events/events.ts";
export type {
  Approval,
  ClientToolCall,
  EventBody,
  EventType,
  Questions,
  ResultFile,
} from "./events/event-body.ts";
export type { FinishReason, ToolErrorCode, TurnError, TurnErrorCode, Usage } from "./events/outcome-codes.ts";
export type {
  CancelRequest,
  ChatRequest,
  ClientTool,
  ConfigureRequest,
  Delivery,
  LoggingLevel,
  MessageRequest,
  OnBusy,
  OperationRequest,
  Request,
  ResumeWithInput,
  TurnRequest,
  TurnRequestFields,
  Wait,
} from "./requests/requests.ts";
export type { AgentDescriptor, MessageDescriptor, OperationDescriptor } from "./answers/descriptor.ts";
export type {
  RequestPhase,
  RequestStatus,
  RunPhase,
  RunRequest,
  RunStatus,
  RunSummary,
} from "./answers/status.ts";
export type { Accepted, AgentEntry, UploadedArtifact } from "./answers/answers.ts";
export type { DeadLetter } from "./answers/dead-letter.ts";
export type { ScheduleRequest, ScheduleSummary } from "./answers/schedule.ts";
export type {
  Publication,
  PublicationRequest,
  TopicDetails,
  TopicSubscriber,
  TopicSummary,
} from "./answers/topic.ts";
export type { Problem, ProblemCode } from "./answers/problem.ts";
export type { Issue, RefusalKind } from "./schema/check-json.ts";
export { parseRequest } from "./requests/parse.ts";
export type { IncomingRequest, Parsed } from "./requests/parse.ts";
export { parseCursor, parseFlag } from "./requests/parse.ts";
export { components, schemas } from "./schema/json-schema.ts";
export type { Schemas } from "./schema/json-schema.ts";
