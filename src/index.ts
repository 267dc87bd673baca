import { localRouter } from "./cluster/local-router.ts";
import { AgentError } from "./errors.ts";
import { nodeEnvironment } from "./node/environment.ts";
import type { Agent, Collaborators } from "./runtime/agent/agent.ts";
import type { FittingBind } from "./runtime/agent/bind.ts";
import type { Runtime } from "./runtime/api.ts";
import type { RuntimeOptions } from "./runtime/options.ts";
import type { Encryption } from "./ports/encryption.ts";
import { createRuntime as createRuntimeOn } from "./runtime/runtime.ts";
import { encryptedStores } from "./storage/encrypted/encrypted-log.ts";
import { memoryArtifacts } from "./storage/memory/artifacts.ts";
import { memoryLog } from "./storage/memory/log.ts";
import { memorySecrets } from "./storage/memory/secrets.ts";

/** What `createRuntime` takes: the agents, and engines where those in memory do not suffice. */
export type CreateRuntimeOptions = Pick<RuntimeOptions, "agents"> &
  Partial<RuntimeOptions> & {
    /** Encrypts the events and files of owners where they are stored. Default: they are not. */
    readonly encryption?: Encryption;
  };

/** The same with the types of its agents, so that the names and the operations of `bind` are checked. */
export type BoundRuntimeOptions<
  Agents extends readonly Agent[],
  Bind extends Collaborators,
> = CreateRuntimeOptions & {
  readonly agents: Agents;
  readonly bind?: Bind & FittingBind<Agents, Bind>;
};

/**
 * Starts a runtime. By default its log, artifacts and secrets are in memory and are lost with the process.
 * With `log: sqliteLog(directory)` all three are in that directory.
 */
export function createRuntime<
  const Agents extends readonly Agent[],
  const Bind extends Collaborators = Collaborators,
>(options: BoundRuntimeOptions<Agents, Bind>): Runtime {
  const given: CreateRuntimeOptions = withoutUndefined(options);
  const { log = memoryLog() } = given;
  if (typeof log.append !== "function") {
    throw new AgentError(
      "invalid_request",
      "the log of the runtime is not an event log: use sqliteLog(directory) or memoryLog()",
    );
  }
  const stores = { log, artifacts: given.artifacts ?? log.artifacts?.() ?? memoryArtifacts() };
  const { encryption, ...rest } = given;
  return createRuntimeOn({
    ...rest,
    ...encryptedStores(stores, encryption),
    secrets: given.secrets ?? log.secrets?.() ?? memorySecrets(),
    environment: given.environment ?? nodeEnvironment(),
    router: given.router ?? localRouter(),
    limits: withoutUndefined(given.limits ?? {}),
  });
}

/** An option that is undefined counts as absent. */
function withoutUndefined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}

