import type { RunId } from "../protocol/ids.ts";
import { Run } from "./run.ts";
import type { RunDependencies } from "./run.ts";

/** The runs that this process owns at present, each loaded when it is needed and let go of when it has long been quiet. */
export class Owners {
  readonly #deps: RunDependencies;
  /** In the order of their last use, oldest first. */
  readonly #entries = new Map<RunId, Entry>();

  constructor(deps: RunDependencies) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The runs in memory. */
  get loaded(): readonly Run[] {
    return [...this.#entries.values()].map(({ run }) => run).filter((run) => run !== undefined);
  }

  /** Works with a run, which stays in memory meanwhile. */
  async use<Value>(runId: RunId, work: (run: Run) => Promise<Value>): Promise<Value> {
    const entry = this.#entry(runId);
    entry.users += 1;
    try {
      const run = entry.run ?? (await entry.loading);
      return await work(run);
    } finally {
      entry.users -= 1;
      this.#letGoOfOldest();
    }
  }

  /** The run, if it is in memory. */
  peek(runId: RunId): Run | undefined {
    return this.#entries.get(runId)?.run;
  }

  /** Lets go of a run; whoever asks for it next loads it again. */
  drop(run: Run): void {
    if (this.#entries.get(run.runId)?.run !== run) return;
    this.#entries.delete(run.runId);
    run.release();
  }

  #entry(runId: RunId): Entry {
    const known = this.#entries.get(runId);
    if (known) {
      this.#entries.delete(runId);
      this.#entries.set(runId, known);
      return known;
    }
    const entry: Entry = { users: 0, run: undefined, loading: Run.load(this.#deps, runId) };
    this.#entries.set(runId, entry);
    entry.loading.then(
      (run) => {
        entry.run = run;
      },
      () => {
        if (this.#entries.get(runId) === entry) this.#entries.delete(runId);
      },
    );
    return entry;
  }

  #letGoOfOldest(): void {
    let excess = this.#entries.size - this.#deps.limits.idleRuns;
    if (excess <= 0) return;
    for (const [runId, { users, run }] of this.#entries) {
      if (excess <= 0) return;
      if (users > 0 || run?.quiet !== true) {
        // A busy run is looked at again only after all others.
        continue;
      }
      this.#entries.delete(runId);
      run.release();
      excess -= 1;
    }
  }
}

interface Entry {
  users: number;
  run: Run | undefined;
  readonly loading: Promise<Run>;
}
