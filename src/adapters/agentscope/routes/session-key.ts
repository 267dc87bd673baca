import { wrongField } from "../../../http/messages/wrong-field.ts";

/** The key of the run of a session; different users and sessions have different keys. */
export function toSessionKey(sessionId: string, userId: string = sessionId): string {
  const user = userId === sessionId ? "" : toPart(userId);
  const key = `agentscope:${user}:${toPart(sessionId)}`;
  if (key.length <= KEY_LIMIT) return key;
  const message = `and user_id are too long: together they have at most about ${KEY_LIMIT - 16} letters`;
  throw wrongField("session_id", message);
}

/** The longest key of a run. */
const KEY_LIMIT = 128;

/** A name in the letters of keys: as it is, or its bytes in Base64 behind an `@`. */
function toPart(name: string): string {
  if (/^[\w.-]+$/.test(name)) return name;
  return `@${Buffer.from(name.toWellFormed()).toString("base64url")}`;
}
