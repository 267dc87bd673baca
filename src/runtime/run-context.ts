import type { Environment } from "../ports/environment.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Readiness } from "../ports/readiness.ts";
import type { Router } from "../ports/router.ts";
import type { Substitutes } from "../ports/substitutes.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Tracing } from "../ports/tracing.ts";
import type { Breakers } from "./calls/breaker.ts";
import type { SlotQueues } from "./scheduler/slot-queue.ts";
import type { StartGate } from "./activation/start-gate.ts";
import type { AgentDirectory } from "./agent/agent-directory.ts";
import type { StoredSecrets } from "./secrets/stored-secrets.ts";
import type { RunArtifacts } from "./artifacts/run-artifacts.ts";
import type { GroupCommit } from "./journal/group-commit.ts";
import type { PriceTable } from "../ports/prices.ts";
import type { TextWindow } from "./journal/text-window.ts";
import type { Limits } from "./limits.ts";
import type { ActorSystem } from "./system/actor-system.ts";
import type { HourRows } from "./journal/hour-rows.ts";
import type { OwnerAccounts } from "./owners/accounts.ts";
import type { Mail } from "./replay/mail-port.ts";

/** The shared objects of all runs of a runtime, created once. */
export interface RunContext {
  readonly log: EventLog;
  /** The secret values of configurations. */
  readonly secrets: StoredSecrets;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  /** Absent without instrumentation of the process. */
  readonly tracing?: Tracing;
  /** What answers in place of models, tools and actors; absent if they do themselves. */
  readonly substitutes?: Substitutes;
  readonly limits: Limits;
  readonly agents: AgentDirectory;
  /** The files of runs. */
  readonly files: RunArtifacts;
  /** Commits the texts of all runs together. */
  readonly groupCommit: GroupCommit;
  /** How long the texts of a run gather. */
  readonly textWindow: TextWindow;
  /** The queues of tools and models. */
  readonly queues: SlotQueues;
  /** The breakers of models that may be away. */
  readonly breakers: Breakers;
  /** Decides when handlers run. */
  readonly gate: StartGate;
  /** The parts of the process that decide whether it gets requests. */
  readonly readiness: Readiness;
  /** The accounts of owners; absent if they have no limits. */
  readonly owners?: OwnerAccounts;
  /** What turns and completions are counted under. */
  readonly hourRows: HourRows;
  /** All actors in memory. */
  readonly system: ActorSystem;
  /** Whether the log has what completions are asked. */
  readonly prompts: boolean;
  /** Prices of models, before those that the package knows. */
  readonly prices: PriceTable | undefined;
  /** Whether logs are only replayed, as `LogRehearsal` does: code goes no further than its log, and nothing is written. */
  readonly isRehearsal: boolean;
  /** Carries requests and answers between actors. */
  readonly mail: Mail;
}

/** The context of the parts above the runs, which send messages to the owners of runs. */
export interface HostContext extends RunContext {
  readonly router: Router;
}
