import { memoryArtifacts } from "troupe";
import type { ArtifactStore, StoredArtifact } from "../../../src/ports/artifact-store.ts";
import type { ArtifactId } from "../../../src/protocol/ids.ts";

/** Files that survive processes. */
export class Artifacts {
  readonly #memory = memoryArtifacts();
  readonly #ids = new Set<ArtifactId>();
  /** The files as a process sees them. */
  readonly store: ArtifactStore = {
    ...this.#memory,
    put: (artifact) => {
      this.#ids.add(artifact.artifactId);
      return this.#memory.put(artifact);
    },
  };

  /** All stored files. */
  async all(): Promise<readonly StoredArtifact[]> {
    const found = await Promise.all([...this.#ids].map((artifactId) => this.#memory.get(artifactId)));
    return found.filter((file) => file !== undefined);
  }
}
