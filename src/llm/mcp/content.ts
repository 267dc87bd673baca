import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { ArtifactOptions } from "../../runtime/agent/turn-api.ts";
import { ResultWithFiles } from "../../runtime/actor/answer.ts";

/** More files of one result are only counted. */
const FILES_LIMIT = 20;

/**
 * The result of a tool: its structured content or its text, and its images, sounds and binary resources as files. Throws if
 * the server says that the tool has failed.
 */
export function toResult(
  name: string,
  { content, structuredContent, isError }: CallToolResult,
): ResultWithFiles {
  const files = content.flatMap((part, index) => toFile(part, `${name}-${index + 1}`) ?? []);
  const text = content.flatMap((part) => toText(part) ?? []).join("\n");
  if (isError === true) throw new Error(text === "" ? `${name} failed` : text);
  const left = files.length - FILES_LIMIT;
  const note = left > 0 ? `${text}\n[${left} more files are left out]`.trim() : text;
  return new ResultWithFiles(structuredContent ?? note, files.slice(0, FILES_LIMIT));
}

/** The text of a part for the model; absent for a file, which the result names by itself. */
function toText(part: ContentBlock): string | undefined {
  switch (part.type) {
    case "text":
      return part.text;
    case "resource_link":
      return `${part.title ?? part.name} ${part.uri}`;
    case "resource":
      return "text" in part.resource ? part.resource.text : undefined;
    case "image":
    case "audio":
      return undefined;
    default: {
      const never: never = part;
      return never;
    }
  }
}

function toFile(part: ContentBlock, name: string): ArtifactOptions | undefined {
  if (part.type === "image" || part.type === "audio") {
    const { mimeType, data } = part;
    const [, ending = "bin"] = /^[a-z]+\/(?:x-)?([a-z0-9]{1,8})/i.exec(mimeType) ?? [];
    return { name: `${name}.${ending}`, mimeType, data: toBytes(data) };
  }
  if (part.type !== "resource" || !("blob" in part.resource)) return undefined;
  const { uri, mimeType = "application/octet-stream", blob } = part.resource;
  const last = uri.split(/[/\\]/).findLast((step) => step !== "");
  return { name: last?.slice(0, NAME_LENGTH) ?? name, mimeType, data: toBytes(blob) };
}

const NAME_LENGTH = 200;

function toBytes(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.codePointAt(0) ?? 0);
}
