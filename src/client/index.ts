export { createClient } from "./client.ts";
export type {
  ActorClient,
  AgentClient,
  ChatReply,
  Client,
  ClientOf,
  ClientOptions,
  EventsOptions,
  Health,
  RunChange,
  RunClient,
  RunsPage,
  RunsQuery,
  SentBody,
  Upload,
  UploadedFile,
  WaitsPage,
  WaitsQuery,
} from "./client-api.ts";
export type {
  AgentCall,
  Answer,
  AgentCallOptions,
  ConfigureOptions,
  RequestFollowOptions,
  Interruptible,
  OpenWait,
  TellOptions,
} from "./call-api.ts";
export { WaitingError } from "./call/waiting-error.ts";
export type { FollowLimits } from "./stream/follow-settings.ts";
export { httpAgent } from "./exchange/http-agent.ts";
export type { HttpAgentOptions, HttpRequest } from "./exchange/http-agent.ts";
export type { AnswerEvent, AnswerLimits } from "./exchange/answer-event.ts";
export type { AskedExchange, ExchangeAgent, ExchangeOptions } from "./exchange/exchange-agent.ts";
export { remoteAgent } from "./remote/agent.ts";
export type { RemoteAgentOptions, RemoteOf } from "./remote/agent.ts";
export type { RemoteOperations } from "../runtime/agent/definition/remote.ts";
export type { RemoteLimits } from "./remote/settings.ts";
export type { WireOptions } from "./wire/wire.ts";
export { createConversation } from "./store/conversation.ts";
export type {
  Conversation,
  ConversationOptions,
  ConversationSettings,
  ConversationState,
  ConversationStatus,
  SentMessage,
} from "./store/conversation.ts";
export { addressMemory, storageMemory } from "./store/run-memory.ts";
export type { RunMemory } from "./store/run-memory.ts";
export { createRunList, createWaitList } from "./store/live-list.ts";
export type { ListState, LiveList, RunListQuery, WaitListQuery } from "./store/live-list.ts";
export { createRunStore } from "./store/run-store.ts";
export type { Connection, RunStore } from "./store/run-store.ts";
export type { Followed } from "./stream/followed.ts";
export { project } from "../view/fold.ts";
export { callKey } from "../view/run-view.ts";
export type {
  CallKind,
  CallView,
  FileView,
  MachineStep,
  MachineView,
  OpenCallCounts,
  OpenText,
  PartView,
  Phase,
  RunView,
  TextPart,
  Times,
  TurnView,
  WaitView,
} from "../view/run-view.ts";
export { createScheduleClient } from "./schedule-client.ts";
export type { ScheduleClient, SchedulesPage, SchedulesQuery } from "./schedule-client.ts";
export { createTopicClient } from "./topic-client.ts";
export type {
  PublicationOf,
  SubscribeOptions,
  TopicClient,
  TopicsPage,
  TopicsQuery,
} from "./topic-client.ts";
