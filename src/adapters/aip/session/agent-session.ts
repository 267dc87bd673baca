import type { RunReader } from "../../../view/run-reader.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { pauseUnlessAborted } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { CallStatus, STATUS } from "../rpc/status.ts";
import type { Codecs } from "../wire/codec.ts";
import { toMessages } from "../wire/content.ts";
import { SESSION, TASK } from "../wire/messages.ts";
import type { AgentMessage, ContentItem, TaskInfo } from "../wire/messages.ts";
import { SessionTurns } from "./session-turns.ts";
import type { SessionReply } from "./session-turns.ts";
import type { OpenSession } from "./sessions.ts";

/** How sessions with the agents of a runtime are performed. */
export interface AgentSessionOptions {
  readonly runtime: Runtime;
  readonly runs: RunReader;
  readonly codecs: Codecs;
  readonly clock: MonotonicClock;
  /** Sends each text of an agent as it is said. Without it, a quest gets one answer. */
  readonly stream: boolean;
}

/** How long a session may continue after its caller has closed the request stream. */
const HALF_CLOSED_MS = 60_000;

/** A session with an agent of this process, from its first message to its end. */
export class AgentSession {
  readonly #options: AgentSessionOptions;
  readonly #session: OpenSession;
  readonly #turns: SessionTurns;
  /** Aborts when the caller cancels or disconnects. */
  readonly #gone = new AbortController();
  /** Resolves when nothing can be sent any more. */
  readonly #over = Promise.withResolvers<undefined>();
  #quest: AgentMessage;
  #task = { id: "", status: TASK.finished as number };
  #isEnded = false;

  constructor(options: AgentSessionOptions, session: OpenSession) {
    const { call, first } = session;
    this.#options = options;
    this.#session = session;
    this.#quest = first;
    this.#turns = new SessionTurns(options.runtime, options.runs, first);
    // It also fires after the session's proper end.
    call.on("cancelled", () => {
      if (!this.#isEnded) this.#leave();
    });
    if (call.cancelled) this.#leave();
  }

  async run(): Promise<void> {
    const { messages, stopping } = this.#session;
    const stop = (): void => this.#end();
    stopping.addEventListener("abort", stop);
    try {
      let message: AgentMessage | undefined = this.#quest;
      while (message !== undefined && !this.#isOver) {
        this.#quest = message;
        if (message.session_status === SESSION.stopQuest) this.#end();
        else await this.#answer(message);
        if (this.#isOver) return;
        await Promise.race([messages.news(), this.#over.promise]);
        const bytes = messages.take();
        message = bytes && this.#decode(bytes);
      }
      await this.#stayHalfClosed();
    } finally {
      stopping.removeEventListener("abort", stop);
    }
  }

  get #isOver(): boolean {
    return this.#isEnded || this.#gone.signal.aborted;
  }

  #leave(): void {
    this.#gone.abort();
    this.#over.resolve(undefined);
  }

  async #answer(quest: AgentMessage): Promise<void> {
    const { stopping } = this.#session;
    const { session_status: status } = quest;
    if (status === SESSION.holdResponse || status === SESSION.stopResponse)
      throw new CallStatus(STATUS.invalidArgument, "a caller sends quests, no responses");
    this.#task = { id: quest.task_info?.task_id ?? "", status: TASK.executing };
    const signals = { gone: this.#gone.signal, stopping };
    for await (const reply of this.#turns.ask(quest, { ...signals, stream: this.#options.stream })) {
      if (this.#isOver) return;
      await this.#reply(quest, reply);
    }
  }

  async #reply(quest: AgentMessage, { id, taskId, status, content }: SessionReply): Promise<void> {
    this.#task = { id: taskId, status };
    const messages = toMessages(content);
    for (const [index, part] of messages.entries()) {
      const isLast = index === messages.length - 1;
      await this.#send({
        ...this.#toMessage(quest, SESSION.holdResponse, part),
        task_info: toTask(quest, taskId, isLast ? status : TASK.executing),
        message_id: index === 0 ? `msg_${id}` : `msg_${id}_${index + 1}`,
      });
    }
  }

  /** After the caller has closed its side, answers given meanwhile have been sent; nothing new can be asked. */
  async #stayHalfClosed(): Promise<void> {
    if (this.#isOver) return;
    const signal = AbortSignal.any([this.#gone.signal, this.#session.stopping]);
    await pauseUnlessAborted(this.#options.clock, HALF_CLOSED_MS, signal);
    if (!this.#isOver) this.#end();
  }

  /** Sends the STOP_RESPONSE and closes the stream. */
  #end(): void {
    if (this.#isOver) return;
    this.#isEnded = true;
    this.#over.resolve(undefined);
    const { call, first } = this.#session;
    const message = {
      ...this.#toMessage(this.#quest, SESSION.stopResponse, []),
      task_info: toTask(this.#quest, this.#task.id, this.#task.status),
      message_id: `msg_${first.session_id}_end`,
    };
    call.write(this.#options.codecs.AgentMessage.encode(message));
    call.end();
  }

  /** Sends a message. If the connection is full, waits until it has room or the caller is gone. */
  async #send(message: AgentMessage): Promise<void> {
    const { call } = this.#session;
    if (this.#isOver || call.write(this.#options.codecs.AgentMessage.encode(message))) return;
    const { promise: drained, resolve } = Promise.withResolvers<undefined>();
    call.once("drain", () => resolve(undefined));
    await Promise.race([drained, this.#over.promise]);
  }

  #toMessage(quest: AgentMessage, status: number, content: readonly ContentItem[]): AgentMessage {
    const { first } = this.#session;
    return {
      sender_id: first.receiver_id,
      receiver_id: quest.sender_id === "" ? first.sender_id : quest.sender_id,
      session_id: first.session_id,
      session_status: status,
      message_id: "",
      reply_to_message_id: quest.message_id,
      content,
    };
  }

  #decode(bytes: Buffer): AgentMessage {
    try {
      return this.#options.codecs.AgentMessage.decode(bytes);
    } catch {
      throw new CallStatus(STATUS.invalidArgument, "a message of the session is not an AgentMessage");
    }
  }
}

/** The task of an answer; its parents are those that the quest names. */
function toTask({ task_info: task }: AgentMessage, task_id: string, task_status: number): TaskInfo {
  return { task_id, parent_task_ids: task?.parent_task_ids ?? [], task_status };
}
