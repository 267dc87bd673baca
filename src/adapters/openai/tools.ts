import type { ChatCompletionMessageFunctionToolCall } from "openai/resources/chat/completions";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Fields } from "../../protocol/json.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { WaitView } from "../../view/run-view.ts";
import type { GivenAnswer } from "../../view/wait-answers.ts";
import { readSaid } from "./content.ts";
import { parseAnswerId, toItemId } from "./place.ts";

/** An answer to a question, and the request that asks it, if the answer names it. */
export interface ItemAnswer {
  readonly given: GivenAnswer;
  readonly requestId?: RequestId | undefined;
}

/** The call of a tool that the client runs. */
export function toToolCall(
  { requestId, waitId }: WaitView,
  { name, args }: NonNullable<WaitView["tool"]>,
): ChatCompletionMessageFunctionToolCall {
  const id = toItemId("call", requestId, waitId);
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

/** The results of tools at the end of a conversation; empty if something else ends it. */
export function readResults(messages: readonly Fields[]): readonly ItemAnswer[] {
  const first = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(first).map(({ content, tool_call_id: id }, index): ItemAnswer => {
    const path = `messages.${first + index}`;
    const { requestId, began: waitId } = (typeof id === "string" ? parseAnswerId(id) : undefined) ?? {};
    if (waitId === undefined)
      throw wrongField(`${path}.tool_call_id`, "must be that of a call of this server");
    const { text } = readSaid(content, `${path}.content`);
    return { requestId, given: { type: "result", waitId, result: text } };
  });
}
