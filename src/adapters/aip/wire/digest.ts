/** A hash of texts in 43 letters, digits, - and _, for names of limited length. */
export async function digest(...parts: readonly string[]): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(parts)));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
