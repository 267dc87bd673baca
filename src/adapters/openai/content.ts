import { isDataUrl, parseBase64, parseDataUrl } from "../../http/messages/inline-file.ts";
import type { InlineFile } from "../../http/messages/inline-file.ts";
import type { EarlierMessage } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import { isId } from "../../protocol/ids.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";

/** What a message says to an agent. */
export interface Said {
  readonly text: string;
  /** Files inside the request. */
  readonly files: readonly InlineFile[];
  /** Ids of files that were uploaded before. */
  readonly attachments: readonly ArtifactId[];
  /** Files elsewhere, which nothing here opens. */
  readonly rest: readonly JsonObject[];
}

/** Reads the content of a message: a text, or parts in the words of either API. */
export function readSaid(content: unknown, path: string): Said {
  if (typeof content === "string") return { text: content, files: [], attachments: [], rest: [] };
  if (content === undefined || content === null) return { text: "", files: [], attachments: [], rest: [] };
  if (!Array.isArray(content)) throw wrongField(path, "must be a string or an array of parts");
  const parts = content.map((part: unknown, index) => readPart(part, `${path}.${index}`));
  return {
    text: parts.flatMap(({ text }) => text ?? []).join("\n"),
    files: parts.flatMap(({ file }) => file ?? []),
    attachments: parts.flatMap(({ attachment }) => attachment ?? []),
    rest: parts.flatMap(({ rest }) => (rest === undefined ? [] : [rest])),
  };
}

/** The messages before the newest one, as texts. Their files are not read: they were sent when they were said. */
export function toEarlier(messages: readonly Fields[], path: string): readonly EarlierMessage[] {
  return messages.flatMap(({ role, content }, index) => {
    const own = ROLES.get(role);
    if (own === undefined) return [];
    const text = textOf(content, `${path}.${index}.content`);
    return text === "" ? [] : [{ role: own, content: text }];
  });
}

/** The roles of those who speak; what tools have said is not told again. */
const ROLES: ReadonlyMap<unknown, EarlierMessage["role"]> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["developer", "system"],
]);

/** The texts of a content alone. */
function textOf(content: unknown, path: string): string {
  if (!Array.isArray(content)) return readSaid(content, path).text;
  const texts = content.filter((part: unknown) => isObject(part) && TEXTS.has(part["type"]));
  return readSaid(texts, path).text;
}

/** One of the things that a part can be. */
interface Part {
  readonly text?: string;
  readonly file?: InlineFile;
  readonly attachment?: ArtifactId;
  readonly rest?: JsonObject;
}

const TEXTS: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text", "refusal"]);

/** The parts of Chat Completions have their fields one object deeper than those of Responses. */
function readPart(part: unknown, path: string): Part {
  if (!isObject(part)) throw wrongField(path, "must be an object");
  switch (part["type"]) {
    case "text":
    case "input_text":
    case "output_text":
      return { text: readText(part, "text", path) };
    case "refusal":
      return { text: readText(part, "refusal", path) };
    case "image_url": {
      const { image_url: image } = part;
      const url: unknown = isObject(image) ? image["url"] : image;
      return toUrlPart(part, `${path}.image_url.url`, url, "image");
    }
    case "input_image":
      return toFilePart(part, { ...part, file_url: part["image_url"] }, path, "image");
    case "input_audio": {
      const { data, format } = isObject(part["input_audio"]) ? part["input_audio"] : {};
      if (typeof data !== "string") throw wrongField(`${path}.input_audio.data`, "must be a string");
      const kind = typeof format === "string" && /^\w{1,16}$/.test(format) ? format : "wav";
      const bytes = parseBase64(data, `${path}.input_audio.data`);
      return { file: { name: `audio.${kind}`, mimeType: `audio/${kind}`, bytes } };
    }
    case "file":
    case "input_file":
      return toFilePart(part, isObject(part["file"]) ? part["file"] : part, path, "file");
    default:
      throw wrongField(`${path}.type`, "must be a text, an image, an audio or a file");
  }
}

function readText(part: Fields, name: string, path: string): string {
  const text = part[name];
  if (typeof text === "string") return text;
  throw wrongField(`${path}.${name}`, "must be a string");
}

function toFilePart(
  part: Fields,
  { file_id: id, file_data: data, file_url: url, filename }: Fields,
  path: string,
  kind: string,
): Part {
  const name = typeof filename === "string" && filename !== "" ? filename : undefined;
  if (typeof id === "string") {
    if (isId(id)) return { attachment: id };
    throw wrongField(`${path}.file_id`, "must be the id of an uploaded file");
  }
  if (typeof data !== "string") return toUrlPart(part, `${path}.file_url`, url, kind, name);
  if (isDataUrl(data)) return toUrlPart(part, `${path}.file_data`, data, kind, name);
  const bytes = parseBase64(data, `${path}.file_data`);
  return { file: { name: name ?? kind, mimeType: "application/octet-stream", bytes } };
}

/** A file by its address: one inside the request is stored, any other address is handed to the agent. */
function toUrlPart(part: Fields, path: string, url: unknown, kind: string, name?: string): Part {
  if (typeof url !== "string") throw wrongField(path, "must be a string");
  if (!isDataUrl(url)) return { rest: part as JsonObject };
  const { mimeType, bytes } = parseDataUrl(url, path);
  const [, subtype] = /^[^/]+\/(\w+)/.exec(mimeType) ?? [];
  return { file: { name: name ?? (subtype === undefined ? kind : `${kind}.${subtype}`), mimeType, bytes } };
}
