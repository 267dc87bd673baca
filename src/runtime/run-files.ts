import type { ArtifactStore, NewArtifact, StoredArtifact } from "../ports/artifact-store.ts";

/** The files of one run: before they are removed, all that was still being stored has been. */
export class RunFiles {
  readonly #artifacts: ArtifactStore;
  #storing: Set<Promise<unknown>> | undefined;

  constructor(artifacts: ArtifactStore) {
    this.#artifacts = artifacts;
  }

  /** Stores a file, which goes on when the turn that asked for it has ended. */
  put(artifact: NewArtifact): Promise<StoredArtifact> {
    const stored = this.#artifacts.put(artifact);
    const storing = (this.#storing ??= new Set());
    storing.add(stored);
    const forget = (): void => void storing.delete(stored);
    stored.then(forget, forget);
    return stored;
  }

  /** Resolves when nothing is being stored any more. */
  async settled(): Promise<void> {
    if (this.#storing) await Promise.allSettled(this.#storing);
  }
}
