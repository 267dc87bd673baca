import { isObject } from "../../../protocol/json.ts";
import type { WaitView } from "../../../view/run-view.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject } from "../objects.ts";

/** The parts of a question that decide how it is asked and answered. */
export type AskedQuestion = Pick<WaitView, "questions" | "schema">;

/** The key of a question that is answered by yes or no, apart from an optional reason. */
export function approvalKeyOf({ questions, schema }: AskedQuestion): string | undefined {
  const [key, ...others] = Object.keys(questions).filter((name) => name !== REASON);
  if (key === undefined || others.length > 0) return undefined;
  return isBoolean(schema?.["properties"], key) ? key : undefined;
}

/** The objects of a question: a request for approval, or a text. */
export function askQuestion(response: ResponseBuilder, wait: WaitView): AgentScopeObject[] {
  const { requestId, waitId, questions, agent } = wait;
  const asked = { request_id: requestId, wait_id: waitId, request_keys: questions };
  const metadata = { wait_for_input: asked };
  const name = approvalKeyOf(wait);
  if (name !== undefined) {
    const message = response.message({ type: "mcp_approval_request", metadata });
    const data = {
      id: String(waitId),
      name,
      arguments: JSON.stringify(questions),
      server_label: agent,
    };
    return [message.inProgress(), message.addContent({ type: "data", data }), message.completed()];
  }
  const message = response.message({ metadata });
  const text = Object.values(questions).join("\n");
  return [
    message.inProgress(),
    message.addDelta({ type: "text", text }),
    message.contentCompleted(0),
    message.completed(),
  ];
}

/** The name under which an approval can give its reason. */
export const REASON = "reason";

function isBoolean(properties: unknown, key: string): boolean {
  if (!isObject(properties) || !Object.hasOwn(properties, key)) return false;
  const property = properties[key];
  return isObject(property) && property["type"] === "boolean";
}
