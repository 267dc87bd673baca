import type { Attachment } from "../../runtime/agent/turn-api.ts";
import type { Message, MessageImage } from "./prompt.ts";

/** A larger image is only named; most providers refuse it. */
const IMAGE_LIMIT_BYTES = 5 * 1_048_576;

/** Maximum images in one prompt. */
const PROMPT_LIMIT = 20;

/** Maximum bytes of all images in one prompt. */
const PROMPT_LIMIT_BYTES = 12 * 1_048_576;

/** The images among files, as a message refers to them. */
export function imagesAmong(files: readonly Attachment[]): readonly MessageImage[] {
  return files
    .filter(({ mimeType, sizeBytes }) => isImage(mimeType) && sizeBytes <= IMAGE_LIMIT_BYTES)
    .map(({ artifactId, sizeBytes }) => ({ artifactId, sizeBytes }));
}

/** The messages with only the newest images, up to the limits of one prompt. */
export function withNewestImages(messages: readonly Message[]): readonly Message[] {
  let left = PROMPT_LIMIT;
  let leftBytes = PROMPT_LIMIT_BYTES;
  const limited: Message[] = [];
  for (const message of messages.toReversed()) {
    if (message.role !== "user" || message.images === undefined) {
      limited.unshift(message);
      continue;
    }
    const { images, ...named } = message;
    const shown = images.filter(({ sizeBytes }) => {
      if (left === 0 || sizeBytes > leftBytes) return false;
      left -= 1;
      leftBytes -= sizeBytes;
      return true;
    });
    limited.unshift(shown.length === 0 ? named : { ...named, images: shown });
  }
  return limited;
}

/** The media type of an image by its first bytes, which providers rely on; `undefined` if it is no image. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}

function isImage(mimeType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)\b/i.test(mimeType);
}
