import type { ArtifactReader, ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { EventLog, LogReader } from "../ports/event-log.ts";
import type { RequestEntry, RunEntry } from "../ports/log-entries.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { RunPhase } from "../protocol/answers/status.ts";
import type { RunId } from "../protocol/ids.ts";
import { unsettled } from "../shared/deferred.ts";
import { mapConcurrent } from "../shared/map-concurrent.ts";
import { pagesOf } from "../shared/pages.ts";
import { StartGate } from "./activation/start-gate.ts";
import { AgentDirectory } from "./agent/agent-directory.ts";
import type { Agent, Collaborators, Messages } from "./agent/agent.ts";
import type { CodeVersions } from "./agent/candidate.ts";
import type { Topic } from "./agent/topic.ts";
import { RunArtifacts } from "./artifacts/run-artifacts.ts";
import { Breakers } from "./calls/breaker.ts";
import { HourRows } from "./journal/hour-rows.ts";
import { GroupCommit } from "./journal/group-commit.ts";
import { isHidden } from "./journal/system-runs.ts";
import { TextWindow } from "./journal/text-window.ts";
import { defaultLimits } from "./limits.ts";
import { noTelemetry } from "./options.ts";
import { createReadiness } from "./readiness.ts";
import { isMessage } from "./replay/accepted.ts";
import type { Mail } from "./replay/mail-port.ts";
import { rehearse, rehearseEnded } from "./run/rehearsal.ts";
import type { RehearsalLimit, RehearsedTurn } from "./run/rehearsal.ts";
import type { RunContext } from "./run-context.ts";
import { SlotQueues } from "./scheduler/slot-queue.ts";
import { StoredSecrets } from "./secrets/stored-secrets.ts";
import { ActorSystem } from "./system/actor-system.ts";

/** The agents that are to be served, and the log of those that are. */
export interface LogRehearsalOptions {
  readonly agents: readonly Agent[];
  readonly bind?: Collaborators;
  readonly topics?: readonly Topic<Messages>[];
  /** Versions of the agents that were kept. */
  readonly versions?: CodeVersions;
  readonly log: LogReader;
  readonly artifacts: ArtifactReader;
  readonly secrets: SecretStore;
  readonly environment: Environment;
  /** How long the code of a turn may need for its log, in milliseconds. */
  readonly limitMs: number;
}

/** Which turns are rehearsed. */
export interface RehearsalQuery {
  /** In place of the open turns, so many of those that have ended, the newest runs first. */
  readonly finished?: number;
  /** Only those for which this says yes. */
  includes?(turn: TurnToRehearse): boolean;
  /** The most turns at once. Default 64. */
  readonly atOnce?: number;
  /** Called when a turn is about to be rehearsed. */
  begun?(turn: TurnToRehearse): void;
}

/** A turn of a log. */
export type TurnToRehearse = Omit<RehearsedTurn, "rehearsed">;

/** Turns that are rehearsed at once: the outcomes come a turn of the event loop apart. */
const AT_ONCE = 64;

/** Rows that are read at a time. */
const PAGE = 500;

/**
 * Replays turns of a log with the code of agents, without effects: nothing is written, called or sent, and no code goes
 * further than its log.
 */
export class LogRehearsal {
  readonly #context: RunContext;
  readonly #log: LogReader;
  readonly #limit: RehearsalLimit;

  constructor({
    agents,
    bind,
    topics,
    versions,
    log,
    artifacts,
    secrets,
    environment,
    limitMs,
  }: LogRehearsalOptions) {
    this.#log = log;
    this.#limit = toLimit(environment, limitMs);
    const directory = new AgentDirectory({
      agents,
      ...(bind && { bind }),
      ...(topics && { topics }),
      ...(versions && { versions }),
    });
    const still = withoutTime(environment);
    const telemetry = noTelemetry;
    const readOnly = toEventLog(log);
    this.#context = {
      log: readOnly,
      secrets: new StoredSecrets({
        log: readOnly,
        secrets,
        environment: still,
        telemetry,
        agents: directory,
      }),
      environment: still,
      telemetry,
      limits: defaultLimits,
      agents: directory,
      files: new RunArtifacts({
        artifacts: withoutPut(artifacts),
        log: readOnly,
        environment: still,
        telemetry,
      }),
      groupCommit: new GroupCommit(still),
      textWindow: new TextWindow(still, readOnly, 0),
      queues: new SlotQueues(still),
      breakers: new Breakers(still),
      hourRows: new HourRows(),
      gate: new StartGate({ environment: still, telemetry }),
      readiness: createReadiness(),
      system: new ActorSystem({ telemetry }),
      prices: undefined,
      prompts: false,
      isRehearsal: true,
      mail: NO_MAIL,
    };
  }

  /** Rehearses the turns that a query selects, many at once. */
  async *turns(query: RehearsalQuery = {}): AsyncGenerator<RehearsedTurn, void> {
    const { finished, atOnce = AT_ONCE } = query;
    const found =
      finished === undefined
        ? mapConcurrent(this.#open(query), atOnce, ({ runId }) => rehearse(this.#context, runId, this.#limit))
        : mapConcurrent(this.#ended(query, finished), atOnce, (request) =>
            rehearseEnded(this.#context, request, this.#limit),
          );
    for await (const turn of found) if (turn) yield turn;
  }

  /** The open turns. A server that works on them may move one from one list to another. */
  async *#open({ includes, begun }: RehearsalQuery): AsyncGenerator<TurnToRehearse, void> {
    const seen = new Set<RunId>();
    for (const status of ["waiting", "running", "held"] as const) {
      for await (const { runId, agent, started } of this.#runs(status)) {
        if (seen.has(runId) || started === undefined) continue;
        seen.add(runId);
        const turn = { runId, agent, requestId: started };
        if (includes?.(turn) === false) continue;
        begun?.(turn);
        yield turn;
      }
    }
  }

  async *#ended({ includes, begun }: RehearsalQuery, most: number): AsyncGenerator<RequestEntry, void> {
    let count = 0;
    for await (const { runId, agent } of this.#runs()) {
      for (const request of await this.#log.requests({ runId, limit: most })) {
        if (count === most) return;
        if (request.phase !== "completed" || isMessage(request)) continue;
        const turn = { runId, agent, requestId: request.requestId };
        if (includes?.(turn) === false) continue;
        count += 1;
        begun?.(turn);
        yield request;
      }
    }
  }

  async *#runs(status?: RunPhase): AsyncGenerator<RunEntry, void> {
    const log = this.#log;
    const query = { limit: PAGE, ...(status && { status }) };
    for await (const { runs } of pagesOf(
      (start) => log.list({ ...query, ...start }),
      this.#context.environment,
    ))
      for (const run of runs) if (!isHidden(run)) yield run;
  }
}

