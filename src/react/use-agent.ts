import { useMemo, useSyncExternalStore } from "react";
import { keyOf } from "../client/agent-client.ts";
import type { AgentClient } from "../client/client-api.ts";
import { createConversation } from "../client/store/conversation.ts";
import type { Conversation, ConversationState } from "../client/store/conversation.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Operations } from "../runtime/agent/agent.ts";

/** A conversation with an agent, as a component shows it. */
export type AgentConversation<Ops extends Operations> = ConversationState &
  Pick<Conversation<Ops>, "answer" | "call" | "cancel" | "send">;

/**
 * Has a conversation with an agent in one run: a new one, or the one with `runId`. It is followed while the component is
 * mounted. The conversation starts again with another server, agent, `runId` or other credentials (`token`, `headers`, `fetch`).
 */
export function useAgent<Ops extends Operations>(
  agent: AgentClient<Ops, never>,
  { runId }: { readonly runId?: RunId } = {},
): AgentConversation<Ops> {
  // An agent is often made while rendering, so one that is made alike counts as the same.
  const key = keyOf(agent) ?? agent;
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the agent.
  const conversation = useMemo(() => createConversation(agent, runId), [key, runId]);
  const { subscribe, answer, call, cancel, send } = conversation;
  const getState = (): ConversationState => conversation.state;
  return { ...useSyncExternalStore(subscribe, getState, getState), answer, call, cancel, send };
}
