import type { RequestEntry } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunContext } from "../run-context.ts";
import { WakeTimer, inLanes } from "./wake-timer.ts";

/** The parts that a recovery needs. */
export interface RecoveryOptions {
  readonly context: RunContext;
  /** Continues the open requests of a run. Never rejects. */
  readonly recoverRun: (runId: RunId, alone: boolean) => Promise<void>;
  /** Removes the remains of a crash or a failed commit. */
  readonly cleanUp: () => Promise<void>;
}

/** The number of runs that are continued concurrently: enough that each commit contains many of them. */
const AT_ONCE = 64;

/** The interval of checks whether a failed log can be written again, in milliseconds. */
const PROBE_MS = 1_000;

/**
 * Continues every open request that no process works on. A running request is continued, a queued one is
 * started, and a sleeping one is woken in time. A waiting request is not loaded until its answer comes.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #wakeTimer: WakeTimer;
  #stopProbe: (() => void) | undefined;
  #stopped = false;
  /** The runs that this process has lost to another owner. */
  readonly #lost = new Set<RunId>();
  #stopLater: (() => void) | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#wakeTimer = new WakeTimer({
      context: options.context,
      wake: (runId) => options.recoverRun(runId, false),
    });
  }

  /**
   * The recovery of a new process. Resolves when every open request is continued, started, or scheduled;
   * after several consecutive deaths, when the first suspect is about to continue.
   */
  async start(): Promise<void> {
    const { context, recoverRun } = this.#options;
    const open = await context.log.open();
    // A turn that ran alone is the one that ended the process, if a turn did.
    const alone = open.filter(({ phase }) => phase === "running").length === 1;
    await inLanes(runsOf(open), AT_ONCE, (runId) => recoverRun(runId, alone));
    await context.gate.open();
    await this.#finish();
  }

  /** Continues the runs that were dropped after a failed commit. */
  async #run(): Promise<void> {
    const { context, recoverRun } = this.#options;
    await inLanes(runsOf(await context.log.open()), AT_ONCE, (runId) => recoverRun(runId, false));
    await this.#finish();
  }

  async #recoverLost(): Promise<void> {
    const lost = [...this.#lost];
    this.#lost.clear();
    await inLanes(lost, AT_ONCE, (runId) => this.#options.recoverRun(runId, false));
    // A run that was being copied or removed is removed.
    await this.#options.cleanUp();
  }

  async #finish(): Promise<void> {
    await this.#wakeTimer.start();
    await this.#options.cleanUp();
  }

  /** Has a run that this process has lost continued by its owner, which may be this process again. */
  recoverLater(runId: RunId): void {
    const { environment, telemetry } = this.#options.context;
    if (this.#stopped) return;
    this.#lost.add(runId);
    this.#stopLater ??= environment.timer(PROBE_MS, () => {
      this.#stopLater = undefined;
      this.#recoverLost().catch((error: unknown) => telemetry.fault("recovery failed", error));
    });
  }

  /**
   * Once the log can be written again, continues the runs that were dropped after a failed commit, as after a
   * restart.
   */
  runWhenWritable(): void {
    const { log, environment, telemetry } = this.#options.context;
    if (this.#stopped) return;
    this.#stopProbe ??= environment.timer(PROBE_MS, () => {
      this.#stopProbe = undefined;
      if (!log.health().writable) this.runWhenWritable();
      else this.#run().catch((error: unknown) => telemetry.fault("recovery failed", error));
    });
  }

  /** Registers a run that was passivated during a sleep. */
  sleeps(wakeAtMs: number): void {
    this.#wakeTimer.add(wakeAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#options.context.gate.stop();
    this.#stopProbe?.();
    this.#stopLater?.();
    this.#wakeTimer.stop();
  }
}

function runsOf(requests: readonly RequestEntry[]): readonly RunId[] {
  return [...new Set(requests.map(({ runId }) => runId))];
}
