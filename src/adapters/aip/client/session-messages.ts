import { AgentError } from "../../../errors.ts";
import { unlessAborted, within } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import type { ByteStream } from "../rpc/channel.ts";
import { CallStatus, toCallStatus } from "../rpc/status.ts";
import { StreamMessages } from "../rpc/stream-messages.ts";
import type { Codecs } from "../wire/codec.ts";
import type { AgentMessage } from "../wire/messages.ts";

/** The most messages that wait to be read. */
const MOST = 64;

/** The messages that the other side of a session sends. */
export class SessionMessages {
  readonly #messages: StreamMessages;
  readonly #codecs: Codecs;
  #status: CallStatus | "ended" | undefined;

  constructor(stream: ByteStream, codecs: Codecs) {
    this.#messages = new StreamMessages(stream, MOST);
    this.#codecs = codecs;
    // The status follows. Without a listener this event would end the process.
    stream.on("error", () => {});
    stream.on("status", (status: { readonly code: number }) => {
      this.#status = status.code === 0 ? "ended" : toCallStatus(status);
      this.#messages.end();
    });
  }

  /**
   * The next message; `undefined` when the stream has ended. Throws the status of a stream that broke off, `timeout`
   * after the time limit, and the reason of the signal.
   */
  async next(clock: MonotonicClock, limitMs: number, signal: AbortSignal): Promise<AgentMessage | undefined> {
    await within(clock, limitMs, unlessAborted(this.news(), signal));
    const bytes = this.#messages.take();
    if (bytes !== undefined) return this.#codecs.AgentMessage.decode(bytes);
    if (this.#status instanceof CallStatus) throw this.#status;
    if (this.#status === undefined)
      throw new AgentError("timeout", `the other side of the session said nothing for ${limitMs / 1_000} s`);
    return undefined;
  }

  /** Resolves when there is a message, or the stream has ended. */
  news(): Promise<void> {
    return this.#messages.news();
  }
}
