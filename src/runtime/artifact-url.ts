import type { ArtifactId } from "../protocol/ids.ts";

/** Where an artifact is served, as an absolute path. */
export function artifactUrl(artifactId: ArtifactId): string {
  return `/artifacts/${artifactId}`;
}
