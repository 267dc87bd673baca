export { createClient } from "./client.ts";
export type {
  ActorClient,
  AgentCall,
  AgentClient,
  Answer,
  CallOptions,
  ChatReply,
  Client,
  ClientOf,
  ClientOptions,
  ConfigureOptions,
  EventsOptions,
  FollowOptions,
  Health,
  Interruptible,
  OpenWait,
  RunChange,
  RunClient,
  RunsPage,
  RunsQuery,
  SentBody,
  TellOptions,
  Upload,
  UploadedFile,
  WaitsPage,
  WaitsQuery,
} from "./client-api.ts";
export { WaitingError } from "./call/waiting-error.ts";
export type { FollowLimits } from "./stream/follow-settings.ts";
export { remoteAgent } from "./remote/agent.ts";
export type { RemoteAgentOptions, RemoteOperations } from "./remote/agent.ts";
export type { RemoteLimits } from "./remote/settings.ts";
export type { WireOptions } from "./wire/wire.ts";
export { createConversation } from "./store/conversation.ts";
export type { Conversation, ConversationOptions, ConversationState } from "./store/conversation.ts";
export { createRunStore } from "./store/run-store.ts";
export type { Connection, RunStore } from "./store/run-store.ts";
export type { Followed } from "./stream/followed.ts";
export { callKey } from "./view/fold.ts";
export { project } from "./view/project.ts";
export type {
  CallKind,
  CallView,
  FileView,
  MachineStep,
  MachineView,
  MessageView,
  OpenCalls,
  Phase,
  RunView,
  Times,
  TurnView,
  WaitView,
} from "./view/run-view.ts";
