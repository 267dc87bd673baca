import type { Artifact } from "../../runtime/agent/turn-api.ts";
import type { Message, MessageFile } from "../../runtime/model/prompt.ts";

/** A larger image is only named; most providers refuse it. */
const IMAGE_LIMIT_BYTES = 5 * 1_048_576;

/** Maximum files in one prompt. */
const PROMPT_LIMIT = 20;

/** Maximum bytes of all files in one prompt; a larger document or sound is only named. */
const PROMPT_LIMIT_BYTES = 12 * 1_048_576;

/** The files that models read: images, PDF documents and sounds. */
export function filesForModels(files: readonly Artifact[]): readonly MessageFile[] {
  return files.filter(isForModels).map(({ artifactId, name, mimeType, sizeBytes }) => {
    return { artifactId, name, mediaType: toMediaType(mimeType), sizeBytes };
  });
}

/** The images among files. */
export function imagesAmong(files: readonly Artifact[]): readonly MessageFile[] {
  return filesForModels(files).filter(({ mediaType }) => IMAGE.test(mediaType));
}

/** The messages with only the newest files, up to the limits of one prompt. */
export function withNewestFiles(messages: readonly Message[]): readonly Message[] {
  let left = PROMPT_LIMIT;
  let leftBytes = PROMPT_LIMIT_BYTES;
  const limited: Message[] = [];
  for (const message of messages.toReversed()) {
    if (message.role === "assistant" || message.files === undefined) {
      limited.unshift(message);
      continue;
    }
    const { files, ...named } = message;
    const shown = files.filter(({ sizeBytes }) => {
      if (left === 0 || sizeBytes > leftBytes) return false;
      left -= 1;
      leftBytes -= sizeBytes;
      return true;
    });
    limited.unshift(shown.length === 0 ? named : { ...named, files: shown });
  }
  return limited;
}

const IMAGE = /^image\/(png|jpeg|gif|webp)$/;
const DOCUMENT = /^application\/pdf$|^audio\/(mpeg|mp3|mp4|x-m4a|wav|x-wav|wave|ogg|flac|aac|webm)$/;

function isForModels({ mimeType, sizeBytes }: Artifact): boolean {
  const mediaType = toMediaType(mimeType);
  if (IMAGE.test(mediaType)) return sizeBytes <= IMAGE_LIMIT_BYTES;
  return DOCUMENT.test(mediaType) && sizeBytes <= PROMPT_LIMIT_BYTES;
}

/** A media type without its parameters. */
function toMediaType(mimeType: string): string {
  return (mimeType.split(";")[0] ?? "").trim().toLowerCase();
}
