import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { ArtifactId } from "../protocol/ids.ts";

/** Reads the whole of an artifact; fails with `not_found` when there is none. */
export async function readArtifact(artifacts: ArtifactStore, artifactId: ArtifactId): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of artifacts.read(artifactId)) chunks.push(chunk.slice());
  return new Blob(chunks);
}
