import { byteLength, cut } from "../../runtime/journal/json-limits.ts";
import type { Attachment, Turn } from "../../runtime/agent/turn-api.ts";
import { imagesAmong } from "./images.ts";
import type { Message } from "./prompt.ts";

/**
 * The user's message with its files: a line for each file, the content of text files, and the images. All
 * texts together take at most the limit; the message says what is left out.
 */
export async function withAttachments(input: string, turn: Turn, limitBytes: number): Promise<Message> {
  if (turn.request.attachments.length === 0) return { role: "user", content: input };
  const parts = [input];
  let leftBytes = limitBytes;
  const files = await turn.attachments();
  for (const file of files) {
    const { name, mimeType, url } = file;
    const line = `${name} (${mimeType}) ${url}`;
    const content = isText(file) && leftBytes >= LEAST_BYTES ? cut(await file.text(), leftBytes) : undefined;
    leftBytes -= content === undefined ? 0 : byteLength(content);
    parts.push(content === undefined ? `Attached: ${line}` : `Attached: ${line}\n${content}`);
  }
  const images = imagesAmong(files);
  return { role: "user", content: parts.join("\n\n"), ...(images.length > 0 && { images }) };
}

/** With less space than this, a file is only named. */
const LEAST_BYTES = 1_024;

/** Larger files are not opened. */
const TEXT_LIMIT_BYTES = 4 * 1_048_576;

function isText({ mimeType, sizeBytes }: Attachment): boolean {
  return sizeBytes <= TEXT_LIMIT_BYTES && /^text\/|[/+](json|xml|yaml)\b/.test(mimeType);
}
