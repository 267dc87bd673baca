import { toBase64url } from "./base64url.ts";

/** The SHA-256 hash of a text in 43 letters, digits, - and _. The text cannot be recovered from it. */
export async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toBase64url(new Uint8Array(hash));
}

/** A hash of texts in 43 letters, digits, - and _, for names of limited length. */
export function hashParts(...parts: readonly string[]): Promise<string> {
  return sha256(JSON.stringify(parts));
}
