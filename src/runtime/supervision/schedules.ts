import { AgentError, isInstance, toAgentError } from "../../errors.ts";
import type { ScheduleEntry } from "../../ports/log-entries.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import { backoffMs } from "../../shared/backoff.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import type { Agent } from "../agent/agent.ts";
import { fromEntry, isOnce, timesOf } from "../journal/stored-schedule.ts";
import { checkToldRequest } from "../commands/check-request.ts";
import type { KeyedRuns } from "../commands/keyed-runs.ts";
import { newRunId } from "../journal/system-runs.ts";
import type { HostContext } from "../run-context.ts";
import { sendMessage } from "../run/messages.ts";
import type { LookChange, ScheduleChange } from "../run/messages.ts";
import { isRenewed } from "../run/renewal.ts";
import { toScheduledRequest } from "../run/schedules.ts";
import { RUNS_AT_ONCE, notOwnedByOthers, ownRuns } from "./own-runs.ts";

/** The longest timer, in milliseconds: after it the clock is read again, so that a change of the clock is noticed. */
const LONGEST_MS = 60_000;

/** By how much the clock must be set back to be noticed, in milliseconds. */
const STEP_MS = 1_000;

/** The pause after a failure, in milliseconds. */
const RETRY = { firstMs: 1_000, mostMs: LONGEST_MS };

/**
 * Has each run look at its schedules when they are due: all of them share one timer, which is set to the first time in the log's
 * index. The schedules of definitions are rows there like all others; each node writes them at its start.
 */
export class ScheduleTimer {
  readonly #context: HostContext;
  readonly #keyed: KeyedRuns;
  /** The schedules of definitions that are to be written, by agent and name. */
  readonly #unwritten = new Map<
    string,
    { readonly agent: string; readonly name: string; readonly key: string }
  >();
  #failures = 0;
  /** The clock minus the time since the start of the process, when they were last read. */
  #offsetMs: number | undefined;
  /** When the timer fires. */
  #setMs = Infinity;
  #stopTimer = (): void => {};
  #looking: Promise<void> = Promise.resolve();
  /** Whether another look begins when the one under way is over. */
  #isWanted = false;
  #state: "new" | "started" | "stopped" = "new";

  constructor(context: HostContext, keyed: KeyedRuns) {
    this.#context = context;
    this.#keyed = keyed;
  }