/** So many turns of an agent may take the whole time; the others then get a part of it. */
const LATE_LIMIT = 32;

const LATE_PART = 10;

function toLimit(environment: Environment, limitMs: number): RehearsalLimit {
  const late = new Map<string, number>();
  return {
    start(agent, expired) {
      const before = late.get(agent) ?? 0;
      const ms = before < LATE_LIMIT ? limitMs : limitMs / LATE_PART;
      return environment.timer(ms, () => {
        late.set(agent, (late.get(agent) ?? 0) + 1);
        expired(`the code did not come to the end of its log within ${ms} ms`);
      });
    },
  };
}

/** An environment in which no time passes for the code of turns. */
function withoutTime(environment: Environment): Environment {
  return {
    now: () => environment.now(),
    monotonic: () => environment.monotonic(),
    timer: () => () => {},
    alarm: () => () => {},
    macrotask: (run) => environment.macrotask(run),
    newId: () => environment.newId(),
    random: () => environment.random(),
    attribute: (turn, run) => environment.attribute(turn, run),
  };
}

/** A log in which nothing is ever committed. */
function toEventLog(log: LogReader): EventLog {
  return {
    durability: "memory",
    reliableTail: true,
    list: (query) => log.list(query),
    lookup: (requestId, owner) => log.lookup(requestId, owner),
    statistics: {
      since: unsettled,
      sum: unsettled,
      owners: unsettled,
      failed: unsettled,
      list: unsettled,
      put: unsettled,
      remove: unsettled,
    },
    spending: { on: unsettled, list: unsettled, put: unsettled, remove: unsettled },
    schedules: unsettled,
    due: unsettled,
    read: (runId, options) => log.read(runId, options),
    requests: (query) => log.requests(query),
    run: (runId) => log.run(runId),
    snapshot: (runId) => log.snapshot(runId),
    audit: { add: unsettled, list: unsettled, remove: unsettled },
    append: unsettled,
    release() {},
    tail: () => () => {},
    watch: () => () => {},
    health: () => ({ writable: true }),
    claim: unsettled,
    find: unsettled,
    holdings: unsettled,
    listRequests: unsettled,
    open: unsettled,
    outbox: unsettled,
    parked: unsettled,
    remove: unsettled,
    removeIdle: unsettled,
    runIds: unsettled,
    scrub: unsettled,
    size: unsettled,
    unreferenced: unsettled,
    waits: unsettled,
    waking: unsettled,
    async close() {},
  };
}

/** A store in which no file is ever stored. */
function withoutPut(reader: ArtifactReader): ArtifactStore {
  return {
    put: unsettled,
    get: (artifactId) => reader.get(artifactId),
    async *list() {},
    read: (artifactId) => reader.read(artifactId),
    attach: unsettled,
    detach: unsettled,
    removeUnattached: unsettled,
    unattached: unsettled,
    size: unsettled,
    has: unsettled,
    removeRun: unsettled,
    async close() {},
  };
}

const NO_MAIL: Mail = {
  post: unsettled,
  cancel: unsettled,
  async parked() {},
  async raised() {},
  reply: unsettled,
  continueIn: unsettled,
};
