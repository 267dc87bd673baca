import { createHash } from "node:crypto";
import { AgentError } from "../../errors.ts";
import type { ArtifactStore, StoredArtifact } from "../../ports/artifact-store.ts";
import type { Copied } from "./copy-log.ts";

/** Copies a file with its runs, and compares it. */
export async function copyArtifact(
  artifact: StoredArtifact,
  from: ArtifactStore,
  to: ArtifactStore,
): Promise<Copied> {
  const { artifactId, runIds, createdAt, name, mimeType, sizeBytes } = artifact;
  const isNew = (await to.get(artifactId)) === undefined;
  const [runId, ...others] = runIds;
  if (isNew) {
    await to.put({
      artifactId,
      ...(runId !== undefined && { runId }),
      ...(createdAt !== undefined && { createdAt }),
      name,
      mimeType,
      body: from.read(artifactId),
      limitBytes: Number.MAX_SAFE_INTEGER,
    });
  }
  // One after the other, in their order; an interrupted copy can lack some.
  for (const other of isNew ? others : runIds) await to.attach([artifactId], other);
  const copy = await to.get(artifactId);
  const isEqual =
    copy !== undefined &&
    toFacts(copy) === toFacts(artifact) &&
    (await digest(to, artifactId)) === (await digest(from, artifactId));
  if (!isEqual) {
    if (isNew) throw new AgentError("internal", "its copy is not equal to it");
    throw new AgentError("conflict", "it is in both stores and differs", {
      hint: "its bytes were not overwritten; copy to an empty target",
    });
  }
  return { kind: "artifact", id: artifactId, isNew, events: 0, bytes: sizeBytes };
}

function toFacts({ runIds, createdAt, name, mimeType, sizeBytes }: StoredArtifact): string {
  return JSON.stringify([runIds.toSorted(), createdAt ?? null, name, mimeType, sizeBytes]);
}

async function digest(store: ArtifactStore, artifactId: StoredArtifact["artifactId"]): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of store.read(artifactId)) hash.update(chunk);
  return hash.digest("hex");
}
