import type * as grpc from "@grpc/grpc-js";
import { unlessAborted, within } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { StreamMessages } from "../rpc/stream-messages.ts";
import { endWith } from "../rpc/server.ts";
import type { OperatorReport } from "../rpc/server.ts";
import { CallStatus, isOwnFault, STATUS } from "../rpc/status.ts";
import type { Codecs } from "../wire/codec.ts";
import { SESSION } from "../wire/messages.ts";
import type { AgentMessage } from "../wire/messages.ts";

/** The server's side of a session's stream. */
export type SessionStream = grpc.ServerDuplexStream<Buffer, Buffer>;

/** A session whose first message has arrived. */
export interface OpenSession {
  readonly call: SessionStream;
  readonly messages: StreamMessages;
  readonly first: AgentMessage;
  /** The first message as it arrived. */
  readonly firstBytes: Buffer;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

/** Performs a session until its end. A thrown value ends the stream with a status. */
export type PerformSession = (session: OpenSession) => Promise<void>;

export interface SessionsOptions {
  readonly codecs: Codecs;
  readonly clock: MonotonicClock;
  readonly report: OperatorReport;
  /** Returns how to perform a session with its receiver, or `undefined` for an unknown receiver. */
  find(first: AgentMessage): Promise<PerformSession | undefined>;
}

/** The most sessions of a server at the same time. */
const SESSIONS_LIMIT = 10_000;

/** How long a caller may take to send the first message. */
const FIRST_MESSAGE_MS = 60_000;

/** The most messages of a session that wait to be read. */
const MESSAGES = 8;

/** The sessions of a server. A session id belongs to one session at a time, so that no two are mixed up. */
export class Sessions {
  readonly #codecs: Codecs;
  readonly #clock: MonotonicClock;
  readonly #report: OperatorReport;
  readonly #find: SessionsOptions["find"];
  readonly #live = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #open = new Set<Promise<void>>();

  constructor({ codecs, clock, report, find }: SessionsOptions) {
    this.#codecs = codecs;
    this.#clock = clock;
    this.#report = report;
    this.#find = find;
  }

  /** The handler of a method. */
  readonly accept = (call: SessionStream): void => {
    // A stream without this listener would end the process when its connection breaks.
    call.on("error", () => {});
    if (this.#open.size >= SESSIONS_LIMIT) {
      endWith(call, new CallStatus(STATUS.resourceExhausted, `${SESSIONS_LIMIT} sessions are open here`));
      return;
    }
    const done = this.#accept(call)
      .catch((thrown: unknown) => {
        if (isOwnFault(thrown)) this.#report("an AIP session failed", thrown);
        endWith(call, thrown);
      })
      .finally(() => this.#open.delete(done));
    this.#open.add(done);
  };

  /** Ends all sessions properly. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#open);
  }

  async #accept(call: SessionStream): Promise<void> {
    const messages = new StreamMessages(call, MESSAGES);
    for (const end of ["end", "cancelled"]) call.on(end, () => messages.end());
    const bytes = await this.#first(messages);
    if (bytes === undefined || call.cancelled) throw new CallStatus(STATUS.aborted, "Empty request stream");
    const first = this.#decode(bytes);
    if (first.session_status !== SESSION.startQuest) throw refuse("First message must be START_QUEST");
    const { session_id: id } = first;
    if (id === "") throw refuse("Missing session_id in START_QUEST");
    const perform = await this.#find(first);
    if (perform === undefined) throw new CallStatus(STATUS.notFound, "Receiver not found");
    if (this.#live.has(id)) throw refuse(`Session_id [${id}] is already registered in server`);
    this.#live.add(id);
    try {
      await perform({ call, messages, first, firstBytes: bytes, stopping: this.#stopping.signal });
    } finally {
      this.#live.delete(id);
    }
  }

  async #first(messages: StreamMessages): Promise<Buffer | undefined> {
    const arrived = unlessAborted(messages.news(), this.#stopping.signal).catch(() => {});
    await within(this.#clock, FIRST_MESSAGE_MS, arrived);
    return this.#stopping.signal.aborted ? undefined : messages.take();
  }

  #decode(bytes: Buffer): AgentMessage {
    try {
      return this.#codecs.AgentMessage.decode(bytes);
    } catch {
      throw refuse("the first message is not an AgentMessage");
    }
  }
}

function refuse(details: string): CallStatus {
  return new CallStatus(STATUS.invalidArgument, details);
}
