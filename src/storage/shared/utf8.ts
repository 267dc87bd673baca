/** The first texts, up to a number of them and of their UTF-8 bytes; at least `least`, also if they do not fit. */
export function firstOf(
  texts: readonly string[],
  { limit = Infinity, limitBytes = Infinity }: { readonly limit?: number; readonly limitBytes?: number },
  least = 1,
): readonly string[] {
  const some = texts.length > limit ? texts.slice(0, Math.max(limit, 0)) : texts;
  if (limitBytes === Infinity || surelyFit(some, limitBytes)) return some;
  const { count } = countFitting(some, limitBytes, least);
  return count < some.length ? some.slice(0, count) : some;
}

/** Whether texts certainly fit into a number of UTF-8 bytes, judged only by their lengths. */
function surelyFit(texts: readonly string[], limitBytes: number): boolean {
  let characters = 0;
  for (const text of texts) characters += text.length;
  // A UTF-16 code unit takes at most three bytes.
  return characters * 3 <= limitBytes;
}

/**
 * Counts how many of the first texts fit into a number of UTF-8 bytes, and their bytes. Counts at least
 * `least` texts, also if they do not fit.
 */
export function countFitting(
  texts: readonly string[],
  limitBytes: number,
  least: number,
): { readonly count: number; readonly bytes: number } {
  let bytes = 0;
  for (const [index, text] of texts.entries()) {
    const next = bytes + utf8Length(text);
    if (next > limitBytes && index >= least) return { count: index, bytes };
    bytes = next;
  }
  return { count: texts.length, bytes };
}

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    // Each half of a surrogate pair counts as two of the pair's four bytes.
    bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}
