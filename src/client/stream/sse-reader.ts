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
  /** The beginning of a line. */
  #line = "";
  #frame: { -readonly [Field in keyof SseFrame]: SseFrame[Field] } = {};
  /** The number of characters in the current frame. */
  #size = 0;
  #afterReturn = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Parses the next chunk. Returns the complete frames; throws `too_large` if a frame exceeds the limit. */
  push(text: string): SseFrame[] {
    const frames: SseFrame[] = [];
    // A carriage return ends a line; a line feed directly after it, even in the next chunk, belongs to it.
    const parts = text.slice(this.#afterReturn && text.startsWith("\n") ? 1 : 0).split(/\r\n?|\n/);
    if (text !== "") this.#afterReturn = text.endsWith("\r");
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        const frame = this.#take(this.#line);
        if (frame) frames.push(frame);
        this.#line = "";
      }
      this.#line += part;
      this.#size += part.length;
      if (this.#size > this.#limit)
        throw new AgentError("too_large", `a frame of the stream is larger than ${this.#limit} bytes`);
    }
    return frames;
  }

  #take(line: string): SseFrame | undefined {
    const frame = this.#frame;
    if (line === "") {
      this.#frame = {};
      this.#size = 0;
      return frame;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "") {
      this.#size -= line.length;
      return {};
    }
    if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
    else if (name === "id" && !value.includes("\0")) frame.id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) frame.retryMs = Number(value);
    return undefined;
  }
}
