import type { ContentItem } from "./messages.ts";

/** A file as a content item carries it: without a name. */
export interface ContentFile {
  readonly kind: "image" | "audio" | "embedded";
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** The most bytes of content in one message; peers refuse a message above 4 MiB. */
export const CONTENT_BYTES = 3_670_016;

/** The texts of a message, one line break between two of them. */
export function contentText(content: readonly ContentItem[]): string {
  return content
    .flatMap(({ data, text }) => (data === "text" && text !== undefined ? [text] : []))
    .join("\n");
}

/** The files of a message. */
export function contentFiles(content: readonly ContentItem[]): readonly ContentFile[] {
  return content.flatMap(({ data, image, audio, embedded }): ContentFile[] => {
    if (data === "image" && image) return [toFile("image", image)];
    if (data === "audio" && audio) return [toFile("audio", audio)];
    if (data === "embedded" && embedded) return [toFile("embedded", embedded)];
    return [];
  });
}

/** Reads a file into a content item. */
export async function readItem(mimeType: string, body: AsyncIterable<Uint8Array>): Promise<ContentItem> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (mimeType.startsWith("image/")) return { image: bytes };
  if (mimeType.startsWith("audio/")) return { audio: bytes };
  return { embedded: bytes };
}

/** The bytes of a file as the body that a store reads. */
export async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Distributes content over as few messages as possible, in order; at least one. A long text is split. */
export function toMessages(content: readonly ContentItem[]): readonly (readonly ContentItem[])[] {
  const messages: ContentItem[][] = [[]];
  let left = CONTENT_BYTES;
  for (const item of content.flatMap(split)) {
    const size = itemBytes(item);
    if (size > left && messages.at(-1)?.length !== 0) {
      messages.push([]);
      left = CONTENT_BYTES;
    }
    messages.at(-1)?.push(item);
    left -= size;
  }
  return messages;
}

function toFile(kind: ContentFile["kind"], bytes: Uint8Array): ContentFile {
  return { kind, mimeType: sniff(bytes) ?? DEFAULTS[kind], bytes };
}

/** The MIME type for the first bytes of a file, if they name one. */
function sniff(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  return SIGNATURES.find(([pattern]) => pattern.test(head))?.[1];
}

const SIGNATURES: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"],
  [/^RIFF[^]{4}WAVE/, "audio/wav"],
  [/^OggS/, "audio/ogg"],
  [/^fLaC/, "audio/flac"],
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, "audio/mpeg"],
  [/^%PDF-/, "application/pdf"],
];

/** The types for bytes that do not name their own; only the kind must survive a way there and back. */
const DEFAULTS = {
  image: "image/unknown",
  audio: "audio/unknown",
  embedded: "application/octet-stream",
} as const;

function split(item: ContentItem): readonly ContentItem[] {
  const { text } = item;
  if (text === undefined || text.length * 3 <= CONTENT_BYTES || itemBytes(item) <= CONTENT_BYTES)
    return [item];
  const parts: ContentItem[] = [];
  // A character has at most three bytes per unit of its length. A pair of units is not separated.
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + Math.floor(CONTENT_BYTES / 3), text.length);
    if (end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1] ?? "")) end -= 1;
    parts.push({ text: text.slice(at, end) });
    at = end;
  }
  return parts;
}

/** The number of bytes of an item. */
export function itemBytes({ text, image, audio, embedded }: ContentItem): number {
  if (text !== undefined) return new TextEncoder().encode(text).length;
  return (image ?? audio ?? embedded)?.length ?? 0;
}
