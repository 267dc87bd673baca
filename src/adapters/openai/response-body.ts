import { readTools } from "../../http/messages/client-tools.ts";
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
import { readSaid, toEarlier } from "./content.ts";
import { findModel } from "./models.ts";
import { checkFormat, checkSupported, readParameters } from "./parameters.ts";
import { parseAnswerId } from "./place.ts";
import type { AnswerPlace } from "./place.ts";
import { unsupported } from "./refusal.ts";
import type { ModelRequest } from "./start-turn.ts";
import type { ItemAnswer } from "./tools.ts";

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
  const { tools, others: rest } = readTools(runtime, model.agent, others);
  const parameters = { ...rest, ...(instructions !== undefined && { instructions }) };
  const place =
    conversation === undefined
      ? { runId: before?.runId }
      : await findConversation(runtime, model.agent, conversation);
  const { newest, field, earlier, answers } = readItems(known.input);
  const told = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  return {
    request: {
      model,
      field,
      said: readSaid(answers.length === 0 ? newest["content"] : "", field),
      earlier: toEarlier([...told, ...earlier], "input"),
      metadata: { ...metadata, ...(Object.keys(parameters).length > 0 && { parameters }) },
      ...place,
      answers,
      tools,
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
  /** What the last items answer, if they are answers. */
  readonly answers: readonly ItemAnswer[];
}

function readItems(input: string | readonly unknown[]): Items {
  if (typeof input === "string")
    return { newest: { content: input }, field: "input", earlier: [], answers: [] };
  const items = input.map((item, index) => {
    if (isObject(item)) return item;
    throw wrongField(`input.${index}`, "must be an object");
  });
  const index = items.length - 1;
  const newest = items[index] ?? {};
  const first = items.findLastIndex((item) => !isAnswer(item)) + 1;
  const answers = items.slice(first).map((item, at) => readItemAnswer(item, `input.${first + at}`));
  const { type = "message", role } = newest;
  if (answers.length === 0 && (type !== "message" || role !== "user"))
    throw wrongField(
      `input.${index}`,
      "must be a message of the user or an answer: the newest item is the one to answer",
    );
  return { newest, field: `input.${index}.content`, earlier: items.slice(0, index), answers };
}

function isAnswer({ type }: Fields): boolean {
  return type === "mcp_approval_response" || type === "function_call_output";
}

/** What an item answers, by the id of the wait or of the item that asked. */
function readItemAnswer(item: Fields, path: string): ItemAnswer {
  if (item["type"] === "mcp_approval_response") {
    const { approve, reason, approval_request_id: asked } = item;
    if (typeof approve !== "boolean") throw wrongField(`${path}.approve`, "must be true or false");
    const { requestId, began: waitId } = readQuestionId(asked);
    const why = typeof reason === "string" ? { reason } : {};
    return { requestId, given: { type: "approval", waitId, approve, ...why } };
  }
  const { requestId, began: waitId } = readQuestionId(item["call_id"]);
  if (waitId === undefined) throw new AgentError("not_found", "the run has no question with this id");
  const { text } = readSaid(item["output"], `${path}.output`);
  return { requestId, given: { type: "result", waitId, result: text } };
}

function readQuestionId(id: unknown): Partial<Pick<AnswerPlace, "requestId" | "began">> {
  if (typeof id !== "string") return {};
  return /^\d{1,15}$/.test(id) ? { began: Number(id) } : (parseAnswerId(id) ?? {});
}
