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
