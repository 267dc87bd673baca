import { sha256 } from "../shared/sha256.ts";

/** The longest key of a run. */
const LIMIT = 128;

/**
 * The key of the run of a conversation of a wire, by the names that the clients of the wire give it, for example of its user and
 * itself. Names of the letters of keys are in it as they are; others, and long ones, are hashed. Different names have different keys.
 */
export async function conversationKey(wire: string, ...names: readonly string[]): Promise<string> {
  const plain = [wire, ...names].join(":");
  if (plain.length <= LIMIT && names.every((name) => /^[\w.-]+$/.test(name))) return plain;
  return `${wire}-${await sha256(JSON.stringify(names))}`;
}