  start(): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    this.define();
  }

  stop(): void {
    this.#state = "stopped";
    this.#stopTimer();
  }

  /** Writes the schedules of the definitions of all served agents: for the first time, or because a run was removed. */
  define(): void {
    const { agents } = this.#context;
    for (const agent of agents.names)
      for (const [name, { key }] of Object.entries(agents.get(agent).schedules ?? {}))
        this.#unwritten.set(`${agent} ${name}`, { agent, name, key });
    this.look();
  }

  /** A schedule of a run of this process is due at a time, in milliseconds since 1970. */
  due(at: number): void {
    if (this.#state === "started" && at < this.#setMs) this.#set(at - this.#context.environment.now());
  }

  /** Looks for what is due, now or after the look that is under way, and waits for the next time: a node may be gone, whose runs had it. */
  look(): void {
    if (this.#state !== "started") return;
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#looking = this.#looking.then(async () => {
      this.#isWanted = false;
      if (this.#state !== "started") return;
      try {
        this.#set(await this.#lookOnce(), true);
      } catch (error) {
        if (this.#hasStopped()) return;
        this.#context.telemetry.fault("schedules that are due could not be read", error);
        this.#set(this.#pauseMs(), true);
      }
    });
  }

  #hasStopped(): boolean {
    return this.#state === "stopped";
  }

  /** Returns when to look again, in milliseconds from now. */
  async #lookOnce(): Promise<number> {
    const { environment, log, router, telemetry } = this.#context;
    // What becomes due from now on sets the timer.
    this.#setMs = Infinity;
    await this.#defineAll();
    const now = environment.now();
    const due = [
      ...(await log.due({ notAfter: now, ...notOwnedByOthers(router) })),
      ...(await this.#afterStep(now)),
    ];
    const own = new Set(await ownRuns(router, due));
    let hasFailed = false;
    let hasMoved = false;
    await forEachConcurrent(
      due.filter(({ runId }) => own.has(runId)),
      RUNS_AT_ONCE,
      async (entry) => {
        try {
          await this.#send(entry, now);
        } catch (error) {
          // The actor has its schedules in a new run, or nowhere any more.
          if (isGone(error)) return;
          // The actor has its schedules in a new run now.
          if (isRenewed(error)) hasMoved = true;
          else hasFailed = true;
          if (!isRenewed(error) && !this.#hasStopped())
            telemetry.fault(`the request of schedule ${entry.id} could not be sent`, error);
        }
      },
    );
    if (!hasFailed && !hasMoved) this.#failures = 0;
    const [next] = await log.due({ after: now, limit: 1 });
    const isFirst = !hasFailed && this.#failures === 0;
    const pauseMs = hasFailed || hasMoved ? this.#pauseMs() : Infinity;
    const againMs = hasMoved && isFirst ? 0 : pauseMs;
    return Math.min((next?.due ?? Infinity) - environment.now(), againMs);
  }

  /** The pause after one more failure, in milliseconds. */
  #pauseMs(): number {
    this.#failures += 1;
    return backoffMs(RETRY, this.#failures - 1);
  }

  /** Has a run look at a schedule. What its agent would not take is left out; the run notes why. */
  async #send({ runId, id, ...entry }: ScheduleEntry, now: number): Promise<void> {
    const { agents, log, router } = this.#context;
    const run = await log.run(runId);
    const agent = run && agents.find(run.agent);
    // Another node may serve it, or none does for a while.
    if (agent === undefined) return;
    const stored = fromEntry(entry);
    const defined = stored.isDefined === true ? agent.schedules?.[id] : undefined;
    const error = await this.#refusalOf(agent, toScheduledRequest(stored, defined));
    const change: LookChange = { type: "look", id, now, ...(error && { error }) };
    await sendMessage(router, runId, { kind: "schedules", agent: agent.name, change });
  }

  async #refusalOf(
    agent: Agent,
    request: ReturnType<typeof toScheduledRequest>,
  ): Promise<LookChange["error"]> {
    try {
      await checkToldRequest(this.#context, agent, request);
      return undefined;
    } catch (thrown) {
      const { code, message } = toAgentError(thrown);
      if (code === "unavailable" || code === "internal") throw thrown;
      return { code, message };
    }
  }

  /** The schedules that are due sooner than the index has it, because the clock was set back. */
  async #afterStep(now: number): Promise<readonly ScheduleEntry[]> {
    const { environment, log } = this.#context;
    const offsetMs = now - environment.monotonic();
    const before = this.#offsetMs ?? offsetMs;
    this.#offsetMs = offsetMs;
    if (before - offsetMs < STEP_MS) return [];
    const later = await log.due({ after: now });
    return later.filter((entry) => {
      const schedule = fromEntry(entry);
      return !isOnce(schedule) && timesOf(schedule, entry.id).next(now) < (entry.due ?? Infinity);
    });
  }

  async #defineAll(): Promise<void> {
    const { environment } = this.#context;
    const newId = (): RunId => newRunId(environment);
    for (const [place, { agent, name, key }] of this.#unwritten) {
      const change: ScheduleChange = { type: "define", name, now: environment.now() };
      const message = { kind: "schedules", agent, key, change } as const;
      // oxlint-disable-next-line no-await-in-loop -- there are few, and a start has other work
      await this.#keyed.send({ owner: DEFAULT_OWNER, agent, key }, newId, (runId) =>
        sendMessage(this.#context.router, runId, message),
      );
      this.#unwritten.delete(place);
    }
  }

  /** Sets the timer, unless it fires sooner. */
  #set(ms: number, isAfterLook: boolean = false): void {
    // Without any schedule that is due, there is nothing to wait for.
    if (this.#state !== "started" || ms === Infinity) return;
    const { environment } = this.#context;
    const waitMs = Math.min(Math.max(ms, 0), LONGEST_MS);
    const at = environment.now() + waitMs;
    if (isAfterLook && at >= this.#setMs) return;
    this.#stopTimer();
    this.#setMs = at;
    this.#stopTimer = environment.timer(waitMs, () => this.look());
  }
}

function isGone(error: unknown): boolean {
  return isInstance(error, AgentError) && (error.code === "gone" || error.code === "not_found");
}
