import { isId } from "../../protocol/ids.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { UiPart } from "../../view/ui/tool-answers.ts";
import type { Client } from "../client-api.ts";

/** What a message of the user says to an agent. */
export interface UserParts {
  readonly text: string;
  readonly attachments: readonly ArtifactId[];
  /** Files elsewhere and parts of other types, which nothing here opens. */
  readonly rest: readonly Json[];
}

/** Reads a message of the user, and uploads the files inside it. */
export async function toUserParts(client: Client, parts: readonly UiPart[]): Promise<UserParts> {
  const texts: string[] = [];
  const attachments: ArtifactId[] = [];
  const rest: Json[] = [];
  const own = `${client.url}/artifacts/`;
  for (const part of parts) {
    const { type, text, url, filename, mediaType } = part;
    if (type === "text" && typeof text === "string") texts.push(text);
    else if (type !== "file" || typeof url !== "string") rest.push(part as Json);
    else if (/^data:/i.test(url)) {
      const blob = await (await fetch(url)).blob();
      const name =
        typeof filename === "string" && filename !== "" ? filename : `file-${attachments.length + 1}`;
      const mimeType = typeof mediaType === "string" ? mediaType : blob.type;
      const { artifactId } = await client.upload({ name, mimeType, data: blob });
      attachments.push(artifactId);
    } else if (url.startsWith(own) && isId(url.slice(own.length))) attachments.push(url.slice(own.length));
    else rest.push(part as Json);
  }
  return { text: texts.join("\n"), attachments, rest };
}
