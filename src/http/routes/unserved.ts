import { TIMER_AGENT } from "../../runtime/agent/definition/timer-agent.ts";
import { TOPIC_AGENT } from "../../runtime/agent/topic.ts";
import type { Runtime } from "../../runtime/api.ts";

/**
 * Whether nothing is served under the name of an agent that has runs here. Its open turns are held: they are shown, and take
 * answers and cancels. The runtime refuses anything new for it.
 */
export async function hasUnservedRuns(runtime: Runtime, agent: string): Promise<boolean> {
  if (!isUnserved(runtime, agent)) return false;
  const { runs } = await runtime.runs({ agent, limit: 1 });
  return runs.length > 0;
}

/** Whether nothing is served under the name of an agent, which may have runs from before. */
export function isUnserved(runtime: Runtime, agent: string): boolean {
  return agent !== "" && agent !== TIMER_AGENT && agent !== TOPIC_AGENT && !runtime.agents.includes(agent);
}
