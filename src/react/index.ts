export { useAgent } from "./use-agent.ts";
export type { AgentConversation } from "./use-agent.ts";
export { useRun } from "./use-run.ts";
export type { FollowedRun } from "./use-run.ts";
