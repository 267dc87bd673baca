import type { ArtifactStore, NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { isUnfinished } from "../journal/system-runs.ts";

/**
 * The files of runs. Before those of a run are removed, what its turns were still storing has been; what comes
 * for a run that was removed, perhaps by another process, does not stay.
 */
export class RunArtifacts {
  readonly #artifacts: ArtifactStore;
  readonly #log: EventLog;
  /** Kept here and not with the run, which may be let go of meanwhile. */
  readonly #storing = new Map<RunId, Set<Promise<unknown>>>();

  constructor(artifacts: ArtifactStore, log: EventLog) {
    this.#artifacts = artifacts;
    this.#log = log;
  }

  /** Stores a file, which goes on when the turn that asked for it has ended. */
  put(artifact: NewArtifact & { readonly runId: RunId }): Promise<StoredArtifact> {
    const { runId } = artifact;
    const stored = this.take(artifact);
    const storing = this.#storing.get(runId) ?? new Set();
    this.#storing.set(runId, storing.add(stored));
    const forget = (): void => {
      storing.delete(stored);
      if (storing.size === 0 && this.#storing.get(runId) === storing) this.#storing.delete(runId);
    };
    stored.then(forget, forget);
    return stored;
  }

  /** Stores a file of a client, who may take its time: no removal waits for it. */
  async take(artifact: NewArtifact & { readonly runId: RunId }): Promise<StoredArtifact> {
    const stored = await this.#artifacts.put(artifact);
    await this.#keepNoneOfRemoved(artifact.runId);
    return stored;
  }

  /** Makes files of a client part of a run. */
  async attach(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void> {
    for (const artifactId of artifactIds) await this.#artifacts.attach(artifactId, runId);
    await this.#keepNoneOfRemoved(runId);
  }

  /** Removes the files of a run. */
  async remove(runId: RunId): Promise<void> {
    const storing = this.#storing.get(runId);
    if (storing) await Promise.allSettled(storing);
    await this.#artifacts.removeRun(runId);
  }

  /** A removal that has come so far that it may have missed a file is seen in the run's row. */
  async #keepNoneOfRemoved(runId: RunId): Promise<void> {
    const run = await this.#log.run(runId);
    if (run !== undefined && (run.removed === true || isUnfinished(run)))
      await this.#artifacts.removeRun(runId);
  }
}
