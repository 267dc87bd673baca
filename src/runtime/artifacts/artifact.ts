import type { ArtifactId } from "../../protocol/ids.ts";

/** Where an artifact is served, as an absolute path. */
export function artifactUrl(artifactId: ArtifactId): string {
  return `/artifacts/${artifactId}`;
}

/** The whole of a body, which its owner may use the memory of again. */
export async function toBlob(body: AsyncIterable<Uint8Array>): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of body) chunks.push(chunk.slice());
  return new Blob(chunks);
}
