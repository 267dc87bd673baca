/** The SHA-256 hash of a text in 43 letters, digits, - and _. The text cannot be recovered from it. */
export async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
