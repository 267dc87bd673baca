import { isId } from "../../../protocol/ids.ts";
import type { ArtifactId } from "../../../protocol/ids.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { InputMessage } from "./body.ts";
import type { InputContent } from "./content.ts";
import { isDataUrl, parseBase64, parseDataUrl } from "../../../http/messages/inline-file.ts";
import type { InlineFile } from "../../../http/messages/inline-file.ts";
import type { EarlierMessage } from "../../../http/messages/native-request.ts";
import { wrongField } from "../../../http/messages/wrong-field.ts";

/** What the messages of a request say to an agent. */
export interface UserInput {
  readonly text: string;
  /** Files inside the request. */
  readonly files: readonly InlineFile[];
  /** Ids of files that were uploaded before. */
  readonly attachments: readonly ArtifactId[];
  /** Data, and addresses elsewhere, which nothing here opens. */
  readonly rest: readonly JsonObject[];
}

/** The messages after the last one of the assistant: what the client says now. */
export function newMessages(input: readonly InputMessage[]): readonly InputMessage[] {
  return input.slice(input.findLastIndex(({ role }) => role === "assistant") + 1);
}

/** What was said before the new messages, and what the client tells the agent as its system. */
export function earlierMessages(input: readonly InputMessage[]): readonly EarlierMessage[] {
  const earlier = input.length - newMessages(input).length;
  return input.flatMap(({ type, role, content }, index) => {
    if (type !== "message" || role === "tool" || (index >= earlier && role !== "system")) return [];
    // Files of earlier messages are not read: they were sent when they were said.
    const text = content.flatMap((part) => (part.type === "text" && part.text ? [part.text] : []));
    return text.length === 0 ? [] : [{ role, content: text.join("\n") }];
  });
}

/** Reads the user's messages among the new ones. */
export function readUserInput(input: readonly InputMessage[]): UserInput {
  const said = newMessages(input).filter(({ role }) => role === "user");
  const parts = said.flatMap(({ content }) => content).map(toPart);
  return {
    text: parts.flatMap(({ text }) => text ?? []).join("\n"),
    files: parts.flatMap(({ file }) => file ?? []),
    attachments: parts.flatMap(({ attachment }) => attachment ?? []),
    rest: parts.flatMap(({ rest }) => (rest === undefined ? [] : [rest])),
  };
}

/** One of the things that a content can be. */
interface Part {
  readonly text?: string;
  readonly file?: InlineFile;
  readonly attachment?: ArtifactId;
  readonly rest?: JsonObject;
}

function toPart(content: InputContent): Part {
  switch (content.type) {
    case "text":
      return content.text === undefined ? {} : { text: content.text };
    case "refusal":
      return content.refusal === undefined ? {} : { text: content.refusal };
    case "image":
      return toUrlPart(content, "image_url", content.image_url);
    case "video":
      return toUrlPart(content, "video_url", content.video_url);
    case "audio":
      return toAudioPart(content);
    case "file":
      return toFilePart(content);
    case "data":
      return { rest: content };
    default: {
      const never: never = content;
      return never;
    }
  }
}

function toUrlPart(content: InputContent, field: string, url: string | undefined, name?: string): Part {
  if (url === undefined || !isDataUrl(url)) return { rest: content };
  const { mimeType, bytes } = parseDataUrl(url, field);
  return { file: { name: name ?? nameOf(content.type, mimeType), mimeType, bytes } };
}

function toAudioPart(content: Extract<InputContent, { readonly type: "audio" }>): Part {
  const { data, format = "wav" } = content;
  if (data === undefined || isDataUrl(data) || /^https?:/i.test(data))
    return toUrlPart(content, "data", data);
  const mimeType = /^\w[\w.+-]{0,63}$/.test(format) ? `audio/${format.toLowerCase()}` : "audio/wav";
  return { file: { name: nameOf("audio", mimeType), mimeType, bytes: parseBase64(data, "data") } };
}

function toFilePart(content: Extract<InputContent, { readonly type: "file" }>): Part {
  const { file_id: id, file_data: data, file_url: url, filename: name } = content;
  if (id !== undefined) {
    if (isId(id)) return { attachment: id };
    throw wrongField("file_id", "must be the id of an uploaded file");
  }
  if (data === undefined) return toUrlPart(content, "file_url", url, name);
  if (isDataUrl(data)) return toUrlPart(content, "file_data", data, name);
  const bytes = parseBase64(data, "file_data");
  return { file: { name: name ?? "file", mimeType: "application/octet-stream", bytes } };
}

function nameOf(type: string, mimeType: string): string {
  const [, subtype = ""] = /^[^/]+\/(\w+)/.exec(mimeType) ?? [];
  return subtype === "" ? type : `${type}.${subtype}`;
}
