import { AgentError } from "../../errors.ts";
import type { ArtifactStore, StoredArtifact } from "../../ports/artifact-store.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import { limitedBody, toStored } from "../shared/new-artifact.ts";

/** Artifacts in memory, for tests and for use with a memory log. */
export function memoryArtifacts(): ArtifactStore {
  const artifacts = new Map<ArtifactId, { info: StoredArtifact; chunks: readonly Uint8Array[] }>();

  return {
    async put(artifact) {
      const chunks: Uint8Array[] = [];
      let sizeBytes = 0;
      for await (const chunk of limitedBody(artifact)) {
        // A copy, because the caller may reuse the chunk's memory.
        chunks.push(chunk.slice());
        sizeBytes += chunk.byteLength;
      }
      const info = toStored(artifact, sizeBytes);
      artifacts.set(artifact.artifactId, { info, chunks });
      return info;
    },
    get: async (artifactId) => artifacts.get(artifactId)?.info,
    async *read(artifactId) {
      const artifact = artifacts.get(artifactId);
      if (artifact === undefined) {
        throw new AgentError("not_found", `there is no artifact ${artifactId}`);
      }
      yield* artifact.chunks;
    },
    async attach(artifactId, runId) {
      const artifact = artifacts.get(artifactId);
      if (artifact !== undefined && artifact.info.runId === undefined) {
        artifacts.set(artifactId, { ...artifact, info: { ...artifact.info, runId } });
      }
    },
    async removeUnattached(before) {
      let kept = 0;
      for (const [artifactId, { info }] of artifacts) {
        if (info.runId !== undefined) continue;
        if ((info.createdAt ?? 0) < before) artifacts.delete(artifactId);
        else kept += 1;
      }
      return kept;
    },
    async size(runId) {
      let bytes = 0;
      for (const { info } of artifacts.values())
        if (runId === undefined || info.runId === runId) bytes += info.sizeBytes;
      return bytes;
    },
    async removeRun(runId) {
      for (const [artifactId, { info }] of artifacts) {
        if (info.runId === runId) artifacts.delete(artifactId);
      }
    },
    async close() {
      artifacts.clear();
    },
  };
}
