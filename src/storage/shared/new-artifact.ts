import { AgentError } from "../../errors.ts";
import type { NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";

/** Reads the bytes of a new artifact in chunks; fails with `too_large` above its limit. */
export async function* limitedBody({
  body,
  limitBytes,
  name,
}: NewArtifact): AsyncGenerator<Uint8Array, void> {
  let sizeBytes = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) {
      throw new AgentError("too_large", `artifact ${name} is larger than ${limitBytes} bytes`);
    }
    yield chunk;
  }
}

/** The metadata of a stored artifact; if it is stored again, it keeps its runs. */
export function toStored(
  { artifactId, runId, createdAt, name, mimeType }: NewArtifact,
  sizeBytes: number,
  before: StoredArtifact | undefined,
): StoredArtifact {
  return {
    artifactId,
    runIds: [...new Set([...(before?.runIds ?? []), ...(runId === undefined ? [] : [runId])])],
    ...(createdAt !== undefined && { createdAt }),
    name,
    mimeType,
    sizeBytes,
  };
}
