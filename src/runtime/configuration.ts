import type { EventLog } from "../ports/event-log.ts";
import type { RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import { stateAt } from "./load-run.ts";

/** The agent of a run that holds only a configuration. */
export const NO_AGENT = "";

/** The run in whose log the configuration of an agent is kept; it is listed nowhere. */
export function configRunId(agent: string): RunId {
  return `config-${agent}` as RunId;
}

/** Whether a run is one of those, which no client may see. */
export function isConfigRun({ agent }: { readonly agent: string }): boolean {
  return agent === NO_AGENT;
}

/** Reads how each agent was configured before. */
export async function loadConfigurations(
  log: EventLog,
  agents: readonly string[],
): Promise<Map<string, JsonObject>> {
  const configs = new Map<string, JsonObject>();
  for (const agent of agents) {
    const { config } = await stateAt(log, configRunId(agent), Infinity);
    if (config) configs.set(agent, config.args);
  }
  return configs;
}
