import type { ArtifactId } from "../../protocol/ids.ts";

/** The URL of an artifact, as an absolute path. */
export function artifactUrl(artifactId: ArtifactId): string {
  return `/artifacts/${artifactId}`;
}

/** Collects a body into a Blob; the chunks are copied, so their memory can be reused. */
export async function toBlob(body: AsyncIterable<Uint8Array>): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of body) chunks.push(chunk.slice());
  return new Blob(chunks);
}
