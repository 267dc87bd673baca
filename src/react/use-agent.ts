"use client";
import { useMemo, useSyncExternalStore } from "react";
import { keyOf } from "../client/agent-client.ts";
import type { ActorClient, AgentClient } from "../client/client-api.ts";
import { createConversation } from "../client/store/conversation.ts";
import type { Conversation, ConversationState } from "../client/store/conversation.ts";
import { addressMemory, storageMemory } from "../client/store/run-memory.ts";
import type { RunMemory } from "../client/store/run-memory.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Messages, Operations } from "../runtime/agent/agent.ts";

/** A conversation with an agent, as a component shows it. */
export type AgentConversation<Ops extends Operations = Operations> = ConversationState &
  Omit<Conversation<Ops>, "state" | "subscribe">;

/** Which run `useAgent` shows. Default: a new one, which the first message creates. */
export interface AgentSettings {
  readonly runId?: RunId | undefined;
  /**
   * Where the run is remembered, so that a page that is reloaded shows it: in its address as `?run=`, or in the local storage of the
   * browser, one run for each agent. A memory of your own must be the same object in every render.
   */
  readonly remember?: "address" | "storage" | RunMemory | undefined;
}

/**
 * Has a conversation with an agent in one run. It is followed while the component is mounted. The conversation starts again
 * with another server, agent, `runId` or other credentials (`token`, `headers`, `fetch`).
 */
export function useAgent<Ops extends Operations>(
  agent: AgentClient<Ops, never>,
  settings: AgentSettings = {},
): AgentConversation<Ops> {
  return useConversation(agent, settings);
}

/** A conversation with an actor, as a component shows it. */
export type ActorConversation<
  Ops extends Operations = Operations,
  Accepted extends Messages = Messages,
> = AgentConversation<Ops> & Pick<ActorClient<Ops, Accepted>, "tell">;

/**
 * Has a conversation with the actor of this name: the run of the agent with the key, from its first call or message on, also over
 * its renewals.
 */
export function useActor<Ops extends Operations, Accepted extends Messages>(
  agent: AgentClient<Ops, Accepted>,
  key: string,
): ActorConversation<Ops, Accepted> {
  const { tell } = agent.actor(key);
  return { ...useConversation(agent as unknown as AgentClient<Ops, never>, { key }), tell };
}

function useConversation<Ops extends Operations>(
  agent: AgentClient<Ops, never>,
  { runId, key, remember }: AgentSettings & { readonly key?: string },
): AgentConversation<Ops> {
  // An agent is often made while rendering, so one that is made alike counts as the same.
  const same = keyOf(agent) ?? agent;
  const conversation = useMemo(
    () => createConversation(agent, { runId, key, memory: toMemory(agent, remember) }),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `same` stands for the agent.
    [same, runId, key, remember],
  );
  const { subscribe, state: _, ...actions } = conversation;
  const getState = (): ConversationState => conversation.state;
  return { ...useSyncExternalStore(subscribe, getState, getState), ...actions };
}

function toMemory(
  { url }: Pick<AgentClient, "url">,
  remember: AgentSettings["remember"],
): RunMemory | undefined {
  if (remember === "address") return addressMemory();
  return remember === "storage" ? storageMemory(`troupe ${url}`) : remember;
}
