/** One frame of a server-sent event stream, with all its fields. */
export interface Frame {
  readonly id: string | undefined;
  /** The custom event name, if there was one. */
  readonly event: string | undefined;
  /** The data lines, joined by line breaks; absent in a heartbeat. */
  readonly data: string | undefined;
  /** The number of data lines. */
  readonly dataLines: number;
  /** The reconnect delay that the server asks for. */
  readonly retry: string | undefined;
}

/** Parses the text of a stream in chunks. */
export class FrameDecoder {
  #rest = "";
  #lines: string[] = [];

  /** The part of an incomplete frame. */
  get unfinished(): string {
    return [...this.#lines, this.#rest].join("\n");
  }

  /** Parses the next chunk. Returns the complete frames. */
  push(text: string): Frame[] {
    this.#rest += text;
    const frames: Frame[] = [];
    for (;;) {
      const end = LINE_END.exec(this.#rest);
      // A carriage return at the end of a chunk may be the first half of a line end.
      if (end === null || (end[0] === "\r" && end.index === this.#rest.length - 1)) return frames;
      const line = this.#rest.slice(0, end.index);
      this.#rest = this.#rest.slice(end.index + end[0].length);
      if (line !== "") this.#lines.push(line);
      else if (this.#lines.length > 0) {
        frames.push(toFrame(this.#lines));
        this.#lines = [];
      }
    }
  }
}

const LINE_END = /\r\n|\n|\r/;

function toFrame(lines: readonly string[]): Frame {
  let id: string | undefined;
  let event: string | undefined;
  let retry: string | undefined;
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") id = value;
    else if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "retry") retry = value;
  }
  return {
    id,
    event,
    data: data.length === 0 ? undefined : data.join("\n"),
    dataLines: data.length,
    retry,
  };
}
