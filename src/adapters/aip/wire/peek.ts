/** Reads the session status of an encoded AgentMessage without decoding the rest; 0 if it is absent. */
export function peekSessionStatus(bytes: Uint8Array): number {
  let status = 0;
  let at = 0;
  while (at < bytes.length) {
    const [tag, afterTag] = readNumber(bytes, at);
    const [value, afterValue] = readNumber(bytes, afterTag);
    switch (tag & 7) {
      case VARINT:
        // As in every decoder, the last value counts.
        if (tag >>> 3 === SESSION_STATUS) status = value;
        at = afterValue;
        break;
      case BYTES:
        at = afterValue + value;
        break;
      case FIXED_64:
        at = afterTag + 8;
        break;
      case FIXED_32:
        at = afterTag + 4;
        break;
      default:
        return status;
    }
  }
  return status;
}

const SESSION_STATUS = 4;
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

function readNumber(bytes: Uint8Array, start: number): readonly [value: number, end: number] {
  let value = 0;
  let at = start;
  for (let shift = 0; at < bytes.length; shift += 7) {
    const byte = bytes[at] ?? 0;
    at += 1;
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) break;
  }
  return [value, at];
}
