import type { ReferenceMark } from "../../ports/log-index.ts";
import type { RunId } from "../../protocol/ids.ts";

/** For each thing outside the log, the runs that refer to it. */
export class References {
  readonly #referrers = new Map<string, Set<RunId>>();

  has(thing: string): boolean {
    return this.#referrers.has(thing);
  }

  /** Adds or drops a reference of a run. `own` has all references of the run. */
  apply(runId: RunId, own: Set<string>, { thing, dropped = false }: ReferenceMark): void {
    const holders = this.#referrers.get(thing) ?? new Set();
    if (dropped) {
      own.delete(thing);
      holders.delete(runId);
    } else {
      own.add(thing);
      holders.add(runId);
    }
    if (holders.size > 0) this.#referrers.set(thing, holders);
    else this.#referrers.delete(thing);
  }
}
