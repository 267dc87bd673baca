import type { Channel } from "../rpc/channel.ts";
import type { AgentInfo, Peer, ToolBoxInfo } from "../wire/messages.ts";

/** How a node is reached: it is part of this process, registered here, or learned from another gateway. */
export type Origin = "own" | "registered" | "learned";

/** An agent or a toolbox that the gateway knows. */
export interface GatewayNode {
  readonly id: string;
  readonly kind: "agent" | "toolbox";
  readonly origin: Origin;
  /** The description that the gateway sends of it. */
  readonly peer: Peer;
  /** The connection to it or to its gateway; absent for a node of this process. */
  readonly channel?: Channel;
}

/** The fields that agents and toolboxes have in common. */
export function infoOf({ agent_info: agent, toolbox_info: toolbox }: Peer): CommonInfo | undefined {
  if (agent) return { ...pick(agent), id: agent.agent_id, kind: "agent" };
  if (toolbox) return { ...pick(toolbox), id: toolbox.toolbox_id, kind: "toolbox" };
  return undefined;
}

export interface CommonInfo {
  readonly id: string;
  readonly kind: GatewayNode["kind"];
  readonly address: string;
  readonly domain: string;
}

function pick({ address, domain }: AgentInfo | ToolBoxInfo): Pick<CommonInfo, "address" | "domain"> {
  return { address, domain };
}
