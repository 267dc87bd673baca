import { localRouter } from "./cluster/local-router.ts";
import { nodeEnvironment } from "./node/environment.ts";
import type { Runtime } from "./runtime/api.ts";
import type { RuntimeOptions } from "./runtime/options.ts";
import { createRuntime as createRuntimeOn } from "./runtime/runtime.ts";
import { memoryArtifacts } from "./storage/memory/artifacts.ts";
import { memoryLog } from "./storage/memory/log.ts";
import { memorySecrets } from "./storage/memory/secrets.ts";

/** The agents, and optional engines that replace the ones in memory. */
export type CreateRuntimeOptions = Pick<RuntimeOptions, "agents"> & Partial<RuntimeOptions>;

/**
 * Starts a runtime. By default its log and artifacts are in memory and are lost with the process; use
 * `sqliteLog` and `fsArtifacts` to keep them.
 */
export function createRuntime(options: CreateRuntimeOptions): Runtime {
  return createRuntimeOn({
    environment: nodeEnvironment(),
    log: options.log ?? memoryLog(),
    artifacts: options.artifacts ?? memoryArtifacts(),
    secrets: options.secrets ?? memorySecrets(),
    router: options.router ?? localRouter(),
    ...options,
  });
}

export { AgentError } from "./errors.ts";
export type { ErrorCode, ErrorDetails } from "./errors.ts";
export type { ArtifactStore } from "./ports/artifact-store.ts";
export type { Environment } from "./ports/environment.ts";
export type { EventLog } from "./ports/event-log.ts";
export { ModelError } from "./ports/model.ts";
export type { Model, ModelContext, ModelPart } from "./ports/model.ts";
export type { Router } from "./ports/router.ts";
export type { SecretStore } from "./ports/secret-store.ts";
export type { Telemetry } from "./ports/telemetry.ts";
export type { Event, EventType } from "./protocol/events.ts";
export type { EventOf } from "./protocol/event-schemas.ts";
export type { ArtifactId, CallId, RequestId, RunId } from "./protocol/ids.ts";
export type { Json, JsonObject } from "./protocol/json.ts";
export type { Request } from "./protocol/requests.ts";
export { localRouter } from "./cluster/local-router.ts";
export { defineAgent, defineTool, operation } from "./runtime/agent/define.ts";
export type { ChatOperations } from "./runtime/agent/define.ts";
export { fromMachine } from "./runtime/machine/from-machine.ts";
export type { MachineOperation, MachineOptions } from "./runtime/machine/from-machine.ts";
export type {
  Agent,
  AgentOptions,
  ChatAnswer,
  ChatInput,
  ChatOutput,
  Collaborators,
  DefineOperation,
  Effect,
  MemoryOf,
  Operation,
  OperationOptions,
  Operations,
  Schema,
  Tool,
  ToolOptions,
} from "./runtime/agent/agent.ts";
export type {
  Artifact,
  ArtifactOptions,
  Attachment,
  Call,
  CompletionOptions,
  EffectContext,
  Memory,
  OperationInput,
  OperationOutput,
  ToolTurn,
  Turn,
  TurnRequestInfo,
} from "./runtime/agent/turn-api.ts";
export type {
  AcknowledgementOptions,
  Address,
  CreateRunOptions,
  EventFilter,
  EventPage,
  Feed,
  FeedPage,
  FollowOptions,
  ReadEventsOptions,
  Receipt,
  RunsPage,
  RunsQuery,
  Runtime,
  RuntimeHealth,
  Upload,
} from "./runtime/api.ts";
export type { Limits } from "./runtime/limits.ts";
export { memoryArtifacts } from "./storage/memory/artifacts.ts";
export { memoryLog } from "./storage/memory/log.ts";
