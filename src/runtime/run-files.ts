import type { ArtifactStore, NewArtifact, StoredArtifact } from "../ports/artifact-store.ts";
import type { RunId } from "../protocol/ids.ts";

/** The files of runs: before those of a run are removed, all that was still being stored has been. */
export class RunFiles {
  readonly #artifacts: ArtifactStore;
  /** Kept here and not with the run, which may be let go of meanwhile. */
  readonly #storing = new Map<RunId, Set<Promise<unknown>>>();

  constructor(artifacts: ArtifactStore) {
    this.#artifacts = artifacts;
  }

  /** Stores a file, which goes on when the turn that asked for it has ended. */
  put(artifact: NewArtifact & { readonly runId: RunId }): Promise<StoredArtifact> {
    const { runId } = artifact;
    const stored = this.#artifacts.put(artifact);
    const storing = this.#storing.get(runId) ?? new Set();
    this.#storing.set(runId, storing.add(stored));
    const forget = (): void => {
      storing.delete(stored);
      if (storing.size === 0 && this.#storing.get(runId) === storing) this.#storing.delete(runId);
    };
    stored.then(forget, forget);
    return stored;
  }

  /** Removes the files of a run. */
  async remove(runId: RunId): Promise<void> {
    const storing = this.#storing.get(runId);
    if (storing) await Promise.allSettled(storing);
    await this.#artifacts.removeRun(runId);
  }
}
