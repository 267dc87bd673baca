import { sha256 } from "../../shared/sha256.ts";
import { AgentError } from "../../errors.ts";
import type { EventBody } from "../../protocol/events/event-body.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { RemoteFile, RemoteSession } from "../../runtime/agent/remote-port.ts";
import { errorMessage } from "../../runtime/agent/error-message.ts";
import { toBlob } from "../../runtime/artifacts/artifact.ts";
import type { ReceivedEvent } from "../stream/received-events.ts";
import { retry } from "../wire/retry.ts";
import { fault } from "./ids.ts";
import type { RemoteSettings } from "./settings.ts";
import { chunksOf } from "../wire/body.ts";
import { hasCode } from "../wire/problem.ts";
import type { Wire } from "../wire/wire.ts";

/** Uploads a local file to the other server. Returns its id there. */
export async function sendFile(
  wire: Wire,
  file: RemoteFile,
  { environment: clock, signal }: RemoteSession,
  { limits, name: agent }: RemoteSettings,
): Promise<string> {
  const { name, mimeType, body } = await file.open();
  const raw = await toBlob(body);
  const { json } = await retry({ clock, limitMs: limits.unreachableMs, signal }, () =>
    wire.ask("POST", "/artifacts", {
      query: { name },
      raw,
      headers: { "content-type": mimeType },
      signal,
      timeoutMs: limits.unreachableMs,
    }),
  );
  const { artifact_id: id } = (json ?? {}) as { readonly artifact_id?: unknown };
  if (typeof id !== "string") throw fault(agent, "accepts no files");
  return id;
}

/**
 * Stores a remote file as a local one, under an id that is the same on every attempt. So it stays available
 * when the other server is gone, and clients need no access to that server. Returns the event to log.
 */
export async function fetchFile(
  wire: Wire,
  event: ReceivedEvent,
  session: RemoteSession,
  { limits, name: agent, artifactOrigins = [] }: RemoteSettings,
): Promise<EventBody> {
  const { environment: clock, key, signal } = session;
  const { url, name, mime_type: type } = event;
  const address = typeof url === "string" ? wire.resolve(url) : undefined;
  const origins = [new URL(wire.url).origin, ...artifactOrigins];
  if (address === undefined || !origins.includes(address.origin))
    throw fault(agent, "published a file at a foreign address");
  const artifactId = `art_${await sha256(`${key}/file/${event.id}`)}` as ArtifactId;
  const file = { artifactId, name: toFileName(name), mimeType: toMimeType(type) };
  return retry({ clock, limitMs: limits.unreachableMs, signal }, async () => {
    const reply = await wire
      .openFile(url as string, { signal, timeoutMs: limits.idleMs })
      .catch((thrown: unknown) => {
        throw hasCode(thrown, "not_found", "gone")
          ? fault(agent, "published a file that does not exist")
          : thrown;
      });
    const stop = clock.timer(limits.unreachableMs, () => reply.close());
    try {
      return await session.store({ ...file, body: received(wire, reply.response) });
    } catch (thrown) {
      if (signal.aborted || thrown instanceof AgentError) throw thrown;
      // Only the store here throws other errors; the other server is not at fault.
      const message = `a file of agent ${agent} could not be stored: ${errorMessage(thrown)}`;
      throw new AgentError("call_failed", message, { cause: thrown });
    } finally {
      stop();
      reply.close();
    }
  });
}

/** The bytes of a response; an error of the connection becomes an AgentError. */
async function* received(wire: Wire, response: Response): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunksOf(response);
  } catch (thrown) {
    throw wire.toFault(thrown);
  }
}

function toFileName(name: unknown): string {
  return typeof name === "string" && name !== "" ? name.slice(0, 255) : "file";
}

const MIME_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

function toMimeType(type: unknown): string {
  return typeof type === "string" && MIME_TYPE.test(type) ? type : "application/octet-stream";
}
