/**
 * A new id. `crypto.randomUUID` is not used, because browsers have it only in pages that came over https or from the same
 * machine.
 */
export function randomId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
