/** The size of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  let rest = text;
  for (;;) {
    // Ten times faster than a loop over the characters, because the engine encodes many of them at once.
    const { read, written } = encoder.encodeInto(rest, encoded);
    bytes += written;
    if (read === rest.length) return bytes;
    rest = rest.slice(read);
  }
}

const encoder = new TextEncoder();

/** A part of a text while it is measured. */
const encoded = new Uint8Array(16_384);

/** The size in UTF-8 of a text as JSON. */
export function jsonLength(text: string): number {
  let bytes = 2;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= 0x20 && code < 0x80) bytes += code === QUOTE || code === BACKSLASH ? 2 : 1;
    else if (code < 0x20) bytes += SHORT_ESCAPES.includes(text.charAt(index)) ? 2 : ESCAPE;
    else if (code < 0x800) bytes += 2;
    else if (code < 0xd800 || code > 0xdfff) bytes += 3;
    else if (text.codePointAt(index) === code) bytes += ESCAPE;
    else {
      // A surrogate pair; JSON escapes one that is alone.
      bytes += 4;
      index += 1;
    }
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SHORT_ESCAPES = "\b\t\n\f\r";
/** The length of an escape with the code of a character. */
const ESCAPE = 6;
