import type { RequestEntry } from "../../ports/log-entries.ts";
import type { OwnerQuery } from "../../ports/log-queries.ts";
import type { WaitingFor } from "../../protocol/answers/status.ts";
import type { RunId } from "../../protocol/ids.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import type { HostContext } from "../run-context.ts";
import { RUNS_AT_ONCE, notOwnedByOthers, ownRuns } from "./own-runs.ts";
import { sendRecover } from "./send-recover.ts";

/** The delay before a log that could not be read is read again, in milliseconds. */
const RETRY_MS = 1_000;

/** A run at rest, as in the index. */
export interface PassivatedRun {
  readonly runId: RunId;
  readonly wakeAt?: number | undefined;
  readonly waitingFor?: WaitingFor | undefined;
}

/**
 * Wakes the parked runs that are not in memory. All of them share one timer, which is set to the first wake time in
 * the log's index. A run whose model is away is woken when the breaker of the model lets it through.
 */
export class WakeTimer {
  readonly #context: HostContext;
  /** All runs with a wake time up to this one have been woken. */
  #wokenMs = 0;
  /** When the timer fires. */
  #setMs = Infinity;
  #stopTimer = (): void => {};
  #stopped = false;

  constructor(context: HostContext) {
    this.#context = context;
  }

  /** Wakes all runs whose wake time has passed, and from now on each run at its wake time. */
  async start(): Promise<void> {
    const nowMs = this.#context.environment.now();
    this.#wokenMs = 0;
    await this.#wakeUntil(nowMs);
    await this.#wakeFromFuture(nowMs);
  }

  /**
   * Wakes the runs of a query whose time has passed, however long ago, and learns the next wake time: other nodes
   * passivate runs that this node is to wake.
   */
  async look(query: OwnerQuery): Promise<void> {
    const { log, environment } = this.#context;
    const notAfter = environment.now();
    // The clock may have been set back.
    this.#wokenMs = Math.min(this.#wokenMs, notAfter);
    await this.#wake(await log.waking({ notAfter, ...query }));
    await this.#setNext(notAfter);
  }

  /** Registers the wake time of a run that was passivated, if it has one. */
  add(run: PassivatedRun): void {
    const { wakeAt: wakeAtMs } = run;
    if (wakeAtMs === undefined) return;
    if (wakeAtMs <= this.#context.environment.now() && this.#parks(run)) return;
    // A wake time in the past is possible only after the clock was set back.
    this.#wokenMs = Math.min(this.#wokenMs, wakeAtMs - 1);
    this.#set(wakeAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
  }

  async #wakeUntil(notAfter: number): Promise<void> {
    const { log, environment, router } = this.#context;
    const after = this.#wokenMs;
    this.#wokenMs = notAfter;
    try {
      await this.#wake(await log.waking({ after, notAfter, ...notOwnedByOthers(router) }));
      await this.#setNext(this.#wokenMs);
    } catch (error) {
      this.#wokenMs = Math.min(this.#wokenMs, after);
      this.#set(environment.now() + RETRY_MS);
      throw error;
    }
  }

  async #wake(due: readonly RequestEntry[]): Promise<void> {
    const others = due.filter((run) => !this.#parks(run));
    const own = await ownRuns(this.#context.router, others);
    await forEachConcurrent(own, RUNS_AT_ONCE, (runId) => sendRecover(this.#context, runId, { isDue: true }));
  }

  /** Has the breaker of a model wake a run that waits for the model and is due for nothing else. */
  #parks({ runId, wakeAt = 0, waitingFor }: PassivatedRun): boolean {
    const { breakers, environment } = this.#context;
    if (waitingFor?.kind !== "model" || wakeAt < Date.parse(waitingFor.retry_at)) return false;
    const { model, fallback = [], expires_at } = waitingFor;
    const expiresAt = Date.parse(expires_at);
    if (this.#stopped || expiresAt <= environment.now()) return false;
    const wake = async (): Promise<void> => {
      const [own] = await ownRuns(this.#context.router, [{ runId }]);
      if (own !== undefined) await sendRecover(this.#context, runId, { isDue: true });
    };
    breakers.park({ runId, models: [model, ...fallback], expiresAt, wake: () => void wake() });
    return true;
  }

  async #setNext(after: number): Promise<void> {
    const [next] = await this.#context.log.waking({ after, limit: 1 });
    if (next?.wakeAt !== undefined) this.#set(next.wakeAt);
  }

  /**
   * Wakes the runs whose sleep started at a time that is still in the future: the clock was set back since.
   * Their code then limits the sleep to the requested duration.
   */
  async #wakeFromFuture(nowMs: number): Promise<void> {
    const { log, router } = this.#context;
    const isFromFuture = async (runId: RunId): Promise<boolean> => {
      return ((await log.run(runId))?.updatedAt ?? 0) > nowMs;
    };
    const { runs } = await log.list({ limit: 1 });
    if ((runs[0]?.updatedAt ?? 0) <= nowMs) return;
    const waking = await log.waking({ after: nowMs, ...notOwnedByOthers(router) });
    await forEachConcurrent(await ownRuns(router, waking), RUNS_AT_ONCE, async (runId) => {
      if (await isFromFuture(runId)) await sendRecover(this.#context, runId, { isDue: true });
    });
  }

  #set(atMs: number): void {
    if (this.#stopped || atMs >= this.#setMs) return;
    const { environment, telemetry } = this.#context;
    this.#stopTimer();
    this.#setMs = atMs;
    this.#stopTimer = environment.alarm(atMs, () => {
      this.#setMs = Infinity;
      // The timer has fired, so the wake time counts as passed, even if the clock was set back in the meantime.
      this.#wakeUntil(Math.max(atMs, environment.now())).catch((error: unknown) =>
        telemetry.fault("sleeping runs could not be woken", error),
      );
    });
  }
}
