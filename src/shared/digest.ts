/**
 * A hash of 106 bits of a text, in at most 22 letters and digits, for ids that are made again from the same facts. It is
 * not a cryptographic one: nothing may depend on who can compute it.
 */
export function digest(text: string): string {
  return [0x9e3779b9, 0x85ebca6b].map((seed) => hash53(text, seed).toString(36)).join("");
}

/** A hash of 53 bits of a text, to find out whether a text is the same as before. */
export function shortDigest(text: string): string {
  return hash53(text, 0).toString(36);
}

function hash53(text: string, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}

/** A hash of a text in 16 hexadecimal digits, which are not all 0. */
export function hex64(text: string, seed: number): string {
  const high = hash53(text, seed) >>> 0;
  const low = hash53(text, seed ^ 0x9e3779b9) >>> 0 || 1;
  return `${high.toString(16).padStart(8, "0")}${low.toString(16).padStart(8, "0")}`;
}
