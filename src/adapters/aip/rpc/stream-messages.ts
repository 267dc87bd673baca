import type * as grpc from "@grpc/grpc-js";
import type { ByteStream } from "./channel.ts";

/** The messages of a stream in order. When it holds enough of them, the other side has to wait. */
export class StreamMessages {
  readonly #stream: ByteStream | grpc.ServerDuplexStream<Buffer, Buffer>;
  readonly #most: number;
  readonly #messages: Buffer[] = [];
  #isOver = false;
  #news: PromiseWithResolvers<void> = Promise.withResolvers();

  /** At most `most` messages are held in memory; the connection holds the rest. */
  constructor(stream: ByteStream | grpc.ServerDuplexStream<Buffer, Buffer>, most: number) {
    this.#stream = stream;
    this.#most = most;
    stream.on("data", (bytes: Buffer) => {
      this.#messages.push(bytes);
      if (this.#messages.length >= most) stream.pause();
      this.#wake();
    });
  }

  /** Says that no message follows those that are there. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Resolves when there is a message, or none follows. */
  async news(): Promise<void> {
    while (this.#messages.length === 0 && !this.#isOver) await this.#news.promise;
  }

  /** The next message, if there is one. */
  take(): Buffer | undefined {
    const bytes = this.#messages.shift();
    if (this.#messages.length < this.#most && this.#stream.isPaused()) this.#stream.resume();
    return bytes;
  }

  /** Waits for the next message; `undefined` after the last one. Only one reader may wait. */
  async next(): Promise<Buffer | undefined> {
    await this.news();
    return this.take();
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
