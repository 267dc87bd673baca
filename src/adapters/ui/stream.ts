import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import type { StreamFormat } from "../../http/sse/format.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import { EventDecoder } from "../../protocol/events/encode.ts";
import type { UiChunk } from "../../view/ui/chunks.ts";
import { UiProjection } from "../../view/ui/ui-projection.ts";
import type { ChatService, MessagePlace } from "./chat.ts";

/** Which message to send. */
export interface MessageSource {
  /** The id of its request, if it is known before it is found. */
  readonly id?: string;
  /** Finds the message; an error is a refusal, because nothing was sent yet. */
  find(): Promise<MessagePlace>;
}

/** Answers with the chunks of a message as they happen, until its agent asks something or has ended. */
export function streamMessage(
  c: Context<AppEnv>,
  { host, agent }: ChatService,
  { id, find }: MessageSource,
): Promise<Response> {
  return replyWithStream(c, host, {
    id,
    async open(signal) {
      const place = await find();
      const { runId, requestId } = place;
      const address = { kind: "request", runId, requestId, agent } as const;
      const feed = await host.runtime.follow(address, { after: 0, filter: { level: "all" }, signal });
      const format = messageFormat(place, host.mount.addressOf(c, ""));
      return { feed, format, after: undefined, headers: { "x-vercel-ai-ui-message-stream": "v1" } };
    },
  });
}

/**
 * The frames of one message: the id of the event that caused a chunk, and the chunk in one line of JSON. A page comes back by
 * itself after a broken connection only, and then reads the message from its start. Files have addresses below `prefix`.
 */
function messageFormat({ messageId, after }: MessagePlace, prefix: string): StreamFormat {
  const projection = new UiProjection();
  const decoder = new EventDecoder();
  let hasBegun = false;
  let hasEnded = false;

  function toFrames(chunks: readonly UiChunk[], id: number): string {
    let text = "";
    for (const chunk of chunks) text += `id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`;
    return text;
  }

  return {
    endless: true,
    breaks: true,
    opening: "",
    event(text) {
      if (hasEnded) return "";
      const event = decoder.decode(withPrefix(text, prefix));
      const chunks: UiChunk[] = [];
      for (const { messageId: of, chunk } of projection.take(event)) {
        if (of === messageId) chunks.push(chunk);
        // An answer that was typed as a message of its own has begun another one.
        else if (hasBegun && chunk.type === "start") hasEnded = true;
      }
      if (projection.hasEnded) hasEnded = true;
      if (event.id <= after || chunks.length === 0) return "";
      if (hasBegun || after === 0) {
        hasBegun = true;
        return toFrames(chunks, event.id);
      }
      hasBegun = true;
      // The reader has what was before, and its step has ended.
      const [first, ...others] = chunks;
      const own = first?.type === "finish-step" ? others : chunks;
      return toFrames([projection.start(messageId), ...own], event.id);
    },
    get hasEnded() {
      return hasEnded;
    },
    heartbeat: () => ": keep-alive\n\n",
    end(leaving) {
      if (leaving) return "";
      return `${toFrames(projection.park(messageId), projection.cursor)}data: [DONE]\n\n`;
    },
  };
}
