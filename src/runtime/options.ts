import type { Authorize } from "./access/authorize.ts";
import type { Redact } from "./commands/redaction.ts";
import type { Limits } from "./limits.ts";
import type { LimitsOfOwner } from "./owners/owner-limits.ts";
import type { Inspector } from "./system/actor-system.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { PriceTable } from "../ports/prices.ts";
import type { Router } from "../ports/router.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Substitutes } from "../ports/substitutes.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Tracing } from "../ports/tracing.ts";
import type { Agent, Collaborators, Messages } from "./agent/agent.ts";
import type { CodeVersions } from "./agent/candidate.ts";
import type { Topic } from "./agent/topic.ts";

/** The agents and engines of a runtime. */
export interface RuntimeOptions {
  readonly agents: readonly Agent[];
  readonly log: EventLog;
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
  readonly router: Router;
  readonly environment: Environment;
  readonly telemetry?: Telemetry;
  /** Tells instrumentation of the process which span its code works for, as `liveTracing` of `troupe/otel` does. Default: nothing. */
  readonly tracing?: Tracing;
  /** What answers in place of models, tools, effects and actors, as a recording does in an evaluation. Default: nothing. */
  readonly substitutes?: Substitutes;
  /**
   * Replacements for agents that others use, by the name they use. A replacement needs the operations of the
   * agent it replaces.
   */
  readonly bind?: Collaborators;
  /** The topics that declare their messages: what is published to them is checked. Default: none. */
  readonly topics?: readonly Topic<Messages>[];
  /** Default: the agent named `echo` if there is one, otherwise the first. */
  readonly defaultAgent?: string;
  /** The versions of the code of the agents, and older ones that are kept, as `keepVersions` of `troupe/node` makes them. */
  readonly versions?: CodeVersions;
  /**
   * For how long texts of a run gather on a busy server, so that they are committed and sent together, in milliseconds: until
   * the first one that comes after this time, or 1.6 times as long if none comes. It grows with the number of runs that speak,
   * from 0 with one of them, to this value. The first text of a segment, and everything that is not a text, is committed at
   * once, and what has gathered with it. Default 50; 0 for no wait.
   */
  readonly textWindowMs?: number;
  /**
   * How long an idle run is kept after its last change, in milliseconds; then it is removed with its artifacts. The actor
   * of a run with a key continues in a new run, with its memory, schedules and unread messages. Of a run whose turn never
   * ends, what happened before is removed, as far as nothing that is open needs it. Default: forever.
   */
  readonly retainMs?: number;
  /** How long the audit trail keeps its entries, in milliseconds. Default 400 days; `Infinity`: forever. */
  readonly retainAuditMs?: number;
  /**
   * The maximum bytes of all runs and artifacts; above that the longest idle runs are removed with their
   * artifacts until the rest fits. Default: unlimited.
   */
  readonly retainBytes?: number;
  /**
   * Gets the inspection events of XState from all actors in memory: each run with its turns, calls and state machines is
   * one tree. Secret values of configurations are not in them.
   */
  readonly inspect?: Inspector;
  /**
   * Whether the log keeps what models are asked, for the people who operate the server: instructions, conversations and
   * tools. Default true.
   */
  readonly prompts?: boolean;
  /** Prices of models, before those that the package knows. */
  readonly prices?: PriceTable;
  readonly limits?: Partial<Limits>;
  /**
   * What each owner may use. A request above a limit of its owner is refused; other owners do not notice it. Default: no
   * limits.
   */
  readonly owners?: LimitsOfOwner;
  /**
   * What principals may do, beside what their owners and roles say: it can only take away. An agent or a run that it hides is
   * for the principal as if it did not exist; everything else is refused with `forbidden`. What agents do in their turns is not asked.
   */
  readonly authorize?: Authorize;
  /**
   * Takes out of what clients send what must never be in the log, before anything is stored, sent on or given to an agent: called
   * for each text in the inputs of requests and runs, in messages, answers and metadata. If it fails, the request is refused. Keys, ids,
   * configurations and the contents of files are left as they are. Default: nothing is taken out.
   */
  readonly redact?: Redact;
}

/** A telemetry that does nothing. */
export const noTelemetry: Telemetry = {
  accepted() {},
  completed() {},
  committed() {},
  dropped() {},
  failed() {},
  fault() {},
};
