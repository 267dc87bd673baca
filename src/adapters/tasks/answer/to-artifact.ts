import type { FileView } from "../../../view/run-view.ts";
import type { ArtifactObject } from "../objects.ts";
import { splitName } from "../request/file-name.ts";

/** A file as clients see it. */
export function toArtifact({
  artifactId,
  name,
  isGenerated,
}: Pick<FileView, "artifactId" | "name" | "isGenerated">): ArtifactObject {
  const { fileName, relativePath } = splitName(name);
  return {
    artifact_id: artifactId,
    agent_created: isGenerated,
    file_name: fileName,
    relative_path: relativePath,
  };
}
