import { AgentError } from "../../errors.ts";
import type { NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";
import { toStoredName } from "../../shared/stored-name.ts";

/** A new artifact while it is being stored. */
export interface ArtifactDraft {
  /**
   * The bytes in chunks; fails with `too_large` above the limit. The name is asked for after the last one, so that a
   * name that fails leaves nothing behind, like bytes that fail.
   */
  readonly body: AsyncGenerator<Uint8Array, void>;
  /** The metadata, when the bytes were read; if the artifact is stored again, it keeps its runs. */
  toStored(sizeBytes: number, before: StoredArtifact | undefined): StoredArtifact;
}

/** Starts to read a new artifact. */
export function draftOf({ name: given, limitBytes, ...artifact }: NewArtifact): ArtifactDraft {
  let name = typeof given === "string" ? given : "";

  async function* readBody(): AsyncGenerator<Uint8Array, void> {
    const { body } = artifact;
    let sizeBytes = 0;
    for await (const chunk of body instanceof Uint8Array ? [body] : body) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > limitBytes) {
        const shown = name === "" ? "the artifact" : `artifact ${name}`;
        throw new AgentError("too_large", `${shown} is larger than ${limitBytes} bytes`);
      }
      yield chunk;
    }
    if (typeof given === "function") name = await given();
  }

  return {
    body: readBody(),
    toStored(sizeBytes, before) {
      const { artifactId, runId, createdAt, mimeType } = artifact;
      return {
        artifactId,
        runIds: [...new Set([...(before?.runIds ?? []), ...(runId === undefined ? [] : [runId])])],
        ...(createdAt !== undefined && { createdAt }),
        name: toStoredName(name),
        mimeType,
        sizeBytes,
      };
    },
  };
}
