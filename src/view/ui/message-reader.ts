import type { Event, EventOf } from "../../protocol/events/events.ts";
import type { UiChunk } from "./chunks.ts";
import { isTextAnswer, messageIdOf } from "./names.ts";
import { UiProjection } from "./ui-projection.ts";

/** Which part of which message a reader gets. */
export interface MessagePart {
  readonly messageId: string;
  /** The id of the event before the first one that counts; 0 for the whole message. */
  readonly after: number;
}

/** Reads the chunks of one message from the events of its request, which it needs from the start. */
export class MessageReader {
  readonly #projection: UiProjection = new UiProjection();
  #part: MessagePart | undefined;
  #hasBegun = false;
  #hasEnded = false;

  /** Without a part nothing is shown yet. */
  constructor(part?: MessagePart) {
    this.#part = part;
  }

  /** Whether the message has ended, although the request may continue with another one. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The id of the newest event. */
  get cursor(): number {
    return this.#projection.cursor;
  }

  /** Shows a part from the next event on. */
  show(part: MessagePart): void {
    this.#part = part;
  }

  /** Takes the next event, and returns the chunks that it adds to the message. */
  take(event: Event): readonly UiChunk[] {
    if (this.#hasEnded) return [];
    const { messageId, after } = this.#part ?? NOTHING;
    const chunks: UiChunk[] = [];
    for (const { messageId: of, chunk } of this.#projection.take(event)) {
      if (of === messageId) chunks.push(chunk);
      // An answer that was typed as a message of its own has begun another one.
      else if (this.#hasBegun && chunk.type === "start") this.#hasEnded = true;
    }
    if (this.#projection.hasEnded) this.#hasEnded = true;
    if (event.id <= after || chunks.length === 0) return [];
    const isContinued = !this.#hasBegun && after > 0;
    this.#hasBegun = true;
    if (!isContinued || chunks[0]?.type === "start") return chunks;
    // The reader has what was before, and its step has ended.
    const [first, ...others] = chunks;
    return [this.#projection.start(messageId), ...(first?.type === "finish-step" ? others : chunks)];
  }

  /** The chunks that end the message because its agent waits for an answer; none if it has ended. */
  park(): readonly UiChunk[] {
    return this.#part === undefined ? [] : this.#projection.park(this.#part.messageId);
  }
}

const NOTHING: MessagePart = { messageId: "", after: Infinity };

/** The events that decide which message of a request goes on. */
export type QuestionEvent = EventOf<"WaitForInput" | "ResumeWithInput" | "WaitExpired">;

/** The message of a request that goes on after some of its questions and answers. */
export function newestMessage(requestId: string, events: Iterable<QuestionEvent>): string {
  const shownIn = new Map<number, string>();
  let current = messageIdOf(requestId);
  for (const event of events) {
    if (event.type === "WaitForInput") shownIn.set(event.wait_id, current);
    else if (event.type === "ResumeWithInput" && isTextAnswer(event.resume_id))
      current = messageIdOf(requestId, event.id);
    else current = shownIn.get(event.wait_id) ?? current;
  }
  return current;
}
