import type { AgentDescriptor } from "../../../protocol/answers/descriptor.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { MODE } from "../wire/messages.ts";
import type { AgentInfo, ToolBoxInfo, ToolInfo } from "../wire/messages.ts";

/** The id of the toolbox with the operations of all agents. */
export const TOOLBOX = "troupe";

/** The domain of the nodes of this process. */
const DOMAIN = "default";

const MODES = Object.values(MODE);

/** An agent of the runtime as a node. */
export function toAgentInfo(runtime: Runtime, agent: string, address: string): AgentInfo {
  const { name, purpose, operations, version = "" } = runtime.describe(agent);
  return {
    agent_id: name,
    address,
    name,
    domain: DOMAIN,
    input_mode: MODES,
    output_mode: MODES,
    description: purpose,
    skills: operations.map(({ name, description }) => ({ skill_id: name, capability: description })),
    version,
  };
}

/** The toolbox with the operations of all agents of the runtime. */
export function toToolBoxInfo(runtime: Runtime, address: string): ToolBoxInfo {
  return {
    toolbox_id: TOOLBOX,
    address,
    name: TOOLBOX,
    domain: DOMAIN,
    description: `The operations of ${runtime.agents.join(", ")}.`,
    tools: runtime.agents.flatMap((agent) => toTools(runtime.describe(agent))),
  };
}

function toTools({ name: agent, operations, version = "" }: AgentDescriptor): readonly ToolInfo[] {
  return operations.map(({ name, description, input_schema: schema }) => ({
    name: `${agent}.${name}`,
    description,
    arguments: JSON.stringify(schema ?? { type: "object" }),
    version,
  }));
}
