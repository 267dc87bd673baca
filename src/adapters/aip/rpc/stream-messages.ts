import type * as grpc from "@grpc/grpc-js";

/** The messages of a stream in order. When it holds enough of them, the other side has to wait. */
export class StreamMessages {
  readonly #call: grpc.ServerDuplexStream<Buffer, Buffer>;
  readonly #messages: Buffer[] = [];
  #isOver = false;
  #wake = (): void => {};

  constructor(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
    this.#call = call;
    call.on("data", (bytes: Buffer) => {
      this.#messages.push(bytes);
      if (this.#messages.length >= MOST) call.pause();
      this.#wake();
    });
    const end = (): void => {
      this.#isOver = true;
      this.#wake();
    };
    call.on("end", end);
    call.on("cancelled", end);
  }

  /** The next message; `undefined` after the last one. */
  async next(): Promise<Buffer | undefined> {
    while (this.#messages.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const bytes = this.#messages.shift();
    if (this.#messages.length < MOST && this.#call.isPaused()) this.#call.resume();
    return bytes;
  }
}

/** Messages held in memory; the connection holds the rest. */
const MOST = 8;
