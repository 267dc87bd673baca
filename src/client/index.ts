export { createClient } from "./client.ts";
export type {
  Answer,
  Client,
  ClientOptions,
  Interruptible,
  ProcessOptions,
  ResumeOptions,
  RunsPage,
  RunsQuery,
  StreamOptions,
  Upload,
} from "./client-api.ts";
export type { FollowLimits } from "./stream/follow-settings.ts";
export { remoteAgent } from "./remote/agent.ts";
export type { RemoteAgentOptions, RemoteOperations } from "./remote/agent.ts";
export type { RemoteLimits } from "./remote/settings.ts";
export type { WireOptions } from "./wire/wire.ts";
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
