import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { Environment } from "../../ports/environment.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Agent, Collaborators } from "../agent/agent.ts";
import type { RemoteHandler } from "../agent/remote-port.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { Limits } from "../limits.ts";
import type { RunArtifacts } from "../artifacts/run-artifacts.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { OpenRequest } from "../replay/run-state.ts";
import { withSecrets } from "../agent/config-secrets.ts";
import { ActiveTurn } from "../turn/active-turn.ts";
import type { TurnEnd } from "../turn/turn-options.ts";
import type { TurnError } from "../../protocol/events.ts";

/** What every turn is given by its runtime. */
export interface TurnDependencies {
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly artifacts: ArtifactStore;
  readonly files: RunArtifacts;
  readonly secrets: SecretStore;
  readonly limits: Limits;
  /** How an agent's new runs are configured, without the values of secrets; `undefined` when it is not. */
  configOf(agent: string): JsonObject | undefined;
  agentOf(name: string): Agent | undefined;
  /** An agent elsewhere that an agent here may call. */
  remoteOf(name: string): RemoteHandler | undefined;
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
  readonly journal: TurnJournal;
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
  const { secrets, configOf, agentOf, remoteOf, usesOf } = options;
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
    remoteOf,
    changed: () => listener.changed(turn),
    complete: (end) => listener.complete(turn, end),
  });
  return turn;
}

/** Why a turn cannot go on with the agent as it is now; `undefined` when it can. */
export function versionMismatch(
  name: string,
  agent: Agent | undefined,
  { agentVersion: before }: TurnJournal,
): TurnError | undefined {
  if (agent === undefined) return { code: "interrupted", message: `agent ${name} is not served any more` };
  const { version: now, compatible } = agent;
  if (before === now || (before !== undefined && compatible.includes(before))) return undefined;
  const versions = `from version ${before ?? "(none)"} to ${now ?? "(none)"}`;
  return { code: "version_mismatch", message: `agent ${name} has changed ${versions} since the turn began` };
}
