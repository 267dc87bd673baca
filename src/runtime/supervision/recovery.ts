import type { OwnerQuery } from "../../ports/log-queries.ts";
import type { TakeoverOptions } from "../../ports/router.ts";
import type { RunId } from "../../protocol/ids.ts";
import { backoffMs } from "../../shared/backoff.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import { loadConfigurations } from "../commands/configurations.ts";
import type { RunCommands } from "../commands/run-commands.ts";
import type { HostContext } from "../run-context.ts";
import { RUNS_AT_ONCE, notOwned, notOwnedByOthers, ownRuns } from "./own-runs.ts";
import { retryHeldTurns } from "./held-turns.ts";
import { sendRecover, sendRedeliver } from "./send-recover.ts";
import { removeUnfinishedRuns } from "./retention.ts";
import { WakeTimer } from "./wake-timer.ts";
import type { PassivatedRun } from "./wake-timer.ts";

/** The interval of checks whether a failed log can be written again, in milliseconds. */
const PROBE_MS = 1_000;

/** The delay before lost runs are recovered, in milliseconds; longer while some of them cannot be loaded. */
const RETRY = { firstMs: 1_000, mostMs: 60_000 };

/** Parked turns that are examined at the same time after a start. */
const EXAMINED_TOGETHER = 100;

/**
 * Continues every open request that no process works on. A running request is continued, a queued one is started, and
 * one that is parked is woken in time. A request without a deadline is not loaded until its answer comes.
 */
export class Recovery {
  readonly #context: HostContext;
  readonly #runs: RunCommands;
  readonly #wakeTimer: WakeTimer;
  #stopProbe: (() => void) | undefined;
  #stopped = false;
  /** Resolves when the recovery of the new process is over, or is stopped. */
  readonly #started = Promise.withResolvers<void>();
  /** The runs that this process has lost to another owner, or could not load or reach. */
  readonly #lost = new Set<RunId>();
  /** The held turns that this node has tried since the newest change of nodes. */
  readonly #triedHeld = new Set<RunId>();
  #failures = 0;
  #stopLater: (() => void) | undefined;
  /** The number of walks over all parked turns that were asked for and are not over, including the one under way. */
  #walksWanted = 0;

  constructor(context: HostContext, runs: RunCommands) {
    this.#context = context;
    this.#runs = runs;
    this.#wakeTimer = new WakeTimer(context);
  }

  /**
   * The recovery of a new process. Resolves when every open request is continued, started, or scheduled;
   * after several consecutive deaths, when the first suspect is about to continue.
   */
  async start(): Promise<void> {
    const context = this.#context;
    await loadConfigurations(context);
    const query = notOwnedByOthers(context.router);
    const open = await context.log.open(query);
    const own = await ownRuns(context.router, open);
    await this.#recover(own);
    await context.gate.open();
    await this.#wakeTimer.start();
    await this.#redeliver();
    await this.#retryHeld();
    void this.#examineParked();
    if (this.#leads) await this.#cleanUp();
    this.#started.resolve();
  }

  /**
   * Continues the runs that no living node owns and that are this node's to continue: their owner is gone, or has
   * released them. Called again and again while there are several nodes.
   */
  async takeOver({ hasChanged }: TakeoverOptions): Promise<number> {
    await this.#started.promise;
    if (this.#stopped) return 0;
    const { log, router } = this.#context;
    const query = notOwned(router);
    const own = await ownRuns(router, await log.open(query));
    await this.#recover(own);
    await this.#wakeTimer.look(query);
    await this.#redeliver(query);
    // A node that was away may not know the newest configurations, and would keep the secrets of older ones.
    // A node that has joined may have the code of a held turn; its owner before releases it, maybe later than now.
    if (hasChanged) this.#triedHeld.clear();
    await this.#retryHeld();
    if (hasChanged && this.#leads) {
      await this.#readAgain();
      void this.#examineParked();
    }
    return own.length;
  }

  /** Continues a run that this process has lost, unless another node owns it: that node continues it. */
  lost(runId: RunId): void {
    const { log } = this.#context;
    const recover = (): void => this.recoverLater(runId);
    // With one node, nothing says which process has the run now, and whether that process still exists.
    if (log.node === undefined) {
      recover();
      return;
    }
    // An engine may report a loss by mistake; no other node continues a run that this one still owns.
    log.run(runId).then((run) => {
      if (run?.node === log.node) recover();
    }, recover);
  }

  /**
   * Has the owner of a run continue it after a pause, because this process has lost it, or could not load or reach it. The
   * owner may be this process again.
   */
  recoverLater(runId: RunId): void {
    const { environment, telemetry } = this.#context;
    if (this.#stopped) return;
    this.#lost.add(runId);
    this.#stopLater ??= environment.timer(backoffMs(RETRY, this.#failures), () => {
      this.#stopLater = undefined;
      const lost = [...this.#lost];
      this.#lost.clear();
      this.#recoverLost(lost).catch((error: unknown) => {
        telemetry.fault("recovery failed", error);
        this.#failures += 1;
        for (const each of lost) this.recoverLater(each);
      });
    });
  }

