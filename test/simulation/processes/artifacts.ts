import { memoryArtifacts } from "troupe";
import type { ArtifactStore, StoredArtifact } from "../../../src/ports/artifact-store.ts";

/** Files that survive processes. */
export class Artifacts {
  /** The files as a process sees them. */
  readonly store: ArtifactStore = memoryArtifacts();

  /** Does what a node does a day later: removes what no run refers to. */
  async removeOld(): Promise<void> {
    await this.store.removeUnattached(Infinity);
  }

  /** All stored files. */
  async all(): Promise<readonly StoredArtifact[]> {
    const found: StoredArtifact[] = [];
    for await (const file of this.store.list()) found.push(file);
    return found;
  }
}
