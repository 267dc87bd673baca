import type { ContentObject, ContentValue, EndStatus, ObjectError, Status } from "../objects.ts";
import { Lifecycle } from "./lifecycle.ts";
import { AgentError } from "../../../errors.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";

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

/** Adds a delta to the content before it. Texts are joined, data is merged, and an address is replaced. */
function mergeDelta(before: ContentValue, delta: ContentValue): ContentValue {
  switch (delta.type) {
    case "text":
      if (before.type === "text") return { type: "text", text: before.text + delta.text };
      break;
    case "refusal":
      if (before.type === "refusal") return { type: "refusal", refusal: before.refusal + delta.refusal };
      break;
    case "audio":
      if (before.type === "audio")
        return { type: "audio", data: before.data + delta.data, format: delta.format ?? before.format };
      break;
    case "data":
      if (before.type === "data") return { type: "data", data: mergeObjects(before.data, delta.data) };
      break;
    case "image":
    case "video":
    case "file":
      if (before.type === delta.type) return delta;
      break;
    default: {
      const never: never = delta;
      return never;
    }
  }
  throw new AgentError("conflict", `a ${delta.type} delta cannot be added to a ${before.type} content`);
}

function mergeObjects(before: JsonObject, delta: JsonObject): JsonObject {
  const merged = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(delta)) {
    const old = merged.get(key);
    merged.set(key, old === undefined ? value : mergeJson(old, value));
  }
  return Object.fromEntries(merged);
}

/** Joins texts and lists, adds numbers, merges objects; any other value is replaced. */
function mergeJson(before: Json, delta: Json): Json {
  if (typeof before === "string" && typeof delta === "string") return before + delta;
  if (typeof before === "number" && typeof delta === "number") return before + delta;
  if (isList(before) && isList(delta)) return [...before, ...delta];
  if (isObject(before) && isObject(delta)) return mergeObjects(before, delta);
  return delta;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
