import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent, Collaborators } from "./agent.ts";
import type { Foreign } from "./foreign.ts";
import type { Journal } from "./journal.ts";
import type { Limits } from "./options.ts";
import type { RunFiles } from "./run-files.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { OpenRequest } from "./run-state.ts";
import { withSecrets } from "./secrets.ts";
import { ActiveTurn } from "./turn.ts";
import type { TurnEnd } from "./turn-options.ts";

/** What every turn is given by its runtime. */
export interface TurnDependencies {
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly artifacts: ArtifactStore;
  readonly files: RunFiles;
  readonly secrets: SecretStore;
  readonly limits: Limits;
  /** How an agent's new runs are configured, without the values of secrets; `undefined` when it is not. */
  configOf(agent: string): JsonObject | undefined;
  agentOf(name: string): Agent | undefined;
  /** An agent elsewhere that an agent here may call. */
  foreignOf(name: string): Foreign | undefined;
  /** Whom an agent works with, by its own names for them. */
  usesOf(agent: Agent): Collaborators;
}

/** What the turns of a run are made with. */
export interface OpenTurnOptions extends TurnDependencies {
  readonly runId: RunId;
  readonly ledger: RunLedger;
}

/** The turn of a request that was started, and its agent. */
export interface StartedTurn {
  readonly agent: Agent;
  readonly open: OpenRequest & { readonly turn: number };
  readonly journal: Journal;
}

/** Who hears of a turn. */
export interface TurnListener {
  /** What the turn waits for may have changed. */
  changed(turn: ActiveTurn): void;
  /** Writes the end of the turn into the log and returns its encoded event. */
  complete(turn: ActiveTurn, end: TurnEnd): string;
}

/** Makes a turn that is under way, with the configuration that its run had when it was started. */
export function openTurn(
  options: OpenTurnOptions,
  { agent, open: { accepted, turn: number, config }, journal }: StartedTurn,
  listener: TurnListener,
): ActiveTurn {
  const { runId, ledger, environment, telemetry, artifacts, files, limits } = options;
  const { secrets, configOf, agentOf, foreignOf, usesOf } = options;
  const reveal = (config: JsonObject): JsonObject => withSecrets(config, secrets);
  const turn: ActiveTurn = new ActiveTurn({
    runId,
    accepted,
    number,
    agent,
    journal,
    memory: ledger.state.memory,
    config: reveal(config?.args ?? {}),
    // Another agent of the same name is not the one that was configured.
    configOf: (called) => (agentOf(called.name) === called ? configOf(called.name) : undefined),
    reveal,
    recorder: ledger.recorder,
    environment,
    telemetry,
    artifacts,
    files,
    limits,
    usesOf,
    foreignOf,
    changed: () => listener.changed(turn),
    complete: (end) => listener.complete(turn, end),
  });
  return turn;
}
