import { AgentError } from "../../../errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type {
  ContentObject,
  ContentValue,
  EndStatus,
  MessageObject,
  ObjectError,
  Status,
  UsageObject,
} from "../objects.ts";
import { ContentBuilder, emptyOf } from "./content.ts";
import { Lifecycle } from "./lifecycle.ts";

/** The constant parts of a message. */
export interface MessageOptions {
  readonly id: string;
  readonly type: string;
  readonly role: string;
  readonly metadata: JsonObject | null;
  /** Takes the next sequence number of the response. */
  nextNumber(): number;
}

/** Builds the objects of one message and of its contents. Each method returns the object to send. */
export class MessageBuilder {
  readonly id: string;
  readonly #options: MessageOptions;
  readonly #life: Lifecycle;
  readonly #contents: ContentBuilder[] = [];
  #usage: UsageObject | null = null;
  #last: MessageObject | undefined;

  constructor(options: MessageOptions) {
    this.id = options.id;
    this.#options = options;
    this.#life = new Lifecycle(`message ${options.id}`);
  }

  get hasEnded(): boolean {
    return this.#life.hasEnded;
  }

  /** The last object of an ended message. */
  get final(): MessageObject | undefined {
    return this.hasEnded ? this.#last : undefined;
  }

  created(): MessageObject {
    this.#life.create();
    return this.#object("created");
  }

  inProgress(): MessageObject {
    this.#life.begin();
    return this.#object("in_progress");
  }

  /** Makes room for a content of the type of this empty value, after the others. */
  content(empty: ContentValue): ContentBuilder {
    this.#life.checkOpen();
    const { nextNumber } = this.#options;
    const place = { index: this.#contents.length, messageId: this.id, nextNumber };
    const content = new ContentBuilder(place, empty);
    this.#contents.push(content);
    return content;
  }

  /** Adds to the open content with this index; without an index the delta opens the next content. */
  addDelta(delta: ContentValue, index?: number): ContentObject {
    this.#life.checkOpen();
    const content = index === undefined ? this.content(emptyOf(delta)) : this.#contents[index];
    if (content === undefined || (index !== undefined && !content.isOpen)) {
      throw new AgentError("conflict", `message ${this.id} has no open content ${index ?? 0}`, {
        hint: "add the first delta without an index, and the others with the index that it got",
      });
    }
    return content.addDelta(delta);
  }

  /** Adds a whole content. */
  addContent(value: ContentValue): ContentObject {
    return this.content(value).completed();
  }

  /** Ends the open content with this index. */
  contentCompleted(index: number): ContentObject {
    this.#life.checkOpen();
    const content = this.#contents[index];
    if (content === undefined) {
      throw new AgentError("conflict", `message ${this.id} has no content ${index}`);
    }
    return content.completed();
  }

  /** All text contents until now, joined. */
  textContent(): string {
    return this.#contents.map(({ value }) => (value.type === "text" ? value.text : "")).join("");
  }

  /** The addresses of all image contents until now. */
  imageContents(): readonly string[] {
    return this.#contents.flatMap(({ value }) => (value.type === "image" ? [value.image_url] : []));
  }

  completed(usage: UsageObject | null = null): MessageObject {
    this.#usage = usage;
    return this.#end("completed", null);
  }

  failed(error: ObjectError): MessageObject {
    return this.#end("failed", error);
  }

  /** Ends a message whose outcome is unknown. */
  unknown(error: ObjectError): MessageObject {
    return this.#end("unknown", error);
  }

  canceled(): MessageObject {
    return this.#end("canceled", null);
  }

  rejected(error: ObjectError | null = null): MessageObject {
    return this.#end("rejected", error);
  }

  #end(status: EndStatus, error: ObjectError | null): MessageObject {
    const open = this.#contents.find(({ hasEnded }) => !hasEnded);
    if (open !== undefined && !this.hasEnded) {
      throw new AgentError("conflict", `content ${open.index} of message ${this.id} has not ended`, {
        hint: "call contentCompleted for it first",
      });
    }
    this.#life.end(status);
    this.#last = this.#object(status, error);
    return this.#last;
  }

  #object(status: Status, error: ObjectError | null = null): MessageObject {
    const { type, role, metadata, nextNumber } = this.#options;
    const contents = this.#contents.flatMap(({ final }) => final ?? []);
    return {
      sequence_number: nextNumber(),
      object: "message",
      status,
      error,
      id: this.id,
      type,
      role,
      content: contents.length === 0 ? null : contents,
      code: error?.code ?? null,
      message: error?.message ?? null,
      usage: this.#usage,
      metadata,
    };
  }
}
