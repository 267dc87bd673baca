import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { StoredArtifact } from "../../ports/artifact-store.ts";
import { nodeOf } from "./app-env.ts";
import type { AppEnv } from "./app-env.ts";
import { API_HEADERS, corsOf } from "./reply.ts";

/** A stored file, and what an answer says about it. */
export interface SentFile {
  readonly info: StoredArtifact;
  readonly body: AsyncIterable<Uint8Array>;
  /** The name in Content-Disposition. */
  readonly name: string;
  /** The Content-Type. */
  readonly type: string;
  /** The time after which a reader that accepts nothing is disconnected. */
  readonly stallMs: number;
  readonly report: (where: string, thrown: unknown) => void;
}

/** Sends a file as a download; it is never displayed inline. */
export function replyFile(
  c: Context<AppEnv>,
  { info, body, name, type, stallMs, report }: SentFile,
): Response {
  const headers = {
    ...API_HEADERS,
    "content-security-policy": "sandbox; default-src 'none'",
    "content-type": type,
    "content-length": String(info.sizeBytes),
    "content-disposition": `attachment; filename="artifact"; filename*=UTF-8''${toExtendedValue(name)}`,
    ...corsOf(c),
  };
  // Node closes the connection at the timeout, and clears the timeout before the next request of the connection.
  nodeOf(c)?.outgoing.socket?.setTimeout(stallMs);
  return new Response(toStream(body, report), { headers });
}

/** A name in the encoding of RFC 5987, for letters that a header cannot contain. */
function toExtendedValue(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toStream(chunks: AsyncIterable<Uint8Array>, report: SentFile["report"]): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let wanted = true;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const next = await iterator.next();
          // A client that has all its bytes may disconnect before the end of the stream.
          if (!wanted) return;
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (thrown) {
          report("reading an artifact failed", thrown);
          // The error can reach the client as text, so it contains no cause.
          controller.error(new AgentError("internal", "the artifact could not be read"));
        }
      },
      cancel: async () => {
        wanted = false;
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
