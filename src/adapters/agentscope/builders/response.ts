import { AgentError } from "../../../errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { EndStatus, ObjectError, ResponseObject, Status, UsageObject } from "../objects.ts";
import { Lifecycle } from "./lifecycle.ts";
import { MessageBuilder } from "./message.ts";

/** The constant parts of a response. */
export interface ResponseOptions {
  readonly sessionId: string;
  /** Default: a new id. */
  readonly id?: string;
  /** The time in milliseconds since 1970, null if there is none. Default: the clock. */
  now?(): number | null;
  /** Whether times have milliseconds, which the Java edition has too. Default false: whole seconds. */
  readonly milliseconds?: boolean;
  /** The id of the message with this index. Default: a new id. */
  messageId?(index: number): string;
}

/** What a new message is. */
export interface NewMessage {
  /** Default `message`. */
  readonly type?: string;
  /** Default `assistant`. */
  readonly role?: string;
  readonly metadata?: JsonObject | null;
}

/**
 * Builds the objects of one response, in the order in which they are sent. It throws where the order is wrong:
 * a delta into no open content, a second end, an end with something open inside.
 */
export class ResponseBuilder {
  readonly id: string;
  readonly #sessionId: string;
  readonly #now: () => number | null;
  readonly #messageId: (index: number) => string;
  readonly #milliseconds: boolean;
  readonly #life: Lifecycle;
  #messages: MessageBuilder[] = [];
  /** All messages, with those that were left out. */
  #messageCount = 0;
  #nextNumber = 0;
  #createdAt: number | null = null;

  constructor({
    sessionId,
    id = `response_${crypto.randomUUID()}`,
    now = Date.now,
    milliseconds = false,
    messageId = () => `msg_${crypto.randomUUID()}`,
  }: ResponseOptions) {
    this.id = id;
    this.#sessionId = sessionId;
    this.#now = now;
    this.#messageId = messageId;
    this.#milliseconds = milliseconds;
    this.#life = new Lifecycle(`response ${id}`);
  }

  get hasEnded(): boolean {
    return this.#life.hasEnded;
  }

  /** The messages of the output, in the order in which they were added. */
  get messages(): readonly MessageBuilder[] {
    return this.#messages;
  }

  created(): ResponseObject {
    this.#life.create();
    return this.#object("created");
  }

  inProgress(): ResponseObject {
    this.#life.begin();
    return this.#object("in_progress");
  }

  /** Makes room for a message after the others. Its own `inProgress` begins it. */
  message({ type = "message", role = "assistant", metadata = null }: NewMessage = {}): MessageBuilder {
    this.#life.checkOpen();
    const message = new MessageBuilder({
      id: this.#messageId(this.#messageCount),
      type,
      role,
      metadata,
      nextNumber: this.#takeNumber,
    });
    this.#messages.push(message);
    this.#messageCount += 1;
    return message;
  }

  /** Leaves an ended message out of the output, because another one replaces it. */
  withdraw(message: MessageBuilder): void {
    if (!message.hasEnded) throw new AgentError("conflict", `message ${message.id} has not ended`);
    this.#messages = this.#messages.filter((other) => other !== message);
  }

  /** Ends the response. Clients wait forever for the text of an empty one, so it needs a message. */
  completed(usage: UsageObject | null = null): ResponseObject {
    if (!this.hasEnded && this.#messages.length === 0) {
      throw new AgentError("conflict", `response ${this.id} has no message`, {
        hint: "add one, with an empty text if there is nothing to say",
      });
    }
    return this.#end("completed", { usage });
  }

  failed(error: ObjectError, usage: UsageObject | null = null): ResponseObject {
    return this.#end("failed", { error, usage });
  }

  canceled(usage: UsageObject | null = null): ResponseObject {
    return this.#end("canceled", { usage });
  }

  /** Ends a response whose work was refused, so it may end before it has begun. */
  rejected(error: ObjectError | null = null): ResponseObject {
    return this.#end("rejected", { error });
  }

  #end(
    status: EndStatus,
    rest: { readonly error?: ObjectError | null; readonly usage?: UsageObject | null },
  ): ResponseObject {
    const open = this.#messages.find(({ hasEnded }) => !hasEnded);
    if (open !== undefined && !this.hasEnded) {
      throw new AgentError("conflict", `message ${open.id} of response ${this.id} has not ended`);
    }
    this.#life.end(status);
    return this.#object(status, rest);
  }

  #object(
    status: Status,
    {
      error = null,
      usage = null,
    }: { readonly error?: ObjectError | null; readonly usage?: UsageObject | null } = {},
  ): ResponseObject {
    const ms = this.#now();
    const seconds = ms === null ? null : this.#milliseconds ? ms / 1_000 : Math.floor(ms / 1_000);
    this.#createdAt ??= seconds;
    return {
      sequence_number: this.#takeNumber(),
      object: "response",
      status,
      error,
      id: this.id,
      created_at: this.#createdAt,
      completed_at: this.#life.hasEnded ? seconds : null,
      output: this.#life.hasEnded ? this.#messages.flatMap(({ final }) => final ?? []) : null,
      usage,
      session_id: this.#sessionId,
    };
  }

  readonly #takeNumber = (): number => this.#nextNumber++;
}

/** Builds the objects of a response. */
export function createResponse(options: ResponseOptions): ResponseBuilder {
  return new ResponseBuilder(options);
}
