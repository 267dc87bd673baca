import * as z from "zod";
import { AgentError, toAgentError } from "../../errors.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Host } from "../../http/routes/host.ts";
import { jsonObject } from "../../protocol/fields.ts";
import { isId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields } from "../../protocol/json.ts";
import type { Runtime } from "../../runtime/api.ts";
import { conversationKey } from "../../view/conversation-key.ts";
import type { GivenAnswer } from "../../view/wait-answers.ts";
import { readSaid, toEarlier } from "./content.ts";
import { findModel } from "./models.ts";
import { checkFormat, checkSupported, readParameters } from "./parameters.ts";
import { parseAnswerId } from "./place.ts";
import type { AnswerPlace } from "./place.ts";
import { unsupported } from "./refusal.ts";
import type { ModelRequest } from "./start-turn.ts";

/** What the body that creates a response says. */
export interface ResponseBody {
  readonly request: ModelRequest;
  readonly stream: boolean;
  readonly background: boolean;
}

/** Reads a body. `find` finds the response that it follows. */
export async function readResponseBody(
  { runtime }: Host,
  body: unknown,
  find: (id: string) => Promise<AnswerPlace>,
): Promise<ResponseBody> {
  const { known, others } = readParameters(body, FIELDS);
  const { stream = false, background = false, metadata = {}, instructions, text } = known;
  const { previous_response_id: previous, conversation } = known;
  if (known.store === false) throw unsupported("store", "the log has every response");
  if (previous !== undefined && conversation !== undefined)
    throw wrongField("previous_response_id", "must not be given together with conversation");
  checkSupported(others);
  const before = previous === undefined ? undefined : await find(previous);
  const name = known.model ?? before?.agent;
  if (name === undefined) throw wrongField("model", "is required");
  const model = findModel(runtime, name);
  checkFormat(runtime, model, { format: text?.format, parameter: "text.format" });
  const parameters = { ...others, ...(instructions !== undefined && { instructions }) };
  const place =
    conversation === undefined
      ? { runId: before?.runId }
      : await findConversation(runtime, model.agent, conversation);
  const { newest, field, earlier } = readItems(known.input);
  const answer = readItemAnswer(newest, field);
  const told = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  return {
    request: {
      model,
      field,
      said: answer === undefined ? readSaid(newest["content"], field) : readSaid("", field),
      earlier: toEarlier([...told, ...earlier], "input"),
      metadata: { ...metadata, ...(Object.keys(parameters).length > 0 && { parameters }) },
      ...place,
      answer,
    },
    stream,
    background,
  };
}

const FIELDS = {
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.unknown()).min(1)], { error: "must be a string or a list of items" }),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  conversation: z
    .union([z.string().min(1), z.object({ id: z.string().min(1) })], { error: "must be an id" })
    .optional(),
  stream: z.boolean().optional(),
  background: z.boolean().optional(),
  store: z.boolean().optional(),
  metadata: jsonObject.optional(),
  text: z.object({ format: z.unknown() }).optional(),
};

/** The run of a conversation: the one with this id, else the one that has its name as key. */
async function findConversation(
  runtime: Runtime,
  agent: string,
  given: string | { readonly id: string },
): Promise<Pick<ModelRequest, "runId" | "key">> {
  const name = typeof given === "string" ? given : given.id;
  if (isId(name) && (await isRun(runtime, name))) return { runId: name };
  return { key: await conversationKey("openai", agent, name) };
}

async function isRun(runtime: Runtime, id: string): Promise<boolean> {
  try {
    await runtime.run(id);
    return true;
  } catch (thrown) {
    if (toAgentError(thrown).code === "not_found") return false;
    throw thrown;
  }
}

interface Items {
  /** The newest item, which is the one to answer. */
  readonly newest: Fields;
  readonly field: string;
  readonly earlier: readonly Fields[];
}

function readItems(input: string | readonly unknown[]): Items {
  if (typeof input === "string") return { newest: { content: input }, field: "input", earlier: [] };
  const items = input.map((item, index) => {
    if (isObject(item)) return item;
    throw wrongField(`input.${index}`, "must be an object");
  });
  const index = items.length - 1;
  const newest = items[index] ?? {};
  const { type = "message", role } = newest;
  const isAnswer = type === "mcp_approval_response" || type === "function_call_output";
  if (!isAnswer && (type !== "message" || role !== "user"))
    throw wrongField(
      `input.${index}`,
      "must be a message of the user or an answer: the newest item is the one to answer",
    );
  return {
    newest,
    field: isAnswer ? `input.${index}` : `input.${index}.content`,
    earlier: items.slice(0, index),
  };
}

/** The answer that an item is, if it names a question. */
function readItemAnswer(item: Fields, path: string): GivenAnswer | undefined {
  if (item["type"] === "mcp_approval_response") {
    const { approve, reason } = item;
    if (typeof approve !== "boolean") throw wrongField(`${path}.approve`, "must be true or false");
    const waitId = readWaitId(item["approval_request_id"]);
    return { type: "approval", waitId, approve, ...(typeof reason === "string" && { reason }) };
  }
  if (item["type"] !== "function_call_output") return undefined;
  const waitId = readWaitId(item["call_id"]);
  if (waitId === undefined) throw new AgentError("not_found", "the run has no question with this id");
  return { type: "text", waitId, text: readSaid(item["output"], `${path}.output`).text };
}

/** The wait that an item names: by its id, or by that of the item that asked. */
function readWaitId(id: unknown): number | undefined {
  if (typeof id !== "string") return undefined;
  return /^\d{1,15}$/.test(id) ? Number(id) : parseAnswerId(id)?.began;
}
