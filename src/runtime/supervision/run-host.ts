import type { LoadedActor } from "../api.ts";
import { NO_AGENT } from "../journal/system-runs.ts";
import { AgentError } from "../../errors.ts";
import { Fenced, Owned } from "../../ports/event-log.ts";
import type { NodeAgent } from "../../ports/node-directory.ts";
import type { DeliverOptions, RouterHandler, TakeoverOptions } from "../../ports/router.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { within } from "../../shared/clock.ts";
import type { TriedCode } from "../agent/candidate.ts";
import { toRunReceipt } from "../run/messages.ts";
import type { RunMessage, RunReceipt } from "../run/messages.ts";
import { Run } from "../run/run.ts";
import type { RunListener } from "../run/run.ts";
import type { HostContext } from "../run-context.ts";
import type { LoadedRuns } from "../system/actor-system.ts";
import type { RunActor } from "../system/run-actor.ts";
import { livingOthers } from "./own-runs.ts";
import type { Recovery } from "./recovery.ts";
import type { ScheduleTimer } from "./schedules.ts";

/** Loaded runs. The least recently used idle run is passivated first. */
export class RunHost implements RouterHandler, RunListener, LoadedRuns {
  readonly #context: HostContext;
  readonly #recovery: Recovery;
  readonly #schedules: ScheduleTimer;
  readonly #entries = new Map<RunId, Entry>();
  /** The runs that can be passivated, the longest idle first. */
  readonly #passivatable = new Set<Entry>();
  /** Set while `drain` waits for the end of all turns. */
  #checkDrained: (() => void) | undefined;
  #closed = false;

  constructor(context: HostContext, recovery: Recovery, schedules: ScheduleTimer) {
    this.#context = context;
    this.#recovery = recovery;
    this.#schedules = schedules;
  }

  get agents(): Readonly<Record<string, NodeAgent>> {
    return this.#context.agents.served;
  }

  get speaking(): number {
    return this.#context.textWindow.speaking;
  }

  due(at: number): void {
    this.#schedules.due(at);
  }

  removed(): void {
    this.#schedules.define();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The number of runs with a turn that neither waits nor sleeps. */
  get busy(): number {
    let busy = 0;
    for (const { run } of this.#entries.values()) if (run?.busy === true) busy += 1;
    return busy;
  }

  /** The number of requests that wait in the mailboxes of loaded runs. */
  get queued(): number {
    let queued = 0;
    for (const { run } of this.#entries.values()) queued += run?.queued ?? 0;
    return queued;
  }

  /** Delivers a message to a run, which stays in memory until it has replied. */
  deliver(runId: RunId, message: Json, { isRepeated = false, isNew }: DeliverOptions = {}): Promise<Json> {
    const given = message as unknown as RunMessage;
    const answer = isRepeated ? this.#deliverAgain(runId, given) : this.#deliver(runId, given, false, isNew);
    return answer as Promise<unknown> as Promise<Json>;
  }

  /** Delivers a message that may have had its effect before. */
  async #deliverAgain(runId: RunId, message: RunMessage): Promise<RunReceipt> {
    try {
      return await this.#deliver(runId, message, true);
    } catch (error) {
      const isDone = message.kind === "remove" && error instanceof AgentError && error.code === "gone";
      if (!isDone) throw error;
      return toRunReceipt(runId, 0);
    }
  }

  async #deliver(runId: RunId, message: RunMessage, isRepeated: boolean, isNew = false): Promise<RunReceipt> {
    this.#checkOpen();
    const entry = this.#entry(runId, { isNew });
    entry.users += 1;
    this.#passivatable.delete(entry);
    try {
      const run = entry.run ?? (await entry.loading);
      // The host may have closed while the run was loaded.
      this.#checkOpen();
      if (run === undefined) throw new AgentError("internal", `run ${runId} left memory; retry`);
      const isShared = this.#context.log.node !== undefined;
      const deliver = isShared ? this.#deliverTo(run, message, isRepeated) : run.deliver(message, isRepeated);
      // One that waits for a turn that is tried has no effect, if the code of that turn does not fit.
      return await deliver.catch((error: unknown) => {
        if (!run.isUnfit) throw error;
        return this.#deliver(runId, message, isRepeated);
      });
    } finally {
      entry.users -= 1;
      if (entry.run?.isRemoved === true || entry.run?.hasCopiedTurn === true)
        this.#passivate(entry, entry.run);
      this.#allowPassivation(entry);
    }
  }

  /**
   * Delivers a message to a run in memory. Without a commit nothing shows that this node still owns the run, and one that
   * it has lost knows nothing of what has happened since; so that is asked then.
   */
  async #deliverTo(run: Run, message: RunMessage, isRepeated: boolean): Promise<RunReceipt> {
    const { commits: since } = run.commits;
    const isSure = (): boolean => run.commits.provesOwner(since);
    try {
      const receipt = await run.deliver(message, isRepeated);
      if (!isSure()) await this.#checkOwned(run);
      return receipt;
    } catch (error) {
      // While the log cannot be reached, nothing says who owns the run.
      const isAway = error instanceof AgentError && error.code === "unavailable" && !this.#isWritable;
      if (error instanceof AgentError && !isAway && !isSure()) await this.#checkOwned(run);
      throw error;
    }
  }

