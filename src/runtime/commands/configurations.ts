import { configRunId } from "../journal/system-runs.ts";
import { stateAt } from "../replay/load-run.ts";
import { secretsIn } from "../secrets/config-secrets.ts";
import type { RunContext } from "../run-context.ts";

/** Reads the configuration of each agent from the log. */
export async function loadConfigurations(context: RunContext): Promise<void> {
  for (const agent of context.agents.names) await loadConfiguration(context, agent);
}

/**
 * Reads the configuration of each agent again when another node has changed it, until the returned function is called.
 */
export function followConfigurations(context: RunContext): () => void {
  const { agents, log, telemetry } = context;
  if (log.node === undefined) return () => {};
  const stops = agents.names.map((agent) =>
    log.tail(configRunId(agent), () => {
      loadConfiguration(context, agent).catch((error: unknown) =>
        telemetry.fault(`the configuration of agent ${agent} could not be read`, error),
      );
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

/** Reads the configuration of an agent from the log; the answer is the names of the secrets that were replaced. */
export async function loadConfiguration(
  { agents, log, secrets }: RunContext,
  agent: string,
): Promise<readonly string[]> {
  const { config } = await stateAt(log, configRunId(agent), Infinity);
  if (config === null) return [];
  const names = secretsIn(config.args);
  await secrets.hold(names);
  const replaced = agents.configure(agent, config);
  secrets.release(agents.configOf(agent) === config.args ? replaced : names);
  return replaced;
}
