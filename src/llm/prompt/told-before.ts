import type { JsonObject } from "../../protocol/json.ts";
import { isObject } from "../../protocol/json.ts";
import { cut } from "../../runtime/journal/json-limits.ts";
import type { Message } from "../../runtime/model/prompt.ts";

/** The most messages that a client can put before a conversation; of more, the newest count. */
const MOST_MESSAGES = 200;

/**
 * What was said before the first request of a run, as its client tells it in `request_metadata.messages`: texts of the user and of
 * the assistant, and of the client's system. What has another form is left out.
 */
export function toldBefore({ messages }: JsonObject, limitBytes: number): readonly Message[] {
  if (!Array.isArray(messages)) return [];
  const told = messages.slice(-MOST_MESSAGES).flatMap((message): readonly Message[] => {
    const { role, content: given } = isObject(message) ? message : {};
    if (typeof given !== "string" || given === "") return [];
    const content = cut(given, limitBytes);
    if (role === "user" || role === "assistant") return [{ role, content }];
    // The instructions of the model are those of its agent alone.
    return role === "system" ? [{ role: "user", content: `Instructions of the caller:\n${content}` }] : [];
  });
  // A conversation that the assistant begins is refused by some providers.
  const first = told.findIndex(({ role }) => role === "user");
  return first === -1 ? [] : told.slice(first);
}
