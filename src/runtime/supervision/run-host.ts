import { AgentError } from "../../errors.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Message, Reply } from "../run/messages.ts";
import { Run } from "../run/run.ts";
import type { RunDependencies } from "../run/run.ts";

/** The runs that this process owns at present, each loaded when it is needed and let go of when it has long been quiet. */
export class RunHost {
  readonly #deps: RunDependencies;
  readonly #entries = new Map<RunId, Entry>();
  /** Those that may be let go of, the one that has been quiet longest first. */
  readonly #quiet = new Set<Entry>();

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

  /** How many runs have a turn that works, and neither waits nor sleeps. */
  get busy(): number {
    let busy = 0;
    for (const { run } of this.#entries.values()) if (run?.busy === true) busy += 1;
    return busy;
  }

  /** Brings a message to a run, which stays in memory meanwhile. */
  async deliver(runId: RunId, message: Message): Promise<Reply> {
    const entry = this.#entry(runId);
    entry.users += 1;
    this.#quiet.delete(entry);
    try {
      const run = entry.run ?? (await entry.loading);
      if (run === undefined) throw new AgentError("internal", `run ${runId} was let go of`);
      return await run.deliver(message);
    } finally {
      entry.users -= 1;
      if (entry.run?.isRemoved === true) this.#letGo(entry, entry.run);
      this.#rest(entry);
    }
  }

  /** Takes note that all a run had to write is written. */
  rested(run: Run): void {
    const entry = this.#entries.get(run.runId);
    if (entry?.run === run) this.#rest(entry);
  }

  /** The run, if it is in memory. */
  peek(runId: RunId): Run | undefined {
    return this.#entries.get(runId)?.run;
  }

  /** Lets go of a run; whoever asks for it next loads it again. */
  drop(run: Run): void {
    const entry = this.#entries.get(run.runId);
    if (entry?.run === run) this.#letGo(entry, run);
  }

  #entry(runId: RunId): Entry {
    const known = this.#entries.get(runId);
    if (known) return known;
    const loading = Run.load(this.#deps, runId);
    const entry: Entry = { users: 0, run: undefined, loading };
    this.#entries.set(runId, entry);
    loading.then(
      (run) => {
        entry.run = run;
        entry.loading = undefined;
      },
      () => {
        if (this.#entries.get(runId) === entry) this.#entries.delete(runId);
      },
    );
    return entry;
  }

  #rest(entry: Entry): void {
    if (entry.users === 0 && entry.run?.quiet === true) this.#quiet.add(entry);
    const { idleRuns } = this.#deps.context.limits;
    if (this.#entries.size <= idleRuns) return;
    // Several at once: each walk over the set starts with the places of all that were deleted since it last grew.
    let excess = this.#entries.size - idleRuns + Math.floor(idleRuns / 16);
    for (const quiet of this.#quiet) {
      if (excess <= 0) return;
      this.#quiet.delete(quiet);
      if (quiet.run?.quiet !== true) continue;
      this.#letGo(quiet, quiet.run);
      excess -= 1;
    }
  }

  #letGo(entry: Entry, run: Run): void {
    this.#quiet.delete(entry);
    if (this.#entries.get(run.runId) !== entry) return;
    this.#entries.delete(run.runId);
    const { wakeAt } = run;
    run.release();
    entry.run = undefined;
    if (wakeAt !== undefined) this.#deps.sleeps(wakeAt);
  }
}

/**
 * A run and who uses it. It is emptied when the run is let go of: a map that entries come to and leave makes a
 * new table every now and then, and what was in the old one lives until the garbage of the whole heap is collected.
 */
interface Entry {
  users: number;
  /** Absent before it is loaded, and again in the end. */
  run: Run | undefined;
  /** Present until the run is loaded. */
  loading: Promise<Run> | undefined;
}
