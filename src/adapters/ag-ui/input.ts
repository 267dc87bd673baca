import * as z from "zod";
import { isDataUrl, parseBase64, parseDataUrl, toMediaType } from "../../http/messages/inline-file.ts";
import type { InlineFile } from "../../http/messages/inline-file.ts";
import type { EarlierMessage } from "../../http/messages/native-request.ts";
import { unprocessable, wrongField } from "../../http/messages/wrong-field.ts";
import { jsonObject, optional } from "../../protocol/fields.ts";
import { isId } from "../../protocol/ids.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import { describeIssue, toIssues } from "../../protocol/schema/schema-issues.ts";

/** A message of a thread as its client has it. */
export interface MessageInInput {
  readonly id?: unknown;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCallId?: string | undefined;
  readonly error?: string | null | undefined;
}

/** The answer to an interrupt. */
export interface ResumeEntry {
  readonly interruptId: string;
  readonly status: "resolved" | "cancelled";
  readonly payload?: unknown;
}

/** What a client sends: all messages of the thread, of which only those behind the newest known one are new. */
export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly MessageInInput[];
  /** The index of the first new message in a thread that exists. */
  readonly known: number;
  readonly tools: readonly ClientTool[];
  readonly resume: readonly ResumeEntry[];
  /** What reaches the agent as `request_metadata`. */
  readonly metadata: JsonObject;
}

/** Parses the body of a request. Throws `unprocessable`, which names every wrong field. */
export function parseRunInput(body: unknown): RunInput {
  const parsed = inputSchema.safeParse(body, { error: describeIssue });
  if (!parsed.success) throw unprocessable(toIssues(parsed.error));
  const { threadId, runId, messages, tools, resume, parentRunId, ...others } = parsed.data;
  const { state, context, forwardedProps } = others;
  const given = Object.entries({ state, context, forwardedProps, parentRunId });
  return {
    threadId,
    runId,
    messages,
    known: messages.findLastIndex(({ role }) => OURS.has(role)) + 1,
    tools: (tools ?? []).map(({ name, description, parameters }): ClientTool => ({
      name,
      ...(description !== undefined && { description }),
      ...(parameters && { input_schema: parameters }),
    })),
    resume: resume ?? [],
    metadata: Object.fromEntries(given.filter(([, value]) => !isEmpty(value))) as JsonObject,
  };
}

/** The roles of messages that agents have made. */
const OURS: ReadonlySet<string> = new Set(["assistant", "reasoning", "activity"]);

const name = z.string().min(1).max(512);

const messageSchema = z.looseObject({
  role: z.enum(["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]),
  content: z.unknown().optional(),
  toolCallId: optional(z.string()),
  error: z.string().nullish(),
});

const resumeSchema = z.looseObject({
  interruptId: z.string(),
  status: z.enum(["resolved", "cancelled"]),
  payload: z.unknown().optional(),
});

const inputSchema = z.looseObject({
  threadId: name,
  runId: name,
  parentRunId: name.nullish(),
  state: z.unknown().optional(),
  messages: z.array(messageSchema),
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        description: optional(z.string()),
        parameters: jsonObject.nullish(),
      }),
    )
    .nullish(),
  context: z.array(z.looseObject({ description: z.string(), value: z.string() })).nullish(),
  forwardedProps: z.unknown().optional(),
  resume: z.array(resumeSchema).max(100).nullish(),
});

/** What messages of a user say to an agent. */
export interface UserTurn {
  readonly text: string;
  /** Files inside the messages. */
  readonly files: readonly InlineFile[];
  /** Ids of files that this server has. */
  readonly attachments: readonly ArtifactId[];
  /** Files elsewhere, which nothing here opens. */
  readonly rest: readonly JsonObject[];
}

/** Reads messages of the user; `artifacts` is the address below which this server has its files. */
export function readUserTurn(
  { messages }: RunInput,
  indexes: readonly number[],
  artifacts: string,
): UserTurn {
  const read = indexes.map((index) =>
    readContent(messages[index]?.content, { path: `messages.${index}.content`, artifacts }),
  );
  return {
    text: read.map(({ text }) => text).join("\n\n"),
    files: read.flatMap(({ files }) => files),
    attachments: read.flatMap(({ attachments }) => attachments),
    rest: read.flatMap(({ rest }) => rest),
  };
}

/** The texts of messages, as `request_metadata.messages` has them. */
export function toSaidBefore(messages: readonly MessageInInput[]): readonly EarlierMessage[] {
  return messages.flatMap(({ role, content }) => {
    const own = SPEAKERS.get(role);
    const text = textIn(content);
    return own === undefined || text === "" ? [] : [{ role: own, content: text }];
  });
}

const SPEAKERS: ReadonlyMap<string, EarlierMessage["role"]> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["developer", "system"],
]);

/** The texts of a content alone. */
export function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.filter((part: unknown) => isObject(part) && part["type"] === "text");
  return texts
    .flatMap(({ text }: { readonly text?: unknown }) => (typeof text === "string" ? [text] : []))
    .join("\n");
}

function readContent(
  content: unknown,
  { path, artifacts }: { readonly path: string; readonly artifacts: string },
): UserTurn {
  if (typeof content === "string") return { text: content, files: [], attachments: [], rest: [] };
  if (!Array.isArray(content)) throw wrongField(path, "must be a string or an array of parts");
  const texts: string[] = [];
  const files: InlineFile[] = [];
  const attachments: ArtifactId[] = [];
  const rest: JsonObject[] = [];
  for (const [index, part] of content.entries()) {
    const place = `${path}.${index}`;
    if (!isObject(part)) throw wrongField(place, "must be an object");
    if (part["type"] === "text") {
      if (typeof part["text"] !== "string") throw wrongField(`${place}.text`, "must be a string");
      texts.push(part["text"]);
      continue;
    }
    const { type, value, mimeType } = isObject(part["source"]) ? part["source"] : {};
    if (typeof value !== "string") throw wrongField(`${place}.source.value`, "must be a string");
    if (type === "data") {
      const given = typeof mimeType === "string" ? mimeType : undefined;
      const bytes = parseBase64(value, `${place}.source.value`);
      files.push({ name: nameOf(part, index), mimeType: toMediaType(given), bytes });
    } else if (type === "url" && isDataUrl(value)) {
      files.push({ name: nameOf(part, index), ...parseDataUrl(value, `${place}.source.value`) });
    } else if (type === "url" && value.startsWith(artifacts)) {
      const id = value.slice(artifacts.length);
      if (!isId(id)) throw wrongField(`${place}.source.value`, "is no address of a file of this server");
      attachments.push(id);
    } else rest.push(part as JsonObject);
  }
  return { text: texts.join("\n"), files, attachments, rest };
}

function nameOf(
  { type, metadata }: { readonly type?: unknown; readonly metadata?: unknown },
  index: number,
): string {
  const given = isObject(metadata) ? (metadata["filename"] ?? metadata["name"]) : undefined;
  if (typeof given === "string" && given !== "") return given;
  return `${typeof type === "string" && /^[a-z]{1,20}$/.test(type) ? type : "file"}-${index + 1}`;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
