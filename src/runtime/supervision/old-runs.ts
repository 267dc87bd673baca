import type { RunId } from "../../protocol/ids.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunCommands } from "../commands/run-commands.ts";
import type { RemovalReason } from "../run/messages.ts";
import type { HostContext } from "../run-context.ts";

/** How many idle runs are removed together: as many as take about a time, because turns use the log too. */
const TOGETHER = { least: 32, most: 200, withinMs: 200 };

/** The others that are removed at once: a database commits several removals together, and turns use it too. More, while each takes less than a time. */
const AT_ONCE = { least: 8, most: 128, withinMs: 50 };

/** So many of the others wait for their removal, before no more are looked for. */
const WAITING = 200;

interface WaitingRun {
  readonly runId: RunId;
  readonly reason: RemovalReason;
}

/**
 * The runs that are to be removed, unless they are needed again: those that are idle and that nothing needs in sets, without loading them, and
 * beside these the others one by one. The next ones can be looked for meanwhile.
 */
export class OldRuns {
  readonly #context: HostContext;
  readonly #runs: RunCommands;
  /** The sets of the runs that were added last. */
  #sets: Promise<void> = Promise.resolve();
  /** What is left of removed runs is dropped. */
  #forgotten: Promise<void> = Promise.resolve();
  readonly #waiting: WaitingRun[] = [];
  readonly #running = new Set<Promise<void>>();
  /** Those that stay, since the runs were settled. */
  #kept = new Set<RunId>();
  #together: number = TOGETHER.least;
  #atOnce: number = AT_ONCE.least;
  #stopped = false;

  constructor(context: HostContext, runs: RunCommands) {
    this.#context = context;
    this.#runs = runs;
  }

  /** Begins to remove runs. Resolves when those that were added before are removed, except some of those that are removed one by one. */
  async add(old: readonly RunEntry[], reason: RemovalReason = "retention"): Promise<void> {
    const { files } = this.#context;
    // A run with a key is needed by its actor, and one that is loaded is asked itself.
    const idle = old.filter(({ alias, node }) => alias === undefined && node === undefined);
    const haveFiles = await Promise.all(idle.map(({ runId }) => files.has(runId)));
    await this.#sets;
    const free = idle.filter((_, index) => haveFiles[index] === false);
    this.#sets = this.#removeAll(old, free, reason);
    // The next `add`, or `settle`, rejects with its failure.
    this.#sets.catch(() => {});
    while (this.#waiting.length >= WAITING) await Promise.race(this.#running);
  }

  /** Resolves with those that stay when all that were added are removed, or stay; rejects with the failure of a set. */
  async settle(): Promise<ReadonlySet<RunId>> {
    try {
      await this.#sets;
      await this.#forgotten;
    } finally {
      this.#sets = Promise.resolve();
      this.#forgotten = Promise.resolve();
      while (this.#running.size > 0) await Promise.race(this.#running);
    }
    const kept = this.#kept;
    this.#kept = new Set();
    return kept;
  }

  /** Begins no further removal. */
  stop(): void {
    this.#stopped = true;
  }

  async #removeAll(
    old: readonly RunEntry[],
    free: readonly RunEntry[],
    reason: RemovalReason,
  ): Promise<void> {
    const removed = await this.#removeSets(free);
    for (const { runId } of old) if (!removed.has(runId)) this.#waiting.push({ runId, reason });
    this.#removeOthers();
    const before = this.#forgotten;
    this.#forgotten = Promise.all([before, this.#runs.forget(removed)]).then(() => {});
    this.#forgotten.catch(() => {});
    await before;
  }

  /** Removes the idle ones of some runs in sets, and returns their ids: larger sets while they are quick, smaller ones while they are slow. */
  async #removeSets(free: readonly RunEntry[]): Promise<ReadonlySet<RunId>> {
    const { environment, log } = this.#context;
    const removed = new Set<RunId>();
    for (let start = 0; start < free.length && !this.#stopped;) {
      const seen = free.slice(start, start + this.#together);
      start += seen.length;
      const startMs = environment.monotonic();
      for (const runId of await log.removeIdle(seen)) removed.add(runId);
      const fitting = (seen.length * TOGETHER.withinMs) / Math.max(environment.monotonic() - startMs, 1);
      // A last set that is small says nothing about larger ones.
      if (seen.length === this.#together || fitting < this.#together) {
        const most = Math.min(2 * this.#together, TOGETHER.most);
        this.#together = Math.min(Math.max(Math.round(fitting), TOGETHER.least), most);
      }
    }
    return removed;
  }

  /** Removes waiting runs one by one: more at once while each removal is quick, fewer while it is slow. */
  #removeOthers(): void {
    while (this.#running.size < this.#atOnce) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const removal = this.#removeTimed(next).finally(() => {
        this.#running.delete(removal);
        this.#removeOthers();
      });
      this.#running.add(removal);
    }
  }

  async #removeTimed({ runId, reason }: WaitingRun): Promise<void> {
    const { environment } = this.#context;
    const startMs = environment.monotonic();
    // A run that is busy again, has unread messages or the start of a schedule refuses; the next check asks it again.
    const keep = (): unknown => this.#kept.add(runId);
    if (this.#stopped) keep();
    else await this.#runs.remove(runId, reason).then(() => {}, keep);
    const isQuick = environment.monotonic() - startMs < AT_ONCE.withinMs;
    this.#atOnce = isQuick
      ? Math.min(this.#atOnce + 1, AT_ONCE.most)
      : Math.max(this.#atOnce - 1, AT_ONCE.least);
  }
}
