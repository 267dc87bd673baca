import type { ArtifactId } from "../../protocol/ids.ts";
import type { Runtime } from "../../runtime/api.ts";
import { wrongField } from "./wrong-field.ts";

/** A file inside a request. */
export interface InlineFile {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** Whether a text is a data URL. */
export function isDataUrl(text: string): boolean {
  return text.slice(0, 5).toLowerCase() === "data:";
}

/** Parses a data URL; `unprocessable` if it is none that can be read. */
export function parseDataUrl(text: string, field: string): Omit<InlineFile, "name"> {
  const comma = text.indexOf(",");
  if (comma === -1) throw wrongField(field, "is not a data URL: it has no comma");
  const [type = "", ...parameters] = text.slice(5, comma).split(";");
  const mimeType = toMediaType(type);
  const data = text.slice(comma + 1);
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === "base64");
  return { mimeType, bytes: isBase64 ? parseBase64(data, field) : parsePercent(data, field) };
}

/** The media type that a client gives to a file, in lower case; that of any bytes if it gives none that can be one. */
export function toMediaType(given: string | undefined): string {
  return given !== undefined && MEDIA_TYPE.test(given) ? given.toLowerCase() : "application/octet-stream";
}

/** Parses Base64 in either alphabet; `unprocessable` for any other text. */
export function parseBase64(text: string, field: string): Uint8Array {
  const data = text.replace(/\s+/g, "");
  if (!BASE64.test(data)) throw wrongField(field, "is not Base64");
  return new Uint8Array(Buffer.from(data, "base64"));
}

/** Refuses more files than a request can attach. */
export function checkFileCount(count: number, field: string): void {
  if (count > FILES_LIMIT) throw wrongField(field, `must have at most ${FILES_LIMIT} files`);
}

/** The most files that a request can attach. */
const FILES_LIMIT = 100;

/** Stores files for a request that attaches them. Returns their ids. */
export async function storeFiles(
  runtime: Pick<Runtime, "upload">,
  files: readonly InlineFile[],
  limitBytes: number,
): Promise<readonly ArtifactId[]> {
  const ids: ArtifactId[] = [];
  for (const { name, mimeType, bytes } of files) {
    const { artifactId } = await runtime.upload({ name, mimeType, limitBytes, body: chunkOf(bytes) });
    ids.push(artifactId);
  }
  return ids;
}

async function* chunkOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function parsePercent(text: string, field: string): Uint8Array {
  try {
    return new TextEncoder().encode(decodeURIComponent(text));
  } catch {
    throw wrongField(field, "is not a data URL: its escapes cannot be decoded");
  }
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
