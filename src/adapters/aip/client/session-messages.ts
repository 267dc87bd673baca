import { AgentError } from "../../../errors.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import type { ByteStream } from "../rpc/channel.ts";
import { CallStatus, toCallStatus } from "../rpc/status.ts";
import type { Codecs } from "../wire/codec.ts";
import type { AgentMessage } from "../wire/messages.ts";

/** The most messages that wait to be read. */
const MOST = 64;

/** The messages that the other side of a session sends. */
export class SessionMessages {
  readonly #stream: ByteStream;
  readonly #messages: Buffer[] = [];
  readonly #codecs: Codecs;
  #status: CallStatus | "ended" | undefined;
  #wake = (): void => {};

  constructor(stream: ByteStream, codecs: Codecs) {
    this.#stream = stream;
    this.#codecs = codecs;
    stream.on("data", (bytes: Buffer) => {
      this.#messages.push(bytes);
      if (this.#messages.length >= MOST) stream.pause();
      this.#wake();
    });
    // The status follows. Without a listener this event would end the process.
    stream.on("error", () => {});
    stream.on("status", (status: { readonly code: number }) => {
      this.#status = status.code === 0 ? "ended" : toCallStatus(status);
      this.#wake();
    });
  }

  /**
   * The next message; `undefined` when the stream has ended. Throws the status of a stream that broke off, `timeout`
   * after the time limit, and the reason of the signal.
   */
  async next(clock: MonotonicClock, limitMs: number, signal: AbortSignal): Promise<AgentMessage | undefined> {
    let isLate = false;
    const stopTimer = clock.timer(limitMs, () => {
      isLate = true;
      this.#wake();
    });
    const wake = (): void => this.#wake();
    signal.addEventListener("abort", wake);
    try {
      while (this.#messages.length === 0 && this.#status === undefined && !isLate && !signal.aborted) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      stopTimer();
      signal.removeEventListener("abort", wake);
    }
    signal.throwIfAborted();
    const bytes = this.#messages.shift();
    if (this.#messages.length < MOST && this.#stream.isPaused()) this.#stream.resume();
    if (bytes !== undefined) return this.#codecs.AgentMessage.decode(bytes);
    if (this.#status instanceof CallStatus) throw this.#status;
    if (this.#status === undefined)
      throw new AgentError("timeout", `the other side of the session said nothing for ${limitMs / 1_000} s`);
    return undefined;
  }

  /** Resolves when there is a message, or the stream has ended. */
  async news(): Promise<void> {
    while (this.#messages.length === 0 && this.#status === undefined) {
      await new Promise<void>((resolve) => {
        const before = this.#wake;
        this.#wake = () => {
          before();
          resolve();
        };
      });
    }
  }
}
