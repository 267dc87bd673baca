import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import type { StreamFormat } from "../../http/sse/format.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import { EventDecoder } from "../../protocol/events/encode.ts";
import type { UiChunk } from "../../view/ui/chunks.ts";
import { MessageReader } from "../../view/ui/message-reader.ts";
import type { MessagePart } from "../../view/ui/message-reader.ts";
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
function messageFormat(part: MessagePart, prefix: string): StreamFormat {
  const reader = new MessageReader(part);
  const decoder = new EventDecoder();

  function toFrames(chunks: readonly UiChunk[]): string {
    let text = "";
    for (const chunk of chunks) text += `id: ${reader.cursor}\ndata: ${JSON.stringify(chunk)}\n\n`;
    return text;
  }

  return {
    endless: true,
    breaks: true,
    opening: "",
    event: (text) => toFrames(reader.take(decoder.decode(withPrefix(text, prefix)))),
    get hasEnded() {
      return reader.hasEnded;
    },
    heartbeat: () => ": keep-alive\n\n",
    end: (leaving) => (leaving ? "" : `${toFrames(reader.park())}data: [DONE]\n\n`),
  };
}