export { AgentError } from "./errors.ts";
export type { CallErrorCode, ErrorCode, ErrorDetails, FailedCall } from "./errors.ts";
export type { Action, ActionResource, Authorize } from "./runtime/access/authorize.ts";
export type { Encryption, OwnerKey } from "./ports/encryption.ts";
export type { Redact, RedactedText } from "./runtime/commands/redaction.ts";
export type { ArtifactStore } from "./ports/artifact-store.ts";
export type { Environment } from "./ports/environment.ts";
export { Fenced, Unavailable } from "./ports/event-log.ts";
export { toEncoded } from "./protocol/events/texts.ts";
export type { LoggedEvents, Texts } from "./protocol/events/texts.ts";
export type {
  FailedRun,
  OwnerSums,
  OwnersQuery,
  Statistics,
  StatisticsBy,
  StatisticsEntry,
  StatisticsGroup,
  StatisticsKey,
  StatisticsKind,
  StatisticsQuery,
  StatisticsSums,
} from "./ports/statistics.ts";
export type { AuditAction, AuditEntry, AuditPage, AuditQuery, AuditTrail } from "./ports/audit.ts";
export type { Claim, Cursor, EventLog, LogFigures, LogHealth, Page } from "./ports/event-log.ts";
export type { Batch } from "./ports/log-batch.ts";
export type { ReadOptions } from "./ports/log-queries.ts";
export { ModelError } from "./ports/model.ts";
export type {
  LanguageModel,
  Model,
  ModelContext,
  ModelPart,
  QueueOptions,
  RateOptions,
} from "./ports/model.ts";
export type { PriceEntry, PriceTable, TokenPrice } from "./ports/prices.ts";
export { DEFAULT_OWNER } from "./ports/principal.ts";
export type { Principal } from "./ports/principal.ts";
export type { Readiness, ReadinessPart, ReadinessProbe } from "./ports/readiness.ts";
export type { Router } from "./ports/router.ts";
export type { SecretStore } from "./ports/secret-store.ts";
export type { Telemetry } from "./ports/telemetry.ts";
export type { EventType } from "./protocol/events/event-body.ts";
export type { Event } from "./protocol/events/events.ts";
export type { EventOf } from "./protocol/events/events.ts";
export type { ActorRef, SenderRef } from "./protocol/actors.ts";
export type { ArtifactId, CallId, RequestId, RunId } from "./protocol/ids.ts";
export type { Json, JsonObject } from "./protocol/json.ts";
export type { Request } from "./protocol/requests/requests.ts";
export { clusterRouter } from "./cluster/cluster-router.ts";
export type { ClusterRouterOptions } from "./cluster/cluster-router.ts";
export { localRouter } from "./cluster/local-router.ts";
export type { Transport } from "./cluster/transport.ts";
export { ended } from "./runtime/agent/ended.ts";
export type { Ended } from "./runtime/agent/ended.ts";
export { topic } from "./runtime/agent/topic.ts";
export type { AnyMessages, Topic, TopicOptions } from "./runtime/agent/topic.ts";
export { defineAgent, defineTool } from "./runtime/agent/definition/define.ts";
export { operation } from "./runtime/agent/definition/definition.ts";
export { defineRemoteAgent } from "./runtime/agent/definition/remote.ts";
export type { RemoteDefinition, RemoteOperations } from "./runtime/agent/definition/remote.ts";
export type {
  Give,
  RemoteActor,
  RemoteEnd,
  RemoteError,
  RemoteFile,
  RemoteHandler,
  RemoteRequest,
  RemoteResult,
  RemoteSession,
  RemoteSpeaker,
  RemoteWait,
  StoredFile,
} from "./runtime/agent/remote-port.ts";
export { fromMachine } from "./runtime/machine/from-machine.ts";
export { agentActor, askActor, modelActor, tellActor, toolActor } from "./runtime/machine/actors.ts";
export type { AskInput } from "./runtime/machine/actors.ts";
export type {
  EventOperations,
  MachineOperations,
  MachineOptions,
  MachineViews,
  ViewOperations,
} from "./runtime/machine/from-machine.ts";
export type { StateQuestions } from "./runtime/machine/calls/waits.ts";
export type { MachineTurn } from "./runtime/machine/machine-input.ts";
export type { ActorAddress, ActorPlace } from "./runtime/agent/actor-address.ts";
export type {
  Agent,
  AgentOptions,
  ChatAnswer,
  ChatInput,
  ChatOperations,
  ChatOutput,
  Collaborators,
  DefineOperation,
  Effect,
  MachineOperation,
  MemoryOf,
  Messages,
  Operation,
  OperationOptions,
  ReadOperation,
  Operations,
  Schema,
  Tool,
  ToolOptions,
} from "./runtime/agent/agent.ts";
export type {
  CallOptions,
  EffectOptions,
  RetryCode,
  RetryOptions,
  TimeoutOption,
  ModelRetryOptions,
} from "./runtime/agent/call-options.ts";
export type { MailboxOptions, RequestOrder } from "./runtime/agent/definition/mailbox.ts";
export type { RestartOptions, Supervision } from "./runtime/agent/definition/supervision.ts";
export type { ScheduleOptions } from "./runtime/agent/definition/schedule.ts";
export type {
  Artifact,
  ArtifactOptions,
  AskOptions,
  Attachment,
  Call,
  CompletionOptions,
  EffectContext,
  Memory,
  GivenBody,
  MessageBody,
  OperationInput,
  OperationOutput,
  MessageEntry,
  NamedMessage,
  Receive,
  ReceivedMessage,
  ReceiveOptions,
  Selected,
  SelectEntries,
  TimedWaitOptions,
  WatchOptions,
  MadeSchedule,
  ScheduledTime,
  WaitOptions,
  ToldBody,
  ToldName,
  ToldRequest,
  ReadTurn,
  ToolTurn,
  Turn,
  TurnRequestInfo,
  FailedCompletion,
  ModelFallback,
} from "./runtime/agent/turn-api.ts";
export type {
  AcknowledgementOptions,
  ActorHandle,
  ActorRequestOptions,
  CloseOptions,
  CreateRunOptions,
  LoadedActor,
  LoadedCall,
  Receipt,
  Runtime,
  RuntimeAskOptions,
  RuntimeSchedules,
  RuntimeTopics,
  RuntimeHealth,
  Upload,
} from "./runtime/api.ts";
export type { Audit } from "./runtime/access/audit.ts";
export type { RuntimeStatisticsQuery } from "./runtime/queries/statistics.ts";
export type { StatisticsAnswer, StatisticsLatency, StatisticsRow } from "./protocol/answers/statistics.ts";
export type { DeadLetter } from "./protocol/answers/dead-letter.ts";
export type { ScheduleRequest, ScheduleSummary } from "./protocol/answers/schedule.ts";
export type {
  ListedRequest,
  RequestsPage,
  RequestsQuery,
  SchedulesPage,
  TopicsPage,
  TopicsQuery,
  SchedulesQuery,
  RunDetails,
  RunsPage,
  RunsQuery,
  WaitsPage,
  WaitsQuery,
} from "./runtime/lists.ts";
export type {
  Address,
  AnswersOptions,
  EventFilter,
  EventPage,
  Feed,
  FeedPage,
  FeedReader,
  FollowOptions,
  PageSink,
  PushedPage,
  ReadEventsOptions,
} from "./runtime/feeds.ts";
export type {
  InspectedAgent,
  InspectedCallee,
  InspectedCompletion,
  InspectedMachine,
  InspectedMark,
  InspectedRequest,
  InspectedRun,
  InspectedServer,
  Inspection,
} from "./runtime/inspection.ts";
export type { LiveActors, RunEvent, RunRef } from "./runtime/system/actor-system.ts";
export type { RunFacts, RunSnapshot } from "./runtime/system/run-snapshot.ts";
export type { Limits } from "./runtime/limits.ts";
export type { LimitsOfOwner, OwnerLimits } from "./runtime/owners/owner-limits.ts";
export { memoryArtifacts } from "./storage/memory/artifacts.ts";
export { memoryLog } from "./storage/memory/log.ts";
export type { MemoryLog } from "./storage/memory/log.ts";
