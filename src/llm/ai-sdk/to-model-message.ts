import type * as ai from "ai";
import { AgentError } from "../../errors.ts";
import type { ModelContext } from "../../ports/model.ts";
import { imageTypeOf } from "../prompt/images.ts";
import type { Message, MessageImage } from "../prompt/prompt.ts";

/** Reads the bytes of an image; `undefined` for a model without image input. */
export type ReadImage = ModelContext["readArtifact"] | undefined;

/** Whether a message of the model has any content. Many providers refuse a conversation with an empty one. */
export function saysAnything(message: Message): boolean {
  if (message.role !== "assistant") return true;
  const { content, toolCalls = [], original } = message;
  return content.trim() !== "" || toolCalls.length > 0 || original !== undefined;
}

/** Converts a message to the AI SDK, including its images. */
export async function toModelMessage(message: Message, readImage: ReadImage): Promise<ai.ModelMessage> {
  switch (message.role) {
    case "user":
      return { role: "user", content: await toUserContent(message, readImage) };
    case "assistant": {
      const { content, toolCalls = [], original } = message;
      if (original !== undefined) return { role: "assistant", content: original as never };
      const calls = toolCalls.map(({ id, name, input }) => ({
        type: "tool-call" as const,
        toolCallId: id,
        toolName: name,
        input,
      }));
      return {
        role: "assistant",
        content: [...(content.trim() === "" ? [] : [{ type: "text" as const, text: content }]), ...calls],
      };
    }
    case "tool": {
      const { callId, name, content, isError = false } = message;
      const output = { type: isError ? ("error-text" as const) : ("text" as const), value: content };
      return { role: "tool", content: [{ type: "tool-result", toolCallId: callId, toolName: name, output }] };
    }
    default: {
      const never: never = message;
      return never;
    }
  }
}

async function toUserContent(
  { content, images = [] }: Extract<Message, { readonly role: "user" }>,
  readImage: ReadImage,
): Promise<ai.UserContent> {
  if (readImage === undefined || images.length === 0) return content;
  const parts = await Promise.all(images.map((image) => toImagePart(image, readImage)));
  return [{ type: "text", text: content }, ...parts.filter((part) => part !== undefined)];
}

/** The image part; `undefined` if the bytes are not an image, which providers refuse. */
async function toImagePart(
  { artifactId }: MessageImage,
  readImage: NonNullable<ReadImage>,
): Promise<ai.FilePart | undefined> {
  try {
    const data = await readImage(artifactId);
    const mediaType = imageTypeOf(data);
    return mediaType === undefined ? undefined : { type: "file", data, mediaType };
  } catch (thrown) {
    // The file may have been removed since.
    if (thrown instanceof AgentError && thrown.code === "not_found") return undefined;
    throw thrown;
  }
}
