export { useActor, useAgent } from "./use-agent.ts";
export type { ActorConversation, AgentConversation, AgentSettings } from "./use-agent.ts";
export { useRuns, useWaits } from "./use-list.ts";
export type { ShownList } from "./use-list.ts";
export { useRun } from "./use-run.ts";
export type { FollowedRun } from "./use-run.ts";
export { toAssistantStore } from "./assistant-store.ts";
export type { AssistantMessage, AssistantPart, AssistantStore, WrittenMessage } from "./assistant-store.ts";
