import type { ArtifactId, CallId } from "../protocol/ids.ts";
import type { Actor } from "./actor.ts";
import { artifactUrl } from "./artifact-url.ts";
import { openCall } from "./call.ts";
import { faultMessage } from "./fault-message.ts";
import type { ArtifactOptions } from "./turn-api.ts";

/** A file to publish, under an id that stays the same when the turn is continued. */
export interface Publication extends ArtifactOptions {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly artifactId: ArtifactId;
}

/** Stores a file, then says so. */
export async function publish(caller: Actor, publication: Publication): Promise<void> {
  const { callId, logged, artifactId, name, mimeType, data } = publication;
  const { turn, speaker } = caller;
  const { recorder, files, limits, runId } = turn.options;
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
    const body = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const stored = await files.put({
      artifactId,
      runId,
      name,
      mimeType,
      body,
      limitBytes: limits.artifactBytes,
    });
    if (!turn.calls.accepts(open)) return;
    const url = artifactUrl(artifactId);
    const value = { artifactId, name, mimeType, url };
    turn.calls.settle(open, { ok: true, value }, () =>
      recorder.event(speaker, {
        type: "ArtifactGenerated",
        name,
        artifact_id: artifactId,
        url,
        mime_type: mimeType,
        size_bytes: stored.sizeBytes,
      }),
    );
  } catch (thrown) {
    // The journal has no word for it: the turn ends, since its code could not be replayed past this.
    if (turn.calls.accepts(open)) turn.fail("agent_error", faultMessage(thrown));
  }
}
