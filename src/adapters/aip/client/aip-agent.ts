import type { Agent, ChatInput, ChatOutput, Operation } from "../../../runtime/agent/agent.ts";
import { defineRemoteAgent } from "../../../runtime/agent/definition/remote.ts";
import type { RemoteHandler } from "../../../runtime/agent/remote-port.ts";
import { NodeDescription } from "./description.ts";
import { SessionCall } from "./session-call.ts";
import { NodeConnection } from "./node-connection.ts";
import type { AipTarget } from "./node-connection.ts";

/** What a remote agent behind an AIP gateway is called with. */
export interface AipAgentOptions extends AipTarget {
  /** The local name of the agent. Default: its id. */
  readonly name?: string;
  /** What it does, until the gateway has told it. */
  readonly purpose?: string;
}

/** The operations of an agent of AIP: only a chat. */
export type AipAgentOperations = { readonly chat: Operation<ChatInput, ChatOutput> };

/**
 * Makes a local agent of one that is reached over AIP. Each call is a session. Its texts are logged as they arrive, its
 * files are stored here, and its questions are asked here. The protocol cannot resume a session: a call that was sent
 * before a crash ends as `interrupted`.
 */
export function aipAgent({ name, purpose, ...target }: AipAgentOptions): Agent<AipAgentOperations> {
  const node = new NodeConnection(target);
  const local = name ?? target.id;
  const description = new NodeDescription(node);
  const remote: RemoteHandler = {
    known: true,
    ready: () => description.ready(),
    perform(asked, session) {
      void description.ready();
      return new SessionCall(node, local, asked, session).run();
    },
    // The session has ended with the process that opened it.
    abandon() {},
  };
  return defineRemoteAgent({
    name: local,
    purpose: () => purpose ?? (description.peer?.agent_info?.description || NOT_LOADED),
    remote,
  });
}

const NOT_LOADED = "An agent reached over AIP, whose description is not loaded yet.";
