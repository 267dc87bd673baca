import type { ContentObject, ContentValue, EndStatus, ObjectError, Status } from "../objects.ts";
import { Lifecycle } from "./lifecycle.ts";
import { mergeDelta } from "./merge-delta.ts";

/** The place of a content in a stream. */
export interface ContentPlace {
  readonly index: number;
  readonly messageId: string;
  /** Takes the next sequence number of the response. */
  nextNumber(): number;
}

/** Builds the objects of one content. Each method returns the object to send. */
export class ContentBuilder {
  readonly index: number;
  readonly #place: ContentPlace;
  readonly #life: Lifecycle;
  #value: ContentValue;
  #last: ContentObject | undefined;

  /** Begins with an empty value, for example `{ type: "text", text: "" }`. */
  constructor(place: ContentPlace, empty: ContentValue) {
    this.index = place.index;
    this.#place = place;
    this.#value = empty;
    this.#life = new Lifecycle(`content ${place.index} of message ${place.messageId}`);
  }

  get isOpen(): boolean {
    return this.#life.isOpen;
  }

  get hasEnded(): boolean {
    return this.#life.hasEnded;
  }

  /** The whole content until now. */
  get value(): ContentValue {
    return this.#value;
  }

  /** The last object of an ended content. */
  get final(): ContentObject | undefined {
    return this.hasEnded ? this.#last : undefined;
  }

  created(): ContentObject {
    this.#life.create();
    return this.#object("created", false, this.#value);
  }

  /** Begins the content with its whole value until now, or replaces the value of one that has begun. */
  inProgress(value: ContentValue = this.#value): ContentObject {
    if (!this.isOpen) this.#life.begin();
    this.#value = value;
    return this.#object("in_progress", false, value);
  }

  /** Adds to the content; the first delta begins it. */
  addDelta(delta: ContentValue): ContentObject {
    if (!this.hasEnded && !this.isOpen) this.#life.begin();
    this.#life.checkOpen();
    this.#value = mergeDelta(this.#value, delta);
    return this.#object("in_progress", true, delta);
  }

  /** Ends the content with its whole value. */
  completed(value: ContentValue = this.#value): ContentObject {
    if (!this.hasEnded && !this.isOpen) this.#life.begin();
    this.#value = value;
    return this.#end("completed");
  }

  failed(error: ObjectError): ContentObject {
    return this.#end("failed", error);
  }

  canceled(): ContentObject {
    return this.#end("canceled");
  }

  rejected(error: ObjectError | null = null): ContentObject {
    return this.#end("rejected", error);
  }

  #end(status: EndStatus, error: ObjectError | null = null): ContentObject {
    this.#life.end(status);
    this.#last = this.#object(status, false, this.#value, error);
    return this.#last;
  }

  #object(
    status: Status,
    delta: boolean,
    { type, ...value }: ContentValue,
    error: ObjectError | null = null,
  ): ContentObject {
    const { index, messageId } = this.#place;
    return {
      sequence_number: this.#place.nextNumber(),
      object: "content",
      status,
      error,
      type,
      index,
      delta,
      msg_id: messageId,
      ...value,
    } as ContentObject;
  }
}

/** A content of a type with nothing in it, to which deltas can be added. */
export function emptyOf({ type }: ContentValue): ContentValue {
  switch (type) {
    case "text":
      return { type, text: "" };
    case "refusal":
      return { type, refusal: "" };
    case "data":
      return { type, data: {} };
    case "image":
      return { type, image_url: "" };
    case "video":
      return { type, video_url: "" };
    case "audio":
      return { type, data: "", format: null };
    case "file":
      return { type, file_url: null, file_id: null, filename: null, file_data: null };
    default: {
      const never: never = type;
      return never;
    }
  }
}
