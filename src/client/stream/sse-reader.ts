import { AgentError } from "../../errors.ts";

/** One frame of a server-sent event stream. A comment (heartbeat) is an empty frame. */
export interface SseFrame {
  readonly data?: string | undefined;
  readonly id?: string | undefined;
  /** The reconnect delay that the server asks for, in milliseconds. */
  readonly retryMs?: number | undefined;
}

/**
 * An incremental parser for server-sent events. It follows the standard, except for custom event names, which
 * the protocol does not use. It buffers an incomplete frame only up to the limit.
 */
export class SseReader {
  readonly #limit: number;
  /** The parts of an incomplete line. */
  #line: string[] = [];
  #data: string[] = [];
  #id: string | undefined;
  #retryMs: number | undefined;
  /** The number of characters in the current frame. */
  #size = 0;
  #afterReturn = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Parses the next chunk. Returns the complete frames; `too_large` if a frame exceeds the limit. */
  push(text: string): SseFrame[] {
    const frames: SseFrame[] = [];
    // A carriage return ends a line; a line feed directly after it, even in the next chunk, belongs to it.
    let start = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#afterReturn = text.endsWith("\r");
    for (;;) {
      LINE_END.lastIndex = start;
      const end = LINE_END.exec(text);
      const part = text.slice(start, end?.index);
      this.#grow(part.length);
      if (end === null) {
        if (part !== "") this.#line.push(part);
        return frames;
      }
      const line = this.#line.length === 0 ? part : this.#line.join("") + part;
      this.#line = [];
      const frame = this.#take(line);
      if (frame) frames.push(frame);
      start = LINE_END.lastIndex;
    }
  }

  #grow(length: number): void {
    this.#size += length;
    if (this.#size <= this.#limit) return;
    throw new AgentError("too_large", `a frame of the stream is larger than ${this.#limit} bytes`);
  }

  #take(line: string): SseFrame | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.#size -= line.length;
      return {};
    }
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    return undefined;
  }

  #dispatch(): SseFrame | undefined {
    const frame = {
      data: this.#data.length > 0 ? this.#data.join("\n") : undefined,
      id: this.#id,
      retryMs: this.#retryMs,
    };
    this.#data = [];
    this.#id = undefined;
    this.#retryMs = undefined;
    this.#size = 0;
    return frame;
  }
}

const LINE_END = /\r\n?|\n/g;
