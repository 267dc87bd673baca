import { configRunId } from "../journal/system-runs.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { stateAt } from "../replay/load-run.ts";

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
