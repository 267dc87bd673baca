import type { Limits } from "./limits.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Router } from "../ports/router.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Agent, Collaborators } from "./agent/agent.ts";

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

/** Hears everything and does nothing. */
export const noTelemetry: Telemetry = {
  accepted() {},
  completed() {},
  committed() {},
  dropped() {},
  fault() {},
};
