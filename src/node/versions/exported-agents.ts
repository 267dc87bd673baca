import type { Agent, Messages } from "../../runtime/agent/agent.ts";
import { isTopic } from "../../runtime/agent/topic.ts";
import type { Topic } from "../../runtime/agent/topic.ts";

/** The agents and tools among the exports of a file, and in the list that it exports as default. */
export function exportedAgents(exported: Readonly<Record<string, unknown>>): readonly Agent[] {
  const list = exportedList(exported) ?? [];
  return [...new Set([...list, ...Object.values(exported)])].filter(isAgent);
}

/** The list of agents that a file exports as default, if it does. */
export function exportedList({
  default: list,
}: Readonly<Record<string, unknown>>): readonly Agent[] | undefined {
  return Array.isArray(list) && list.length > 0 && list.every(isAgent) ? list : undefined;
}

/** The topics among the exports of a file. */
export function exportedTopics(exported: Readonly<Record<string, unknown>>): readonly Topic<Messages>[] {
  return [...new Set(Object.values(exported))].filter(isTopic);
}

/** Whether a value was made by `defineAgent`, `defineTool` or `fromMachine`. */
function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null) return false;
  const { name, purpose, kind, operations } = value as Partial<Agent>;
  return (
    typeof name === "string" &&
    typeof purpose === "string" &&
    (kind === "agent" || kind === "tool") &&
    typeof operations === "object"
  );
}
