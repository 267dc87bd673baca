import { pauseUnlessAborted } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import type { ByteStream, Channel } from "../rpc/channel.ts";
import { CallStatus, STATUS, toCallStatus } from "../rpc/status.ts";
import type { OpenSession } from "../session/sessions.ts";
import type { Codecs } from "../wire/codec.ts";
import { SESSION, TASK } from "../wire/messages.ts";
import { peekSessionStatus } from "../wire/peek.ts";

export interface ForwardOptions {
  readonly codecs: Codecs;
  readonly clock: MonotonicClock;
  readonly channel: Channel;
  readonly path: string;
  /** Aborts when the gateway gives the node up. */
  readonly evicted: AbortSignal;
  /** Called for each message from the caller or from the node. */
  heard(side: "caller" | "node"): void;
}

/** How long a session may continue after its caller has closed the request stream. */
const HALF_CLOSED_MS = 60_000;

/** How long a node may take to end its stream after the end of the session. */
const END_MS = 10_000;

/** A session with another node: its messages and answers are passed on as the same bytes. */
export class ForwardedSession {
  readonly #session: OpenSession;
  readonly #options: ForwardOptions;
  readonly #upstream: ByteStream;
  readonly #over = new AbortController();
  readonly #end = Promise.withResolvers<void>();

  constructor(session: OpenSession, options: ForwardOptions) {
    this.#session = session;
    this.#options = options;
    this.#upstream = options.channel.stream(options.path);
  }

  /** Resolves at the end of the session; rejects with the status that the caller must get. */
  async run(): Promise<void> {
    const { call, firstBytes, stopping } = this.#session;
    const { evicted } = this.#options;
    const upstream = this.#upstream;
    const abandon = (): void => this.#break();
    const giveUp = (): void => this.#break(toGone(this.#session));
    const stop = (): void => this.#stop();
    call.on("cancelled", abandon);
    evicted.addEventListener("abort", giveUp);
    stopping.addEventListener("abort", stop);
    upstream.on("data", (bytes: Buffer) => this.#answer(bytes));
    // The status follows. Without a listener this event would end the process.
    upstream.on("error", () => {});
    upstream.on("status", (status: { readonly code: number }) => {
      if (status.code === 0) this.#finish();
      else this.#break(toCallStatus(status));
    });
    try {
      if (call.cancelled) this.#break();
      upstream.write(firstBytes);
      void this.#passOn();
      await this.#end.promise;
    } finally {
      evicted.removeEventListener("abort", giveUp);
      stopping.removeEventListener("abort", stop);
    }
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Passes the caller's messages on; waits while the node's connection is full. */
  async #passOn(): Promise<void> {
    const { messages } = this.#session;
    const { clock, heard } = this.#options;
    const over = this.#over.signal;
    for (;;) {
      const bytes = await messages.next();
      if (this.#isOver) return;
      if (bytes === undefined) break;
      heard("caller");
      if (this.#upstream.write(bytes)) continue;
      await new Promise<void>((resolve) => {
        this.#upstream.once("drain", resolve);
        over.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    // The caller has closed its side. That ends nothing at first, because answers may follow.
    await pauseUnlessAborted(clock, HALF_CLOSED_MS, over);
    this.#stop();
  }

  #answer(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#options.heard("node");
    const { call } = this.#session;
    if (!call.write(bytes)) {
      this.#upstream.pause();
      call.once("drain", () => this.#upstream.resume());
    }
    if (peekSessionStatus(bytes) === SESSION.stopResponse) this.#finish();
  }

  /** Ends the session from this side. */
  #stop(): void {
    if (this.#isOver) return;
    this.#session.call.write(toStopResponse(this.#session, this.#options.codecs));
    this.#finish();
  }

  /** The session has ended properly. A node is canceled only if it does not end its stream soon. */
  #finish(): void {
    if (this.#isOver) return;
    this.#over.abort();
    this.#session.call.end();
    const upstream = this.#upstream;
    upstream.resume();
    upstream.end();
    const stopTimer = this.#options.clock.timer(END_MS, () => upstream.cancel());
    upstream.once("status", stopTimer);
    this.#end.resolve();
  }

  /** The session has broken off: the caller gets the status, if it is still there. */
  #break(status?: CallStatus): void {
    if (this.#isOver) return;
    this.#over.abort();
    this.#upstream.cancel();
    if (status) this.#end.reject(status);
    else this.#end.resolve();
  }
}

function toGone({ first }: OpenSession): CallStatus {
  return new CallStatus(STATUS.unavailable, `${first.receiver_id} does not answer any more`);
}

function toStopResponse({ first }: OpenSession, codecs: Codecs): Buffer {
  return codecs.AgentMessage.encode({
    sender_id: first.receiver_id,
    receiver_id: first.sender_id,
    session_id: first.session_id,
    session_status: SESSION.stopResponse,
    task_info: { task_id: first.task_info?.task_id ?? "", task_status: TASK.broken },
    message_id: `msg_${first.session_id}_end`,
    reply_to_message_id: first.message_id,
    content: [],
  });
}
