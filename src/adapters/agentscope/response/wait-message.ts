import type { Event } from "../../../protocol/events/events.ts";
import { isObject } from "../../../protocol/json.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject } from "../objects.ts";

/** A question of an agent. */
export type WaitEvent = Extract<Event, { readonly type: "WaitForInput" }>;

/** The parts of a question that decide how it is asked and answered. */
export type Question = Pick<WaitEvent, "request_keys" | "schema">;

/** The key of a question that is answered by yes or no, apart from an optional reason. */
export function approvalKeyOf({ request_keys: keys, schema }: Question): string | undefined {
  const [key, ...others] = Object.keys(keys).filter((name) => name !== REASON);
  if (key === undefined || others.length > 0) return undefined;
  return isBoolean(schema?.["properties"], key) ? key : undefined;
}

/** The objects of a question: a request for approval, or a text. */
export function askQuestion(response: ResponseBuilder, wait: WaitEvent): AgentScopeObject[] {
  const { request_id, wait_id, request_keys, agent } = wait;
  const metadata = { wait_for_input: { request_id, wait_id, request_keys } };
  const name = approvalKeyOf(wait);
  if (name !== undefined) {
    const message = response.message({ type: "mcp_approval_request", metadata });
    const data = {
      id: String(wait_id),
      name,
      arguments: JSON.stringify(request_keys),
      server_label: agent,
    };
    return [message.inProgress(), message.addContent({ type: "data", data }), message.completed()];
  }
  const message = response.message({ metadata });
  const text = Object.values(request_keys).join("\n");
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
