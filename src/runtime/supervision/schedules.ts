import { toAgentError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Agent } from "../agent/agent.ts";
import type { Schedule } from "../agent/definition/schedule.ts";
import { checkTurnRequest } from "../commands/check-request.ts";
import type { KeyedRuns } from "../commands/keyed-runs.ts";
import { newRunId } from "../journal/system-runs.ts";
import { digest } from "../journal/digest.ts";
import type { HostContext } from "../run-context.ts";
import { sendMessage } from "../run/messages.ts";
import type { RunReceipt } from "../run/messages.ts";

/** The longest timer, in milliseconds: after it the clock is read again, so that a change of the clock is noticed. */
const LONGEST_MS = 60_000;

/**
 * How often a node that leaves the schedule to another node looks whether that node is still there, in milliseconds.
 */
const STANDBY_MS = 3_000;

/** The pause after a failure, in milliseconds. */
const RETRY = { firstMs: 1_000, mostMs: LONGEST_MS };

/** Sends the requests of the schedules of all served agents at their times, until the returned function is called. */
export function startSchedules(context: HostContext, keyed: KeyedRuns): () => void {
  const timers: ScheduleTimer[] = [];
  for (const name of context.agents.names) {
    const agent = context.agents.get(name);
    for (const [scheduleName, schedule] of Object.entries(agent.schedules ?? {}))
      timers.push(new ScheduleTimer(context, keyed, agent, { ...schedule, name: scheduleName }));
  }
  for (const timer of timers) timer.look();
  return () => {
    for (const timer of timers) timer.stop();
  };
}

/**
 * Sends the requests of one schedule. The id of a request is a digest of its time, so each node can send it, also after
 * a step of the clock: the log takes it once.
 */
class ScheduleTimer {
  readonly #context: HostContext;
  readonly #keyed: KeyedRuns;
  readonly #agent: Agent;
  readonly #schedule: Schedule & { readonly name: string };
  /** When the schedule began, in milliseconds since 1970; `undefined` until the log was asked. */
  #since: number | undefined;
  /** The newest time of the schedule whose request was sent or left out. */
  #done: number | undefined;
  #failures = 0;
  #stopTimer = (): void => {};
  #isStopped = false;

  constructor(
    context: HostContext,
    keyed: KeyedRuns,
    agent: Agent,
    schedule: Schedule & { readonly name: string },
  ) {
    this.#context = context;
    this.#keyed = keyed;
    this.#agent = agent;
    this.#schedule = schedule;
  }

  /** Sends what is due, and waits for the next time. */
  look(): void {
    this.#send().then(
      (until) => {
        this.#failures = 0;
        const mostMs = this.#context.router.leads(this.#task) ? LONGEST_MS : STANDBY_MS;
        // A time that has passed during the sending is sent at once.
        const untilNextMs = this.#schedule.next(until) - this.#context.environment.now();
        this.#wait(Math.min(Math.max(untilNextMs, 0), mostMs));
      },
      (error: unknown) => {
        if (!this.#isStopped) this.#report(error);
        this.#wait(backoffMs(RETRY, this.#failures));
        this.#failures += 1;
      },
    );
  }

  /**
   * The name of the task that placement gives to one node. If two nodes send the request, it has the same id and is
   * accepted once.
   */
  get #task(): string {
    return `schedule ${this.#agent.name} ${this.#schedule.name}`;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
  }

  #wait(ms: number): void {
    if (!this.#isStopped) this.#stopTimer = this.#context.environment.timer(ms, () => this.look());
  }

  /**
   * Sends the request of the newest time that has passed; those before it are left out. Returns the time up to which all
   * are sent or left out.
   */
  async #send(): Promise<number> {
    const { agents, environment, log, router } = this.#context;
    const now = environment.now();
    if (!router.leads(this.#task)) return now;
    this.#since ??= await this.#begin(now);
    const at = this.#schedule.newest(now);
    if (at === undefined || at <= this.#since || at === this.#done) return now;
    const { key, name, operation, input, overlap } = this.#schedule;
    const agent = this.#agent.name;
    const requestId = toRequestId(agent, this.#schedule, at);
    if ((await log.lookup(requestId, DEFAULT_OWNER)) === undefined) {
      const request: OperationRequest = {
        type: "OperationRequest",
        operation,
        input,
        key,
        request_id: requestId,
        on_busy: "enqueue",
        request_metadata: { schedule: name, scheduled_at: new Date(at).toISOString() },
      };
      try {
        await checkTurnRequest(this.#context, agents.get(agent), request);
        // The run may have been removed since.
        await this.#begin(now);
        const accepted = { requestId, agent, request, acceptedAt: now };
        const skipsIfBusy = overlap === "skip";
        await this.#toRun((runId) => sendMessage(router, runId, { kind: "post", accepted, skipsIfBusy }));
      } catch (thrown) {
        if (AGAIN.has(toAgentError(thrown).code)) throw thrown;
        this.#report(thrown);
      }
    }
    this.#done = at;
    return now;
  }

  /** Records the start of the schedule, unless it is recorded. Returns its time. */
  async #begin(now: number): Promise<number> {
    const { key, text } = this.#schedule;
    const message = { kind: "schedule", agent: this.#agent.name, key, text, now } as const;
    const { scheduledSince = now } = await this.#toRun((runId) =>
      sendMessage(this.#context.router, runId, message),
    );
    return scheduledSince;
  }

  #toRun(send: (runId: RunId) => Promise<RunReceipt>): Promise<RunReceipt> {
    const { environment } = this.#context;
    const newId = (): RunId => newRunId(environment);
    const actor = { owner: DEFAULT_OWNER, agent: this.#agent.name, key: this.#schedule.key };
    return this.#keyed.send(actor, newId, send);
  }

  #report(error: unknown): void {
    const { telemetry } = this.#context;
    const what = `schedule ${this.#schedule.name} of agent ${this.#agent.name}`;
    telemetry.fault(`the request of ${what} could not be sent`, error, { agent: this.#agent.name });
  }
}

/** Failures that may be over later. After any other one the time is left out. */
const AGAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unavailable",
  "internal",
  "overloaded",
  "timeout",
]);

/** The id of the request for a time, equal on each node. */
function toRequestId(
  agent: string,
  { name, text }: { readonly name: string; readonly text: string },
  at: number,
): RequestId {
  return `sch_${digest(JSON.stringify([agent, name, text, at]))}` as RequestId;
}
