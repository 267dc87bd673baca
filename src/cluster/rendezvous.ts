/**
 * The one of several names that a key belongs to. All nodes with the same names agree; when a name goes, only its own
 * keys move.
 */
export function pickFor(key: string, names: Iterable<string>): string | undefined {
  let picked: string | undefined;
  let most = -1;
  for (const name of names) {
    const weight = hash(`${name} ${key}`);
    if (weight < most || (weight === most && picked !== undefined && name > picked)) continue;
    picked = name;
    most = weight;
  }
  return picked;
}

/** A hash of 32 bits: FNV-1a with the last step of MurmurHash3, so that similar texts have unlike hashes. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value ^= value >>> 16;
  value = Math.imul(value, 0x85ebca6b);
  value ^= value >>> 13;
  value = Math.imul(value, 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
