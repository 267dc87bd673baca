import { sha256 } from "../../shared/sha256.ts";
import { AgentError } from "../../errors.ts";
import type { Approval, ClientToolCall } from "../../protocol/events/event-body.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RemoteSession, RemoteSpeaker } from "../../runtime/agent/remote-port.ts";
import type { ReceivedEvent } from "../stream/received-events.ts";
import { retry } from "../wire/retry.ts";
import { toLimitedText } from "./fields.ts";
import { fault } from "./ids.ts";
import type { RemoteSettings } from "./settings.ts";
import type { RemoteState } from "./state.ts";
import type { Wire } from "../wire/wire.ts";
import { isObject } from "../../protocol/json.ts";

/** Maximum number of open waits. */
const LIMIT = 100;

/** The open waits of a remote agent: asked here, answered there. */
export class AnswerForwarder {
  readonly #wire: Wire;
  readonly #session: RemoteSession;
  readonly #settings: RemoteSettings;
  readonly #open = new Map<CallId, Question>();
  #requestId = "";
  /** Whether the remote request may have new events since they were last read. */
  #hasNews = false;
  #wake = (): void => {};

  constructor(wire: Wire, session: RemoteSession, settings: RemoteSettings) {
    this.#wire = wire;
    this.#session = session;
    this.#settings = settings;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The open waits, for the saved state. */
  get kept(): RemoteState["waits"] {
    return [...this.#open].map(([callId, { there }]) => [callId, there] as const);
  }

  /** Whether an answer is being delivered; later events must wait for it, because they may follow from it. */
  get isAnswering(): boolean {
    return [...this.#open.values()].some(({ answering }) => answering !== undefined);
  }

  /** Restores the waits of an earlier activation. */
  restore(requestId: string, waits: RemoteState["waits"]): void {
    this.#requestId = requestId;
    for (const [callId, there] of waits) {
      const question = this.#note(callId, there);
      this.#session
        .askedBefore({
          callId,
          give: (values) => this.#give(callId, values),
          due: () => this.#tell(),
        })
        .then(question.end, question.end);
    }
  }

  /** Opens a local wait for a remote one. */
  ask(speaker: RemoteSpeaker, event: ReceivedEvent): void {
    const { id, wait_id: there, request_keys: keys, schema, approval, expires_at: until } = event;
    const { approvers, question: text, tool } = event;
    if (this.#open.size >= LIMIT)
      throw fault(this.#settings.name, `asks more than ${LIMIT} questions at a time`);
    const callId = this.#session.newCall();
    const question = this.#note(callId, Number.isSafeInteger(there) ? (there as number) : id);
    const texts = Object.entries(isObject(keys) ? keys : {}).map(
      ([key, text]) => [key, toLimitedText(text)] as const,
    );
    const asked = this.#session.ask(speaker, {
      callId,
      questions: Object.fromEntries(texts),
      ...(isObject(schema) && { schema: schema as JsonObject }),
      ...(isApproval(approval) && { approval }),
      ...(isToolCall(tool) && { tool }),
      ...(areRoles(approvers) && { approvers }),
      ...(typeof text === "string" && { question: toLimitedText(text) }),
      ...(isTime(until) && { expiresAt: Date.parse(until) }),
      give: (values) => this.#give(callId, values),
      due: () => this.#tell(),
    });
    asked.then(question.end, question.end);
  }

  /** Handles an answer in the remote events. Answers given here appear too and are already known. */
  answered({ wait_id: there, request_keys: values }: ReceivedEvent): void {
    const [callId] = [...this.#open].find(([, question]) => question.there === there) ?? [];
    if (callId !== undefined && isObject(values)) this.#session.answered(callId, values as JsonObject);
  }

  /** Handles an expired wait in the remote events. */
  expired({ wait_id: there }: ReceivedEvent): void {
    const [callId] = [...this.#open].find(([, question]) => question.there === there) ?? [];
    if (callId !== undefined) this.#session.expired(callId);
  }

  /** Whether the remote request may have new events since they were last read. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  /** Resolves when no answer is being delivered. */
  async settled(): Promise<void> {
    for (const { answering } of this.#open.values()) await answering;
  }

  /**
   * Resolves when the remote request may have new events, because a wait was answered or its state is
   * unknown.
   */
  news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#hasNews = false;
        // A later wake is for the next call of `news`.
        this.#wake = () => {};
        resolve();
      };
      if (this.#hasNews || this.#open.size === 0) this.#wake();
    });
  }

  #note(callId: CallId, there: number): Question {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      this.#open.delete(callId);
      resolve();
      this.#tell();
    };
    const question: Question = { there, over: promise, end, answering: undefined };
    this.#open.set(callId, question);
    return question;
  }

  #tell(): void {
    this.#hasNews = true;
    this.#wake();
  }

  /** Delivers an answer to the other server, which validates it. */
  async #give(callId: CallId, values: JsonObject): Promise<void> {
    const question = this.#open.get(callId);
    if (question === undefined) return;
    const sent = this.#send(callId, question.there, values);
    question.answering = sent.then(
      () => question.over,
      () => {
        question.answering = undefined;
      },
    );
    await sent;
  }

  async #send(callId: CallId, there: number, values: JsonObject): Promise<void> {
    const { limits, name } = this.#settings;
    const { environment: clock, key } = this.#session;
    const body = {
      type: "ResumeWithInput",
      request_id: this.#requestId,
      wait_id: there,
      request_keys: values,
      resume_id: `res_${await sha256(`${key}/${callId}`)}`,
    };
    try {
      await retry({ clock, limitMs: limits.answerMs }, () =>
        this.#wire.ask("POST", "/process", { query: { wait: true }, body, timeoutMs: limits.answerMs / 2 }),
      );
    } catch (thrown) {
      const { code, message } = thrown as AgentError;
      if (code === "unprocessable") throw thrown;
      if (code !== "conflict" && code !== "not_found" && code !== "gone")
        throw new AgentError("unavailable", message, { retryAfterS: 1, cause: thrown });
      // The wait was answered or ended on the other server; its events show how.
      this.#tell();
      throw new AgentError("conflict", `agent ${name} no longer waits for this answer`, {
        cause: thrown,
      });
    }
  }
}

function isApproval(value: unknown): value is Approval {
  return isObject(value) && typeof value["tool"] === "string" && value["args"] !== undefined;
}

function isToolCall(value: unknown): value is ClientToolCall {
  return isObject(value) && typeof value["name"] === "string" && value["args"] !== undefined;
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && Number.isFinite(Date.parse(value));
}

interface Question {
  /** The remote id of the wait. */
  readonly there: number;
  /** Resolves when the wait is over here. */
  readonly over: Promise<void>;
  readonly end: () => void;
  /** Set while an answer is being delivered, until it is logged here. */
  answering: Promise<void> | undefined;
}

/** Whether a value is a list of roles, as a server sends it. */
function areRoles(value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > 20) return false;
  return value.every((role) => typeof role === "string" && /^[\x21-\x7e]{1,64}$/.test(role));
}
