/** How many of the texts fit into so many bytes of UTF-8, joined by nothing; at least one, if there is one. */
export function countFitting(texts: readonly string[], limitBytes: number): number {
  let bytes = 0;
  for (const [index, text] of texts.entries()) {
    bytes += utf8Length(text);
    if (bytes > limitBytes && index > 0) return index;
  }
  return texts.length;
}

/** The length of a text in bytes of UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    // Each half of a surrogate pair counts two of the pair's four bytes.
    bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}
