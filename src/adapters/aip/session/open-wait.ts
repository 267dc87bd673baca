import { AgentError } from "../../../errors.ts";
import type { Event, Questions } from "../../../protocol/events/events.ts";
import type { RequestId } from "../../../protocol/ids.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type { Runtime } from "../../../runtime/api.ts";

/** A question that a request waits for. */
export interface OpenWait {
  readonly requestId: RequestId;
  readonly waitId: number;
  readonly questions: Questions;
  readonly schema?: JsonObject;
}

/** The oldest open wait of a request; `undefined` if it does not wait. */
export async function findOpenWait(runtime: Runtime, requestId: RequestId): Promise<OpenWait | undefined> {
  const status = await runtime.status(requestId);
  const { status: phase, wait_id: waitId, request_keys: questions, run_id: runId, agent } = status;
  if (phase !== "waiting" || waitId === undefined || questions === undefined) return undefined;
  const page = await runtime.read({ kind: "run", runId, agent }, { after: waitId - 1, limit: 1 });
  const event = page.events[0] === undefined ? undefined : (JSON.parse(page.events[0]) as Event);
  const schema = event?.type === "WaitForInput" ? event.schema : undefined;
  return { requestId, waitId, questions, ...(schema && { schema }) };
}

/** The text that asks a person for an answer. */
export function toPrompt({ questions }: OpenWait): string {
  const entries = Object.entries(questions);
  const [only] = entries;
  if (entries.length === 1 && only) return only[1] === "" ? only[0] : only[1];
  const lines = entries.map(([key, question]) => `${key}: ${question}`);
  return [...lines, "(answer with a JSON object of these keys)"].join("\n");
}

/** The values that a text gives to a wait: a JSON object with its keys, or the value of its only key. */
export function toAnswer({ questions, schema }: OpenWait, text: string): JsonObject {
  const keys = Object.keys(questions);
  const value = parse(text);
  if (isObject(value) && keys.some((key) => Object.hasOwn(value, key))) return value as JsonObject;
  const [only] = keys;
  if (keys.length === 1 && only !== undefined) return { [only]: toValue(text, typeOf(schema, only)) };
  throw new AgentError("unprocessable", `the question has the keys ${keys.join(", ")}`, {
    hint: "answer with a JSON object of these keys",
  });
}

function toValue(text: string, type: unknown): Json {
  const word = text.trim().toLowerCase();
  if (type === "boolean" && YES.has(word)) return true;
  if (type === "boolean" && NO.has(word)) return false;
  const number = Number(word);
  if ((type === "number" || type === "integer") && word !== "" && Number.isFinite(number)) return number;
  return text;
}

const YES: ReadonlySet<string> = new Set(["yes", "y", "true"]);
const NO: ReadonlySet<string> = new Set(["no", "n", "false"]);

function typeOf(schema: JsonObject | undefined, key: string): unknown {
  const properties = schema?.["properties"];
  const property = isObject(properties) ? properties[key] : undefined;
  return isObject(property) ? property["type"] : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
