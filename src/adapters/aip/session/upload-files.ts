import type { ArtifactId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { ContentFile } from "../wire/content.ts";

/** Stores the files of a message, so that a request can have them as attachments. */
export async function uploadFiles(
  runtime: Runtime,
  files: readonly ContentFile[],
): Promise<readonly ArtifactId[]> {
  const ids: ArtifactId[] = [];
  for (const [index, { kind, mimeType, bytes }] of files.entries()) {
    const name = `${kind}-${index + 1}`;
    const file = { name, mimeType, limitBytes: bytes.length, body: inOne(bytes) };
    const { artifactId } = await runtime.upload(file);
    ids.push(artifactId);
  }
  return ids;
}

async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
