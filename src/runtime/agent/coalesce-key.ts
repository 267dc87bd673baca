import { AgentError } from "../../errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { Agent } from "./agent.ts";
import { errorMessage } from "./error-message.ts";

/** The key that an agent's `coalesce` gives a request or a message; throws `unprocessable` if it gives no key but a fault. */
export function coalesceKey({ name: agent, mailbox }: Agent, name: string, input: Json): string | undefined {
  if (mailbox?.coalesce === undefined) return undefined;
  let key: unknown;
  try {
    key = mailbox.coalesce(copyJson(input), name);
  } catch (thrown) {
    throw refuse(`the coalesce of agent ${agent} threw for ${name}: ${errorMessage(thrown)}`);
  }
  if (key === undefined || typeof key === "string") return key;
  throw refuse(`the coalesce of agent ${agent} gave a ${typeof key} for ${name}, not a text`);
}

function refuse(message: string): AgentError {
  return new AgentError("unprocessable", message);
}
