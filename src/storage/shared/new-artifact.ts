import { AgentError } from "../../errors.ts";
import type { NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";

/** The bytes of a new artifact in chunks; fails with `too_large` when there are more than it may have. */
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

/** What is known of an artifact once its bytes are kept. */
export function toStored(
  { artifactId, runId, createdAt, name, mimeType }: NewArtifact,
  sizeBytes: number,
): StoredArtifact {
  return {
    artifactId,
    ...(runId !== undefined && { runId }),
    ...(createdAt !== undefined && { createdAt }),
    name,
    mimeType,
    sizeBytes,
  };
}
