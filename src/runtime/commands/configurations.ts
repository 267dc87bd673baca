import { configRunId } from "../journal/system-runs.ts";
import { stateAt } from "../replay/load-run.ts";
import type { RunContext } from "../run-context.ts";

/** Reads the configuration of each agent from the log. */
export async function loadConfigurations({ agents, log }: RunContext): Promise<void> {
  for (const agent of agents.names) {
    const { config } = await stateAt(log, configRunId(agent), Infinity);
    if (config) agents.configure(agent, config.args);
  }
}
