import * as z from "zod";
import { clientId, jsonObject, optional } from "../../../protocol/fields.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Fields, JsonObject } from "../../../protocol/json.ts";
import { describeIssue, toIssues } from "../../../protocol/schema/schema-issues.ts";
import { toMessageType } from "../dialect/names.ts";
import { inputContent, readContent } from "./content.ts";
import type { InputContent } from "./content.ts";
import { readFields, readItems } from "./spelling.ts";
import type { SpelledFields } from "./spelling.ts";
import { wrongField, unprocessable } from "../../../http/messages/wrong-field.ts";

const INPUT_ROLES = ["user", "assistant", "system", "tool"] as const;

/** A message of a request. */
export interface InputMessage {
  /** In lower case; any text. */
  readonly type: string;
  readonly role: (typeof INPUT_ROLES)[number];
  readonly content: readonly InputContent[];
  readonly metadata?: JsonObject;
}

/** The session of a request, and whose it is. */
export interface SessionName {
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
}

/** A parsed request. */
export interface ProcessRequest extends SessionName {
  readonly input: readonly InputMessage[];
  readonly stream: boolean;
  /** The id that the client chose for the response. */
  readonly id?: string;
  /** Whether the client wants the rest of the newest response and starts nothing. */
  readonly reconnect: boolean;
  /** With `reconnect`: the last sequence number that the client has. */
  readonly after?: number;
  /** Generation parameters, tools and the keys that the protocol does not have. */
  readonly metadata: JsonObject;
}

/** Parses the body of a request in either spelling. Throws `unprocessable`, which names every wrong field. */
export function parseProcessRequest(body: unknown): ProcessRequest {
  const { known, others } = readBody(body, [...Object.keys(OWN), "response_id", ...Object.keys(PARAMETERS)]);
  const { response_id: otherId, ...fields } = known;
  const parsed = requestSchema.safeParse(
    { ...(otherId !== undefined && { id: otherId }), ...fields, ...inputOf(fields) },
    { error: describeIssue },
  );
  if (!parsed.success) throw unprocessable(toIssues(parsed.error));
  const { id, input, stream = true, reconnect = false, after, session_id, user_id } = parsed.data;
  if (input === undefined && !reconnect) throw wrongField("input", "is required");
  const parameters = Object.entries(fields).filter(([name]) => Object.hasOwn(PARAMETERS, name));
  return {
    input: input ?? [],
    stream,
    reconnect,
    ...(id !== undefined && { id }),
    ...(after !== undefined && { after }),
    ...toSessionName(session_id, user_id),
    metadata: { ...others, ...Object.fromEntries(parameters) } as JsonObject,
  };
}

/** Parses a body of which only the session counts. */
export function parseSessionName(body: unknown): SessionName {
  const { known } = readBody(body, Object.keys(NAME));
  const parsed = sessionSchema.safeParse(known, { error: describeIssue });
  if (!parsed.success) throw unprocessable(toIssues(parsed.error));
  return toSessionName(parsed.data.session_id, parsed.data.user_id);
}

const NAME = { session_id: optional(z.string()), user_id: optional(z.string()) };

const OWN = {
  ...NAME,
  id: optional(clientId),
  stream: optional(z.boolean()),
  reconnect: optional(z.boolean()),
  after: optional(z.int().min(-1)),
  input: optional(
    z.array(
      z.object({
        type: z.string(),
        role: z.enum(INPUT_ROLES),
        content: z.array(inputContent),
        metadata: optional(jsonObject),
      }),
    ),
  ),
};

const PARAMETERS = {
  model: optional(z.string()),
  top_p: optional(z.number()),
  temperature: optional(z.number()),
  frequency_penalty: optional(z.number()),
  presence_penalty: optional(z.number()),
  max_tokens: optional(z.int()),
  stop: optional(
    z.union([z.string(), z.array(z.string())], { error: "must be a string or a list of strings" }),
  ),
  n: optional(z.int().min(1).max(5)),
  seed: optional(z.int()),
  tools: optional(z.array(jsonObject)),
};

const requestSchema = z.object({ ...OWN, ...PARAMETERS });

const sessionSchema = z.object(NAME);

function readBody(body: unknown, names: readonly string[]): SpelledFields {
  if (isObject(body)) return readFields(body, names);
  throw wrongField("", "must be a JSON object");
}

function inputOf({ input }: Fields): Fields {
  return input === undefined ? {} : { input: readItems(input, readMessage) };
}

/** The fields of a message with their defaults; keys that the protocol does not have are dropped. */
function readMessage(item: Fields): Fields {
  const { known } = readFields(item, ["type", "role", "content", "metadata"]);
  const { type = "message", role = "user", content = [], ...rest } = known;
  return {
    ...rest,
    type: typeof type === "string" ? toMessageType(type) : type,
    role,
    content: readItems(content, readContent),
  };
}

/** An empty name counts as absent. */
function toSessionName(sessionId: string | undefined, userId: string | undefined): SessionName {
  return { ...(sessionId && { sessionId }), ...(userId && { userId }) };
}
