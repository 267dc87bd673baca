import type { ArtifactId, CallId } from "../../protocol/ids.ts";
import type { Actor } from "./actor.ts";
import { artifactUrl, toBlob } from "../artifacts/artifact.ts";
import { openCall } from "./call.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { Artifact, ArtifactOptions, Attachment } from "../agent/turn-api.ts";
import { attachedTo } from "../turn/actor-context.ts";
import { AgentError, isInstance } from "../../errors.ts";
import { checkName } from "../journal/json-limits.ts";
import { toResultFile } from "../agent/result-file.ts";
import { artifactSignature } from "../replay/signature.ts";
import type { Sequence } from "./sequence.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** Publishes a file. */
export async function publishFile(
  sequence: Sequence,
  { name, mimeType, data }: ArtifactOptions,
): Promise<Artifact> {
  const { actor } = sequence;
  checkName(name, "the name of an artifact");
  checkName(mimeType, "the MIME type of an artifact");
  if (typeof data !== "string" && !isInstance(data, Uint8Array))
    throw new TypeError(`the data of artifact ${name} is neither a string nor a Uint8Array`);
  const artifactId = actor.turn.context.environment.newId() as ArtifactId;
  const published = await sequence.issue(artifactSignature(name, mimeType), (step) => {
    const loggedId = step.logged ? (step.value as ArtifactId) : undefined;
    return publish(actor, { ...step, artifactId: loggedId ?? artifactId, name, mimeType, data });
  });
  const artifact = published as unknown as Artifact;
  actor.files.push(artifact);
  return artifact;
}

/** Stores a file that is published later. */
export async function storeFile({ turn }: ActorContext, file: ArtifactOptions): Promise<Artifact> {
  return store(turn, file, turn.context.environment.newId());
}

async function store(
  { context: { files, limits }, runId }: ActorContext["turn"],
  { name, mimeType, data }: ArtifactOptions,
  artifactId: ArtifactId,
): Promise<Artifact> {
  const body = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const { sizeBytes } = await files.put({
    artifactId,
    runId,
    name,
    mimeType,
    body,
    limitBytes: limits.artifactBytes,
  });
  return { artifactId, name, mimeType, url: artifactUrl(artifactId), sizeBytes };
}

/** A file to publish, with an id that stays the same when the turn is continued. */
interface Publication extends ArtifactOptions {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly artifactId: ArtifactId;
}

/** Stores a file and then logs it. */
async function publish(caller: Actor, publication: Publication): Promise<void> {
  const { callId, logged, artifactId, name, mimeType, data } = publication;
  const { turn } = caller;
  const { recorder } = turn;
  const open = openCall(caller, { callId, name: "artifact", args: null, logged }, "artifact", () => {});
  if (!logged) {
    recorder.record({
      type: "Artifact",
      call_id: callId,
      artifact_id: artifactId,
      name,
      mime_type: mimeType,
    });
  }
  try {
    const stored = await store(turn, { name, mimeType, data }, artifactId);
    if (!turn.calls.accepts(open)) return;
    const event = { type: "ArtifactGenerated", ...toResultFile(stored) } as const;
    turn.calls.settle(open, { ok: true, value: { ...stored } }, event);
  } catch (thrown) {
    // The journal has no entry for this failure, so a replay could not repeat it: the turn ends.
    if (turn.calls.accepts(open)) turn.fail("agent_error", errorMessage(thrown));
  }
}

/** Opens the files of the request for an actor. */
export function openAttachments(actor: ActorContext): Promise<readonly Attachment[]> {
  return Promise.all(attachedTo(actor).map((artifactId) => open(actor, artifactId)));
}

async function open({ turn }: ActorContext, artifactId: ArtifactId): Promise<Attachment> {
  const { store } = turn.context.files;
  const stored = await store.get(artifactId);
  if (stored === undefined) throw new AgentError("not_found", `there is no artifact ${artifactId}`);
  const { name, mimeType, sizeBytes } = stored;
  const read = (): Promise<Blob> => toBlob(store.read(artifactId));
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
