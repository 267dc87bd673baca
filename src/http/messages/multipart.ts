import { AgentError } from "../../errors.ts";

/** The header of one part of a multipart body. */
export interface PartHeader {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly mimeType: string;
}

/**
 * Reads a multipart body part by part: `next` finds a part, `body` reads it. It holds one chunk of the body at most.
 * Throws `invalid_request` for a body that is not well-formed.
 */
export class MultipartReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #delimiter: Uint8Array;
  /** Bytes that were read and not used. The line break lets a body start with its first delimiter. */
  #bytes: Uint8Array = encoder.encode("\r\n");
  #parts = 0;
  /** Whether the reader is between two parts. */
  #isBetween = false;

  constructor(chunks: AsyncIterable<Uint8Array>, contentType: string) {
    const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
    const boundary = quoted ?? plain;
    if (boundary === undefined) throw malformed("the Content-Type of the form has no boundary");
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#delimiter = encoder.encode(`\r\n--${boundary}`);
  }

  /** Skips the rest of the current part and reads the header of the next one; `undefined` after the last one. */
  async next(): Promise<PartHeader | undefined> {
    for await (const _ of this.body());
    this.#isBetween = false;
    await this.#have(2);
    if (this.#bytes[0] === DASH && this.#bytes[1] === DASH) {
      this.#isBetween = true;
      await this.#skipRest();
      return undefined;
    }
    this.#parts += 1;
    if (this.#parts > PARTS_LIMIT) {
      throw new AgentError("too_large", `the form has more than ${PARTS_LIMIT} parts`);
    }
    return parseHeader(await this.#readHeader());
  }

  /** Reads what follows the form and is not part of it: a connection is reused only after the whole body was read. */
  async #skipRest(): Promise<void> {
    for (let bytes = 0; bytes <= REST_LIMIT_BYTES;) {
      const next = await this.#chunks.next();
      if (next.done === true) return;
      bytes += next.value.byteLength;
    }
  }

  /** The bytes of the current part. */
  async *body(): AsyncGenerator<Uint8Array, void> {
    // The end of a chunk may be the start of a delimiter.
    const tail = this.#delimiter.byteLength - 1;
    while (!this.#isBetween) {
      const at = find(this.#bytes, this.#delimiter);
      const end = at === -1 ? Math.max(this.#bytes.byteLength - tail, 0) : at;
      const piece = this.#bytes.subarray(0, end);
      this.#isBetween = at !== -1;
      this.#bytes = this.#bytes.subarray(this.#isBetween ? end + this.#delimiter.byteLength : end);
      if (piece.byteLength > 0) yield piece;
      if (!this.#isBetween) await this.#have(this.#bytes.byteLength + 1);
    }
  }

  async #readHeader(): Promise<string> {
    for (;;) {
      const at = find(this.#bytes, HEADER_END);
      if (Math.max(at, this.#bytes.byteLength - CHUNK_BYTES) > HEADER_LIMIT_BYTES) {
        throw malformed("the form has a part with too large a header");
      }
      if (at !== -1) {
        const header = decoder.decode(this.#bytes.subarray(0, at));
        this.#bytes = this.#bytes.subarray(at + HEADER_END.byteLength);
        return header;
      }
      await this.#have(this.#bytes.byteLength + 1);
    }
  }

  /** Reads until there is a number of unused bytes. */
  async #have(count: number): Promise<void> {
    while (this.#bytes.byteLength < count) {
      const next = await this.#chunks.next();
      if (next.done === true) throw malformed("the form ended too early");
      const bytes = new Uint8Array(this.#bytes.byteLength + next.value.byteLength);
      bytes.set(this.#bytes);
      bytes.set(next.value, this.#bytes.byteLength);
      this.#bytes = bytes;
    }
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const BOUNDARY = /; *boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))/i;
const HEADER_END: Uint8Array = encoder.encode("\r\n\r\n");
const HEADER_LIMIT_BYTES = 16_384;
/** The most that Node reads from a socket at once. */
const CHUNK_BYTES = 65_536;
const PARTS_LIMIT = 100;
const REST_LIMIT_BYTES = 65_536;
const DASH = 45;
const CR = 13;

/** The position of a text that starts with a line break; -1 if it is not there. */
function find(bytes: Uint8Array, text: Uint8Array): number {
  const last = bytes.byteLength - text.byteLength;
  for (let at = bytes.indexOf(CR); at !== -1 && at <= last; at = bytes.indexOf(CR, at + 1)) {
    let same = 1;
    while (same < text.byteLength && bytes[at + same] === text[same]) same += 1;
    if (same === text.byteLength) return at;
  }
  return -1;
}

function parseHeader(text: string): PartHeader {
  const [padding, ...lines] = text.split("\r\n");
  // Only spaces may stand between a delimiter and its line break.
  if (padding?.trim() !== "") throw malformed("the form has a line that only starts like its boundary");
  const headers = new Map(lines.map((line) => toHeader(line)));
  const disposition = headers.get("content-disposition") ?? "";
  const parameters = new Map(
    [...disposition.matchAll(PARAMETER)].map(([, name = "", value = ""]) => [
      name.toLowerCase(),
      unquote(value),
    ]),
  );
  const name = parameters.get("name");
  if (!FORM_DATA.test(disposition) || name === undefined) {
    throw malformed("the form has a part without a name");
  }
  const fileName = decodeName(parameters.get("filename*")) ?? parameters.get("filename");
  const type = headers.get("content-type") ?? "";
  return { name, fileName, mimeType: MEDIA_TYPE.test(type) ? type : "application/octet-stream" };
}

function toHeader(line: string): [name: string, value: string] {
  const at = line.indexOf(":");
  if (at < 1) throw malformed("the form has a part with an invalid header");
  return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
}

const FORM_DATA = /^form-data *(?:;|$)/i;
const PARAMETER = /; *([\w!#$%&'*+.^`|~-]+)=("(?:[^"\\]|\\.)*"|[^\s;"]*)/g;
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?: *;[\x20-\x7e]{0,255})?$/;

function unquote(value: string): string {
  if (!value.startsWith('"')) return value;
  return value.slice(1, -1).replace(/\\(["\\])/g, "$1");
}

/** A name in the encoding of RFC 5987; `undefined` if it is not. */
function decodeName(value = ""): string | undefined {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(value) ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

function malformed(message: string): AgentError {
  return new AgentError("invalid_request", message);
}
