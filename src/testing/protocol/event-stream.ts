import { Mismatch, check } from "./mismatch.ts";
import { FrameDecoder } from "./frames.ts";
import type { Frame } from "./frames.ts";
import { toEvent } from "./wire-event.ts";
import type { WireEvent } from "./wire-event.ts";

/** An event stream from the server; each wait for a frame has a time limit. */
export class EventStream {
  readonly asked: string;
  readonly status: number;
  readonly headers: Headers;
  readonly #body: AsyncIterator<Uint8Array> | undefined;
  readonly #stop: AbortController;
  readonly #timeoutMs: number;
  readonly #decoder = new FrameDecoder();
  readonly #text = new TextDecoder();
  #frames: Frame[] = [];

  constructor(
    asked: string,
    response: Response,
    { stop, timeoutMs }: { readonly stop: AbortController; readonly timeoutMs: number },
  ) {
    this.asked = asked;
    this.status = response.status;
    this.headers = response.headers;
    this.#body = response.body?.[Symbol.asyncIterator]();
    this.#stop = stop;
    this.#timeoutMs = timeoutMs;
  }

  /** The next frame, including heartbeats; `undefined` at the end of the stream. */
  async frame(timeoutMs: number = this.#timeoutMs): Promise<Frame | undefined> {
    const timer = this.#limit("a frame", timeoutMs);
    try {
      while (this.#frames.length === 0) {
        const piece = await this.#body?.next();
        if (piece === undefined || piece.done === true) {
          const { unfinished } = this.#decoder;
          check(unfinished === "", `a stream that ends after a complete frame on ${this.asked}`, unfinished);
          return undefined;
        }
        this.#frames = this.#decoder.push(this.#text.decode(piece.value, { stream: true }));
      }
      return this.#frames.shift();
    } catch (thrown) {
      if (thrown instanceof Mismatch) throw thrown;
      throw new Mismatch(`a stream that ends cleanly on ${this.asked}`, thrown);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next frame with data; `undefined` at the end of the stream. */
  async data(): Promise<Frame | undefined> {
    // One limit for all frames, because heartbeats can come forever.
    const timer = this.#limit("a frame with data", this.#timeoutMs);
    try {
      for (;;) {
        const frame = await this.frame();
        if (frame === undefined || frame.data !== undefined) return frame;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next event; `undefined` at the end of the stream. */
  async next(): Promise<WireEvent | undefined> {
    const frame = await this.data();
    return frame === undefined ? undefined : toEvent(frame.data, this.asked);
  }

  /** All frames with data up to the end of the stream. */
  async restOfFrames(): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.data(); frame !== undefined; frame = await this.data()) {
      frames.push(frame);
    }
    return frames;
  }

  /** All events up to the end of the stream. */
  async rest(): Promise<WireEvent[]> {
    const frames = await this.restOfFrames();
    return frames.map((frame) => toEvent(frame.data, this.asked));
  }

  /** The events up to and including the first one that matches. */
  async until(wanted: (event: WireEvent) => boolean, what: string): Promise<WireEvent[]> {
    const events: WireEvent[] = [];
    for (;;) {
      const event = await this.next();
      check(event !== undefined, `${what} before the end of ${this.asked}`, events);
      events.push(event);
      if (wanted(event)) return events;
    }
  }

  close(): void {
    this.#stop.abort();
  }

  #limit(what: string, timeoutMs: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#stop.abort(new Mismatch(`${what} or the end within ${timeoutMs} ms`, this));
    }, timeoutMs);
  }
}
