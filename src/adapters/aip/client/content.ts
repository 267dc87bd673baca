import { AgentError } from "../../../errors.ts";
import { isObject } from "../../../protocol/json.ts";
import type { RemoteFile, RemoteRequest } from "../../../runtime/agent/remote-port.ts";
import { CONTENT_BYTES, toItem } from "../wire/content.ts";
import type { ContentItem } from "../wire/messages.ts";

/** The content of the first quest: the text and the files of a chat. Throws `unprocessable` for anything else. */
export async function toQuest(
  name: string,
  { operation, input, attachments }: RemoteRequest,
): Promise<readonly ContentItem[]> {
  const text = isObject(input) ? input["input"] : undefined;
  if (operation !== "chat" || typeof text !== "string")
    throw new AgentError("unprocessable", `agent ${name} has only a chat, whose input is a text`);
  const files = await Promise.all(attachments.map(readFile));
  const items = [...(text === "" && files.length > 0 ? [] : [{ text }]), ...files];
  const size = items.reduce((sum, item) => sum + sizeOf(item), 0);
  if (size <= CONTENT_BYTES) return items;
  throw new AgentError("unprocessable", `the input of agent ${name} is larger than ${CONTENT_BYTES} bytes`);
}

/** Parts of a text, each of which fits into one event. */
export function toParts(text: string): readonly string[] {
  return text.match(/[^]{1,32768}(?![\uDC00-\uDFFF])/g) ?? [];
}

async function readFile(file: RemoteFile): Promise<ContentItem> {
  const { mimeType, body } = await file.open();
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return toItem(mimeType, Buffer.concat(chunks));
}

function sizeOf({ text, image, audio, embedded }: ContentItem): number {
  return (text === undefined ? (image ?? audio ?? embedded)?.length : Buffer.byteLength(text)) ?? 0;
}