  /** Whether the runs of this process are continued later, because the log could not be written. */
  get isProbing(): boolean {
    return this.#stopProbe !== undefined;
  }

  /**
   * Once the log can be written again, continues the runs that were dropped after a failed commit, as after a
   * restart.
   */
  runWhenWritable(): void {
    const { log, environment, telemetry } = this.#context;
    if (this.#stopped) return;
    this.#stopProbe ??= environment.timer(PROBE_MS, () => {
      this.#stopProbe = undefined;
      if (!log.health().writable) this.runWhenWritable();
      else
        this.#recoverDropped().catch((error: unknown) => {
          telemetry.fault("recovery failed", error);
          this.runWhenWritable();
        });
    });
  }

  /** Registers a run that was passivated, which may be parked with a wake time. */
  sleeps(run: PassivatedRun): void {
    this.#wakeTimer.add(run);
  }

  stop(): void {
    this.#stopped = true;
    this.#started.resolve();
    this.#context.gate.stop();
    this.#stopProbe?.();
    this.#stopLater?.();
    this.#wakeTimer.stop();
  }

  async #recoverLost(lost: readonly RunId[]): Promise<void> {
    await this.#recover(lost);
    await this.#redeliver();
    const isFailing = this.#lost.size > 0;
    const isAnyBack = lost.some((runId) => !this.#lost.has(runId));
    this.#failures = isFailing ? this.#failures + 1 : 0;
    // The parked turns among them are not continued, so their wake times must be known.
    await this.#wakeTimer.start();
    await this.#readAgain();
    // A run that can never be loaded is tried again and again, and there can be many parked turns.
    if (isAnyBack) void this.#examineParked();
  }

  async #recoverDropped(): Promise<void> {
    const { log, router } = this.#context;
    const own = await ownRuns(router, await log.open(notOwnedByOthers(router)));
    await this.#recover(own);
    await this.#wakeTimer.start();
    await this.#redeliver();
    await this.#readAgain();
    void this.#examineParked();
  }

  /**
   * Continues runs; those that cannot be reached at present, for example because the log is away again, later. While the
   * log cannot be written, that is done when it can be.
   */
  async #recover(runIds: readonly RunId[]): Promise<void> {
    await forEachConcurrent(runIds, RUNS_AT_ONCE, async (runId) => {
      const isReached = await sendRecover(this.#context, runId);
      if (!isReached && !this.isProbing) this.recoverLater(runId);
    });
  }

  /** Tries held turns with the code that is served now; a process that closes leaves them. */
  async #retryHeld(): Promise<void> {
    if (!this.#stopped) await retryHeldTurns(this.#context, this.#triedHeld);
  }

  /** Has all replies and cancels sent again that have not arrived. */
  async #redeliver(query: OwnerQuery = notOwnedByOthers(this.#context.router)): Promise<void> {
    const runIds = await ownRuns(this.#context.router, await this.#context.log.outbox(query));
    await forEachConcurrent(runIds, RUNS_AT_ONCE, (runId) => sendRedeliver(this.#context, runId));
  }

  /**
   * Looks for actors that wait for each other. A turn is examined when it is parked; that is missed if its process
   * ends then, or if the commit that says so fails and is in the log nevertheless.
   */
  async #examineParked(): Promise<void> {
    this.#walksWanted += 1;
    // The walk under way starts another one when it is over.
    if (this.#walksWanted > 1) return;
    while (this.#walksWanted > 0) {
      this.#walksWanted = 1;
      await this.#examineAllResting();
      this.#walksWanted -= 1;
    }
  }

  async #examineAllResting(): Promise<void> {
    const { environment, log, mail, telemetry } = this.#context;
    try {
      for (let after: RunId | undefined; !this.#stopped;) {
        const requests = await log.parked({ after, limit: EXAMINED_TOGETHER });
        after = requests.at(-1)?.runId;
        if (after === undefined) return;
        const examined: Promise<void>[] = [];
        for (const { runId } of requests) {
          examined.push(mail.parked(runId));
          // An examination reads from the log; other work must not wait for all of them.
          await new Promise<void>((resolve) => {
            environment.macrotask(resolve);
          });
        }
        await Promise.all(examined);
      }
    } catch (error) {
      telemetry.fault("the parked turns could not be read", error);
    }
  }

  /**
   * Reads the configurations again, because one whose commit failed may still be in the log, and removes the remains of
   * failed commits.
   */
  async #readAgain(): Promise<void> {
    await loadConfigurations(this.#context);
    await this.#cleanUp();
  }

  /** Removes what a crash or a failed commit has left: runs that were being copied or removed, and secrets. */
  async #cleanUp(): Promise<void> {
    await removeUnfinishedRuns(this.#context, this.#runs);
    await this.#context.secrets.sweep();
  }

  get #leads(): boolean {
    return this.#context.router.leads("clean-up");
  }
}
