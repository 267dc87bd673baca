import * as z from "zod";
import { isDataUrl, parseDataUrl } from "../../http/messages/inline-file.ts";
import type { InlineFile } from "../../http/messages/inline-file.ts";
import { unprocessable, wrongField } from "../../http/messages/wrong-field.ts";
import { optional } from "../../protocol/fields.ts";
import { isId } from "../../protocol/ids.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import { describeIssue, toIssues } from "../../protocol/schema/schema-issues.ts";
import type { UiPart } from "../../view/ui/tool-answers.ts";

/** A message as the page has it. */
export interface UiMessage {
  /** Empty for a client that gives its messages no ids. */
  readonly id: string;
  readonly role: string;
  readonly parts: readonly UiPart[];
  readonly metadata?: unknown;
}

/** What a page sends: all of its messages, of which the last one is new. */
export interface UiRequest {
  readonly chatId: string;
  readonly messages: readonly UiMessage[];
  readonly last: UiMessage;
  readonly trigger: "submit-message" | "regenerate-message";
  readonly messageId?: string | undefined;
  /** The tools that the page runs, as the native protocol describes them, which also checks them. */
  readonly tools?: readonly ClientTool[] | undefined;
  /** The other fields of the body, which the page adds itself. */
  readonly metadata: JsonObject;
}

/** Parses the body of a request. Throws `unprocessable`, which names every wrong field. */
export function parseUiRequest(body: unknown): UiRequest {
  const parsed = requestSchema.safeParse(body, { error: describeIssue });
  if (!parsed.success) throw unprocessable(toIssues(parsed.error));
  const {
    id: chatId,
    messages: given,
    trigger = "submit-message",
    messageId,
    tools,
    ...metadata
  } = parsed.data;
  const messages = given.map((message): UiMessage => ({ ...message, id: message.id ?? "" }));
  const last = messages.at(-1);
  if (last === undefined) throw wrongField("messages", "must have a message");
  return {
    chatId,
    messages,
    last,
    trigger,
    messageId: messageId ?? undefined,
    tools: tools as readonly ClientTool[] | undefined,
    metadata: metadata as JsonObject,
  };
}

const NAME_LIMIT = 512;

const requestSchema = z.looseObject({
  id: z.string().min(1).max(NAME_LIMIT),
  messages: z.array(
    z.looseObject({
      id: optional(z.string().max(NAME_LIMIT)),
      role: z.enum(["system", "user", "assistant"]),
      parts: z.array(z.looseObject({ type: z.string() })),
    }),
  ),
  trigger: optional(z.enum(["submit-message", "regenerate-message"])),
  messageId: z.string().max(NAME_LIMIT).nullish(),
  tools: optional(z.array(z.unknown())),
});

/** What a message of the user says to an agent. */
export interface UserMessage {
  readonly text: string;
  /** Files inside the message. */
  readonly files: readonly InlineFile[];
  /** Ids of files that this server has. */
  readonly attachments: readonly ArtifactId[];
  /** Files elsewhere and parts of other types, which nothing here opens. */
  readonly rest: readonly JsonObject[];
}

/** Reads a message of the user; `artifacts` is the address below which this server has its files. */
export function readUserMessage({ parts }: UiMessage, artifacts: string): UserMessage {
  const texts: string[] = [];
  const files: InlineFile[] = [];
  const attachments: ArtifactId[] = [];
  const rest: JsonObject[] = [];
  for (const [index, part] of parts.entries()) {
    const { type, text, url, filename } = part;
    if (type === "text") {
      if (typeof text !== "string") throw wrongField(`parts.${index}.text`, "must be a string");
      texts.push(text);
    } else if (type === "file" && typeof url === "string" && isDataUrl(url)) {
      const name = typeof filename === "string" && filename !== "" ? filename : `file-${index + 1}`;
      files.push({ name, ...parseDataUrl(url, `parts.${index}.url`) });
    } else if (type === "file" && typeof url === "string" && url.startsWith(artifacts)) {
      const id = url.slice(artifacts.length);
      if (!isId(id)) throw wrongField(`parts.${index}.url`, "is no address of a file of this server");
      attachments.push(id);
    } else if (type === "file" && typeof url !== "string") {
      throw wrongField(`parts.${index}.url`, "must be a string");
    } else rest.push(part as JsonObject);
  }
  return { text: texts.join("\n"), files, attachments, rest };
}
