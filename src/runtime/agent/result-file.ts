import type { ResultFile } from "../../protocol/events/event-body.ts";
import type { Artifact } from "./turn-api.ts";

/** A published file as events have it. */
export function toResultFile({ artifactId, name, mimeType, url, sizeBytes }: Artifact): ResultFile {
  return { name, artifact_id: artifactId, url, mime_type: mimeType, size_bytes: sizeBytes };
}

/** The file that an event is about. */
export function toPublished({ artifact_id, name, mime_type, url, size_bytes }: ResultFile): Artifact {
  return { artifactId: artifact_id, name, mimeType: mime_type, url, sizeBytes: size_bytes };
}
