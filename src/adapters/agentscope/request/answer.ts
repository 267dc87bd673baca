import { isObject } from "../../../protocol/json.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { GivenAnswer } from "../../../view/wait-answers.ts";
import type { InputMessage } from "./body.ts";
import { newMessages, readUserInput } from "./user-input.ts";
import { wrongField } from "../../../http/messages/wrong-field.ts";

/** Reads the answers of a request: the results of tools, else its newest approval, else values, else a text. */
export function readGivenAnswers(input: readonly InputMessage[]): readonly GivenAnswer[] {
  const messages = newMessages(input);
  const results = messages.filter(({ type }) => type === "function_call_output").map(toResult);
  return results.length > 0 ? results : [readAnswer(input, messages)];
}

function readAnswer(input: readonly InputMessage[], messages: readonly InputMessage[]): GivenAnswer {
  const approval = messages.findLast(({ type }) => type === "mcp_approval_response");
  if (approval !== undefined) return toApproval(approval);
  const values = messages.flatMap(valuesOf).at(-1);
  return values ?? { type: "text", text: readUserInput(input).text };
}

/** The result of a tool that the client runs. Its output is a text, as it was for the model that called it. */
function toResult({ content }: InputMessage): GivenAnswer {
  const { call_id: id, output = "" } = dataOf(content) ?? {};
  if (typeof id !== "string") throw wrongField("call_id", "must be the id of a call");
  return { type: "result", waitId: toWaitId(id), result: output };
}

function toApproval({ content }: InputMessage): GivenAnswer {
  const { approval_request_id: id, approve, reason = null } = dataOf(content) ?? {};
  if (typeof approve !== "boolean") throw wrongField("approve", "must be true or false");
  if (typeof id !== "string" && typeof id !== "number")
    throw wrongField("approval_request_id", "must be the id of a request for approval");
  if (reason !== null && typeof reason !== "string") throw wrongField("reason", "must be a string");
  return { type: "approval", waitId: toWaitId(id), approve, ...(reason !== null && { reason }) };
}

/** The values of a message: in its metadata, or as a data content. */
function valuesOf({ content, metadata = {}, role }: InputMessage): readonly GivenAnswer[] {
  const about = isObject(metadata["wait_for_input"]) ? metadata["wait_for_input"] : metadata;
  const waitId = toWaitId(about["wait_id"]);
  const keys = about["request_keys"];
  const values = isObject(keys) ? keys : role === "user" ? dataOf(content) : undefined;
  return values === undefined ? [] : [{ type: "values", values, ...(waitId !== undefined && { waitId }) }];
}

function dataOf(content: InputMessage["content"]): JsonObject | undefined {
  return content.findLast((item) => item.type === "data")?.data;
}

/** The id of a wait; undefined for a value that names none. */
function toWaitId(id: unknown): number | undefined {
  const given = typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : id;
  return typeof given === "number" && Number.isSafeInteger(given) ? given : undefined;
}
