import type { Attachment } from "../../runtime/agent/turn-api.ts";
import type { Message, MessageImage } from "../../runtime/model/prompt.ts";

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

function isImage(mimeType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)\b/i.test(mimeType);
}
