import type { CalleeKind } from "../../../protocol/events/events.ts";
import { CHAT } from "../../agent/agent.ts";
import type { Agent } from "../../agent/agent.ts";
import type { AgentDirectory } from "../../agent/agent-directory.ts";
import { describeOperations } from "../../agent/definition/describe.ts";
import type { InspectedAgent, InspectedCallee } from "../../inspection.ts";

/** An agent with everything it calls; throws `not_found` for an unknown one. */
export function inspectAgent(agents: AgentDirectory, name: string): InspectedAgent {
  const agent = agents.get(name);
  const { purpose, effect, version, model, memory, machine } = agent;
  const callees = calleesOf(agents, agent);
  return {
    name,
    purpose,
    kind: kindOf(agent),
    effect,
    ...(version !== undefined && { version }),
    ...(model !== undefined && { model }),
    memory,
    tools: callees.filter(({ kind }) => kind === "tool"),
    collaborators: callees.filter(({ kind }) => kind !== "tool"),
    called_by: agents.names.filter(
      (other) =>
        other !== name && calleesOf(agents, agents.get(other)).some((callee) => callee.agent === name),
    ),
    ...(machine && { statechart: machine.statechart }),
  };
}

/** What an agent calls: the agents that it uses under names of its own, and those that it only lists. */
function calleesOf(agents: AgentDirectory, agent: Agent): readonly InspectedCallee[] {
  const uses = agents.usesOf(agent);
  const used = Object.entries(uses).map(([name, callee]) => {
    const own = agent.uses[name];
    return toCallee(agents, callee, name, own === callee ? undefined : own?.name);
  });
  const listed = agent.tools.filter((tool) => !Object.values(uses).includes(tool));
  return [...used, ...listed.map((tool) => toCallee(agents, tool, tool.name))];
}

function toCallee(agents: AgentDirectory, agent: Agent, name: string, insteadOf?: string): InspectedCallee {
  return {
    name,
    agent: agent.name,
    kind: kindOf(agent),
    purpose: agent.purpose,
    effect: agent.effect,
    // Of a tool, a chat is only another form of its call.
    operations: describeOperations(agent).filter(
      (operation) => agent.kind !== "tool" || operation.name !== CHAT,
    ),
    served: isServed(agents, agent),
    ...(insteadOf !== undefined && { instead_of: insteadOf }),
  };
}

/** Whether requests for the name of an agent get to it; those for a tool get to an agent that calls it. */
function isServed(agents: AgentDirectory, agent: Agent): boolean {
  const found = agents.find(agent.name);
  return found === agent || (agent.kind === "tool" && found?.tools.includes(agent) === true);
}

function kindOf({ kind, remote }: Agent): CalleeKind {
  return remote === undefined ? kind : "remote";
}