  /** Throws `unavailable` if another node owns a run, or the log has lost events of it, and drops it. */
  async #checkOwned(run: Run): Promise<void> {
    const { log } = this.#context;
    const { head } = run.commits.cursor;
    const entry = await log.run(run.runId);
    const isWhole = (entry?.head ?? 0) >= head;
    if (entry?.removed === true || (isWhole && (entry === undefined || entry.node === log.node))) return;
    const cause = new Fenced(
      isWhole ? `run ${run.runId} has another owner` : `the log has lost events of run ${run.runId}`,
      { hasLost: !isWhole },
    );
    if (this.peek(run.runId) === run) this.failed(run, cause);
    throw new AgentError("unavailable", cause.message, { retryAfterS: 1, cause });
  }

  holds(runId: RunId): boolean {
    return this.#entries.has(runId);
  }

  takeOver(options: TakeoverOptions): Promise<number> {
    // A node that has joined gets its share of the runs that are idle.
    if (options.hasChanged) this.releaseIdle();
    // What was due in the runs of a node that is gone is due here.
    this.#schedules.look();
    return this.#recovery.takeOver(options);
  }

  flushed(run: Run): void {
    const entry = this.#entries.get(run.runId);
    if (entry?.run === run) this.#allowPassivation(entry);
    this.#checkDrained?.();
  }

  failed(run: Run, error: unknown): void {
    this.drop(run);
    this.#checkDrained?.();
    // The batch was refused, for example for an alias that another run has. The log itself works.
    if (error instanceof AgentError) {
      const isExpected = error.code === "conflict" || error.code === "gone";
      if (!isExpected) this.#context.telemetry.fault(`run ${run.runId} left memory: ${error.message}`);
      return;
    }
    if (error instanceof Fenced) {
      const { telemetry } = this.#context;
      const message = `run ${run.runId} left memory: ${error.message}`;
      if (error.hasLost || telemetry.moved === undefined) telemetry.fault(message);
      else telemetry.moved(message, { run_id: run.runId });
      this.#recovery.lost(run.runId);
      return;
    }
    this.#context.telemetry.fault(`run ${run.runId} could not be written or removed`, error);
    this.#recovery.runWhenWritable();
  }

  unfit(run: Run, tried: TriedCode): void {
    const { runId } = run;
    if (this.peek(runId) !== run) return;
    this.drop(run);
    if (this.#closed) return;
    const entry = this.#entry(runId, { tried });
    entry.loading?.then(
      () => {
        this.#allowPassivation(entry);
        this.#checkDrained?.();
      },
      (error: unknown) => this.#context.telemetry.fault(`run ${runId} could not be held`, error),
    );
  }

  /** What the runs in memory have open, at most this many; without the hidden runs of the runtime. */
  actors(limit: number): readonly LoadedActor[] {
    const actors: LoadedActor[] = [];
    for (const { run } of this.#entries.values()) {
      if (actors.length === limit) break;
      const open = run?.open;
      if (open !== undefined && open.agent !== NO_AGENT) actors.push(open);
    }
    return actors;
  }

  /** Passivates the idle runs, so that any node can have them. */
  releaseIdle(): void {
    for (const { run } of this.#passivatable) if (run?.canPassivate === true) this.drop(run);
  }

  /** Waits until no run is busy, at most for a time in milliseconds. */
  async drain(limitMs: number): Promise<void> {
    // A clock that stands still ends no wait, not even one of no time.
    if (this.busy === 0 || limitMs <= 0) return;
    const { promise: drained, resolve } = Promise.withResolvers<void>();
    this.#checkDrained = () => {
      if (this.busy === 0) resolve();
    };
    await within(this.#context.environment, limitMs, drained);
  }

  /** Passivates all runs, also those that are being loaded, and refuses messages from then on. */
  async close({ isFailure }: { readonly isFailure: boolean }): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#entries.values()].map(async ({ loading }) => loading));
    await Promise.allSettled(this.#loaded.map((run) => run.flush({ isFailure })));
    for (const run of this.#loaded) this.drop(run);
  }

  find(runId: RunId): RunActor | undefined {
    return this.peek(runId)?.actor;
  }

  all(): readonly RunActor[] {
    return this.#loaded.map(({ actor }) => actor);
  }

  /** The run, if it is in memory. */
  peek(runId: RunId): Run | undefined {
    return this.#entries.get(runId)?.run;
  }

  /** Passivates a run. The next message for it loads it again. */
  drop(run: Run): void {
    const entry = this.#entries.get(run.runId);
    if (entry?.run === run) this.#passivate(entry, run);
  }

  /** The runs in memory. */
  get #loaded(): readonly Run[] {
    return [...this.#entries.values()].map(({ run }) => run).filter((run) => run !== undefined);
  }

  get #isWritable(): boolean {
    return this.#context.log.health().writable;
  }

  #checkOpen(): void {
    if (this.#closed) throw new AgentError("unavailable", "the server is stopping", { retryAfterS: 1 });
  }

  /** Loads a run. If its turn was tried with code that does not fit, the next code is tried. */
  async #load(runId: RunId, { tried, isNew = false }: LoadOptions): Promise<Run> {
    const unlessOwnedBy = livingOthers(this.#context.router);
    const run = await Run.load(this.#context, this, runId, { unlessOwnedBy, tried, isNew });
    if (tried === undefined) return run;
    try {
      await run.tryNext();
    } catch (error) {
      run.release();
      throw error;
    }
    return run;
  }

  /** The entry of a run; loads the run if it is not in memory. */
  #entry(runId: RunId, options: LoadOptions): Entry {
    const known = this.#entries.get(runId);
    if (known) return known;
    const loading = this.#load(runId, options);
    const entry: Entry = { users: 0, run: undefined, loading };
    this.#entries.set(runId, entry);
    loading.then(
      (run) => {
        entry.run = run;
        entry.loading = undefined;
        if (this.#context.log.node === undefined) return;
        // The message that loads it may be the first one since its owner before was lost. While the log cannot be written,
        // a run that continues would be dropped again, and its messages to itself would load it again, without a pause.
        if (!this.#recovery.isProbing) run.continue();
        // From now on only this node wakes the run, and by its clock the wake time may have passed.
        this.#recovery.sleeps(run);
      },
      (error: unknown) => {
        if (this.#entries.get(runId) === entry) this.#entries.delete(runId);
        const isRefused =
          error instanceof Owned || (error instanceof AgentError && error.code !== "unavailable");
        if (!isRefused && !this.#closed) this.#recovery.recoverLater(runId);
      },
    );
    return entry;
  }

  #allowPassivation(entry: Entry): void {
    if (entry.users === 0 && entry.run?.canPassivate === true) this.#passivatable.add(entry);
    const { idleRuns } = this.#context.limits;
    if (this.#entries.size <= idleRuns) return;
    // Evicts several at once: iterating a Set must skip the slots of all entries deleted since it last grew.
    let excess = this.#entries.size - idleRuns + Math.floor(idleRuns / 16);
    for (const oldest of this.#passivatable) {
      if (excess <= 0) return;
      this.#passivatable.delete(oldest);
      if (oldest.run?.canPassivate !== true) continue;
      this.#passivate(oldest, oldest.run);
      excess -= 1;
    }
  }

  #passivate(entry: Entry, run: Run): void {
    this.#passivatable.delete(entry);
    if (this.#entries.get(run.runId) !== entry) return;
    this.#entries.delete(run.runId);
    const { runId, wakeAt, waitingFor } = run;
    run.release();
    entry.run = undefined;
    this.#recovery.sleeps({ runId, wakeAt, waitingFor });
  }
}

/** How a run is loaded. */
interface LoadOptions {
  /** The code of its turn that did not fit. */
  readonly tried?: TriedCode | undefined;
  /** Whether its id was just made. */
  readonly isNew?: boolean;
}

/**
 * A run and its users. The entry is emptied when the run is dropped: a Map with frequent changes reallocates
 * its table, and objects in the old table live until the next full garbage collection.
 */
interface Entry {
  users: number;
  /** Absent before it is loaded, and again after it is dropped. */
  run: Run | undefined;
  /** Present until the run is loaded. */
  loading: Promise<Run> | undefined;
}
