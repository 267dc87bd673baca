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
export type { FollowLimits } from "./wire/connection.ts";
export { remoteAgent } from "./remote/agent.ts";
export type { RemoteAgentOptions, RemoteOperations } from "./remote/agent.ts";
export type { RemoteLimits } from "./remote/limits.ts";
export type { WireOptions } from "./wire/wire.ts";
