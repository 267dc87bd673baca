import { AgentError } from "../errors.ts";
import type { ArtifactId } from "../protocol/ids.ts";
import type { ActorPlace } from "./actor-place.ts";
import { artifactUrl } from "./artifact-url.ts";
import { toBlob } from "./to-blob.ts";
import type { Attachment } from "./turn-api.ts";

/** The files that an actor was given: those of the request, for the agent that was asked and for no other. */
export function attachedTo({ depth, turn }: ActorPlace): readonly ArtifactId[] {
  return depth === 0 ? (turn.options.accepted.request.attachments ?? []) : [];
}

/** Opens the files that an actor was given. */
export function openAttachments(actor: ActorPlace): Promise<readonly Attachment[]> {
  return Promise.all(attachedTo(actor).map((artifactId) => open(actor, artifactId)));
}

async function open({ turn }: ActorPlace, artifactId: ArtifactId): Promise<Attachment> {
  const { artifacts } = turn.options;
  const stored = await artifacts.get(artifactId);
  if (stored === undefined) throw new AgentError("not_found", `there is no artifact ${artifactId}`);
  const { name, mimeType, sizeBytes } = stored;
  const read = (): Promise<Blob> => toBlob(artifacts.read(artifactId));
  return {
    artifactId,
    name,
    mimeType,
    sizeBytes,
    url: artifactUrl(artifactId),
    bytes: async () => new Uint8Array(await (await read()).arrayBuffer()),
    text: async () => (await read()).text(),
  };
}
