import type { By } from "../../protocol/actors.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { configRunId } from "../journal/system-runs.ts";
import { stateAt } from "../replay/load-run.ts";
import { sendMessage } from "../run/messages.ts";
import type { RunReceipt } from "../run/messages.ts";
import { secretNamesIn, withoutSecrets } from "../secrets/config-secrets.ts";
import type { HostContext, RunContext } from "../run-context.ts";

/** A new configuration of an agent, or of one of its runs. */
export interface NewConfiguration {
  readonly agent: string;
  /** Absent for the configuration of the agent. */
  readonly runId: RunId | undefined;
  readonly args: JsonObject;
  readonly by?: By | undefined;
}

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

/** Writes a configuration to the log of a run or of an agent, and its secret values to the secret store. */
export async function recordConfiguration(
  context: HostContext,
  { agent, runId: named, args, by }: NewConfiguration,
): Promise<RunReceipt> {
  const { agents, environment, log, router, secrets } = context;
  const runId = named ?? configRunId(agent);
  const version = `secret_${environment.newId()}`;
  const kept = withoutSecrets(args, version);
  const message = { kind: "configure", id: version, args: kept.args, ...(by && { by }) } as const;
  // The configuration is tried first, so that the secrets of a refused one are not stored.
  if (Object.keys(kept.secrets).length > 0) await sendMessage(router, runId, { ...message, isTrial: true });
  if (named !== undefined) return secrets.store(kept.secrets, () => sendMessage(router, runId, message));
  const replaced = [...secretNamesIn(agents.configOf(agent) ?? null)];
  const reply = await secrets.store(kept.secrets, async () => {
    const written = await sendMessage(router, runId, message);
    // With several nodes, `followConfigurations` may have read this configuration before.
    replaced.push(...(await loadConfiguration(context, agent)));
    return written;
  });
  // With several nodes, this one may not know which configuration is replaced, so it looks for all secrets that nothing
  // refers to.
  if (log.node !== undefined) await secrets.sweep();
  // Another change may have replaced the secrets of this configuration in the meantime, so these are looked at too.
  else await secrets.collect([...new Set([...replaced, ...Object.keys(kept.secrets)])]);
  return reply;
}

/** Reads the configuration of an agent from the log; the answer is the names of the secrets that were replaced. */
async function loadConfiguration(
  { agents, log, secrets }: RunContext,
  agent: string,
): Promise<readonly string[]> {
  const { config } = await stateAt(log, configRunId(agent), Infinity);
  if (config === null) return [];
  const names = secretNamesIn(config.args);
  await secrets.hold(names);
  const replaced = agents.configure(agent, config);
  secrets.release(agents.configOf(agent) === config.args ? replaced : names);
  return replaced;
}
