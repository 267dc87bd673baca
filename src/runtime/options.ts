import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Router } from "../ports/router.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Agent, Collaborators } from "./agent.ts";

/** What a runtime is made of. */
export interface RuntimeOptions {
  readonly agents: readonly Agent[];
  readonly log: EventLog;
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
  readonly router: Router;
  readonly environment: Environment;
  readonly telemetry?: Telemetry;
  /**
   * Who takes the place of an agent that others use, by the name they use it under. It has to have the
   * operations that the one it replaces has.
   */
  readonly bind?: Collaborators;
  /** Default: the agent called `echo` if there is one, else the first. */
  readonly defaultAgent?: string;
  /**
   * How long texts may gather before they are committed and sent together, in milliseconds. Default 0:
   * a commit takes what gathered during the one before it. A few milliseconds make streams cheaper
   * and every text that much later.
   */
  readonly commitIntervalMs?: number;
  /**
   * How long an idle run is kept after its last change, in milliseconds; then it is removed with its
   * artifacts. Default: for ever.
   */
  readonly retainMs?: number;
  /**
   * How many bytes runs and artifacts may take together; beyond that the runs that have been idle longest
   * are removed with their artifacts, until the rest fits. Default: no limit.
   */
  readonly retainBytes?: number;
  readonly limits?: Partial<Limits>;
}

/** What one turn, run or process may take at most. */
export interface Limits {
  /** Requests that wait for one run, beside the one that runs. Default 8. */
  readonly queuedRequests: number;
  /** Texts of one sequence (a turn, a child, a branch) that may wait for their commit. Default 1,000. */
  readonly uncommittedTexts: number;
  /** The same in characters. Default 1 Mi. */
  readonly uncommittedCharacters: number;
  /** Events and journal entries of a run that may wait for their commit before its turn calls for more. Default 10,000. */
  readonly uncommittedEntries: number;
  /** How deep agents may call each other. Default 8. */
  readonly depth: number;
  /** How often an agent may stand among its own callers, directly or through others. Default 4. */
  readonly selfCalls: number;
  /** Calls of agents in one turn, at all depths, tools not counted; one more ends it with `budget`. Default 10,000. */
  readonly agentCalls: number;
  /** Questions that one turn has open at once, its calls included. Default 1,000. */
  readonly openWaits: number;
  /** Events in one run, after which it takes no more turns. Default 1,000,000. */
  readonly runEvents: number;
  /** How long a turn may run, waiting and sleeping not counted, in milliseconds. Default 30 minutes. */
  readonly turnMs: number;
  /** Bytes that an agent may keep for a run. Default 1 MiB. */
  readonly memoryBytes: number;
  /** Bytes of the configuration of an agent or a run, all that was ever set together. Default 256 KiB. */
  readonly configBytes: number;
  /** Bytes of one artifact. Default 32 MiB. */
  readonly artifactBytes: number;
  /** How often a call whose outcome is unknown is tried. Default 3. */
  readonly attempts: number;
  /** Runs held in memory although they are idle or wait. Default 1,000. */
  readonly idleRuns: number;
}

/** The limits that hold where none are given. */
export const defaultLimits: Limits = {
  queuedRequests: 8,
  uncommittedTexts: 1_000,
  uncommittedCharacters: 1_048_576,
  uncommittedEntries: 10_000,
  depth: 8,
  selfCalls: 4,
  agentCalls: 10_000,
  openWaits: 1_000,
  runEvents: 1_000_000,
  turnMs: 30 * 60_000,
  memoryBytes: 1_048_576,
  configBytes: 262_144,
  artifactBytes: 32 * 1_048_576,
  attempts: 3,
  idleRuns: 1_000,
};

/** Hears everything and does nothing. */
export const noTelemetry: Telemetry = {
  accepted() {},
  completed() {},
  committed() {},
  dropped() {},
  fault() {},
};
