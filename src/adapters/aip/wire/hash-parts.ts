import { sha256 } from "../../../shared/sha256.ts";

/** A hash of texts in 43 letters, digits, - and _, for names of limited length. */
export function hashParts(...parts: readonly string[]): Promise<string> {
  return sha256(JSON.stringify(parts));
}
