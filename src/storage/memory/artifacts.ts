import { AgentError } from "../../errors.ts";
import { isReservation, oldestReservation } from "../../ports/artifact-store.ts";
import type { ArtifactStore, StoredArtifact } from "../../ports/artifact-store.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { draftOf } from "../shared/new-artifact.ts";

/** Artifacts in memory, for tests and for use with a memory log. */
export function memoryArtifacts(): ArtifactStore {
  const artifacts = new Map<ArtifactId, { info: StoredArtifact; chunks: readonly Uint8Array[] }>();

  function detach(isDetached: (runId: RunId) => boolean): void {
    for (const [artifactId, artifact] of artifacts) {
      const { info } = artifact;
      const runIds = info.runIds.filter((runId) => !isDetached(runId));
      if (runIds.length < info.runIds.length)
        artifacts.set(artifactId, { ...artifact, info: { ...info, runIds } });
    }
  }

  return {
    async put(artifact) {
      const chunks: Uint8Array[] = [];
      const draft = draftOf(artifact);
      let sizeBytes = 0;
      for await (const chunk of draft.body) {
        // A copy, because the caller may reuse the chunk's memory.
        chunks.push(chunk.slice());
        sizeBytes += chunk.byteLength;
      }
      const info = draft.toStored(sizeBytes, artifacts.get(artifact.artifactId)?.info);
      artifacts.set(artifact.artifactId, { info, chunks });
      return info;
    },
    get: async (artifactId) => artifacts.get(artifactId)?.info,
    async *list({ waiting = false } = {}) {
      for (const { info } of artifacts.values()) if (!waiting || info.runIds.every(isReservation)) yield info;
    },
    async *read(artifactId) {
      const artifact = artifacts.get(artifactId);
      if (artifact === undefined) {
        throw new AgentError("not_found", `there is no artifact ${artifactId}`);
      }
      yield* artifact.chunks;
    },
    async attach(artifactIds, runId) {
      for (const artifactId of artifactIds) {
        const artifact = artifacts.get(artifactId);
        if (artifact === undefined || artifact.info.runIds.includes(runId)) continue;
        const runIds = [...artifact.info.runIds, runId];
        artifacts.set(artifactId, { ...artifact, info: { ...artifact.info, runIds } });
      }
    },
    detach: async (runId) => detach((other) => other === runId),
    async removeUnattached(before) {
      const oldest = oldestReservation(before);
      detach((runId) => isReservation(runId) && runId < oldest);
      let kept = 0;
      for (const [artifactId, { info }] of artifacts) {
        const isUnattached = info.runIds.length === 0;
        if (isUnattached && (info.createdAt ?? 0) < before) artifacts.delete(artifactId);
        else if (isUnattached || info.runIds.some(isReservation)) kept += 1;
      }
      return kept;
    },
    async unattached() {
      const without = [...artifacts.values()].filter(({ info }) => info.runIds.every(isReservation));
      return {
        files: without.length,
        bytes: without.reduce((sum, { info }) => sum + info.sizeBytes, 0),
      };
    },
    async size(runId) {
      let bytes = 0;
      for (const { info } of artifacts.values())
        if (runId === undefined || (info.runIds.length === 1 && info.runIds[0] === runId))
          bytes += info.sizeBytes;
      return bytes;
    },
    async has(runId) {
      for (const { info } of artifacts.values()) if (info.runIds.includes(runId)) return true;
      return false;
    },
    async removeRun(runId) {
      for (const [artifactId, artifact] of artifacts) {
        const { info } = artifact;
        if (!info.runIds.includes(runId)) continue;
        const runIds = info.runIds.filter((other) => other !== runId);
        if (runIds.length === 0) artifacts.delete(artifactId);
        else artifacts.set(artifactId, { ...artifact, info: { ...info, runIds } });
      }
    },
    // The artifacts stay, for a runtime that uses the store again.
    async close() {},
  };
}
